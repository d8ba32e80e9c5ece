#include "meshwright/capacity/checkpoint.hpp"

#include <algorithm>

#include "capacity/fields.hpp"
#include "meshwright/parallel/recipe.hpp"

namespace meshwright::capacity {

CheckpointChoice read_checkpoint_choice(const Reader& r, Inputs& inputs, CheckpointChoice choice) {
  static const std::vector<std::string> modes(checkpoint_mode_names.begin(), checkpoint_mode_names.end());
  inputs.take(r, "checkpoint", {"mode", "interval", "peer_interval", "bytes_per_parameter", "rollback"});
  if (const auto mode = r.find("mode")) choice.mode = static_cast<CheckpointMode>(mode->one_of(modes));
  if (const auto interval = r.find("interval")) choice.interval = read_time(*interval);
  if (const auto interval = r.find("peer_interval")) choice.peer_interval = read_time(*interval);
  if (const auto bytes = r.find("bytes_per_parameter"))
    choice.bytes_per_parameter = read_number(*bytes, least_bytes_per_parameter, most_bytes_per_parameter);
  if (const auto rollback = r.find("rollback")) choice.rollback = read_number(*rollback, 0, most_rollback);
  return choice;
}

Bytes checkpoint_bytes(const parallel::Job& job, const CheckpointChoice& choice) {
  const ParameterCounts counts = parameter_counts(job.model);
  double each = choice.bytes_per_parameter;
  if (each <= 0) {
    // What the recipe keeps, wherever it lies: states on the host are saved too.
    const parallel::StateBytes states = parallel::state_bytes(job.recipe.states, job.precision.rest);
    each = states.weights + states.optimizer -
           parallel::bytes_of(job.recipe.states.optimizer_gradients, job.precision.rest);
  }
  return Bytes::base((counts.total + counts.mtp) * each);
}

CheckpointPath checkpoint_path(const CheckpointChoice& choice, Bytes state, const Site& site, const Inputs& inputs) {
  const double hosts = std::max(1.0, site.hosts);
  const bool known = site.host_link.value() > 0;
  const BytesPerSecond slot = known ? site.host_link : BytesPerSecond::base(inputs("checkpoint.host_link"));
  const Seconds copy = state / (slot * (inputs("checkpoint.host_copy") * site.accelerators));
  const Seconds latency = Seconds::base(inputs("checkpoint.store_latency"));
  const Seconds write = latency + state / BytesPerSecond::base(inputs("checkpoint.store_write") * hosts);
  const Seconds overhead = Seconds::base(inputs("checkpoint.overhead"));
  CheckpointPath path;
  path.load_memory = copy;
  path.load_store = latency + state / BytesPerSecond::base(inputs("checkpoint.store_read") * hosts) + copy;
  if (choice.mode == CheckpointMode::synchronous) {
    path.levels = {{.name = "store", .interval = {}, .blocking = std::max(copy, write), .lag = {}}};
    return path;
  }
  if (choice.mode == CheckpointMode::peer) {
    const double rate = site.host_network.value() * inputs("checkpoint.peer_copy") * hosts;
    const Seconds send = rate > 0 ? state / BytesPerSecond::base(rate) : write;
    path.load_memory = copy + send;
    path.levels.push_back({.name = "peer", .interval = {}, .blocking = copy + overhead, .lag = send});
  }
  if (choice.mode == CheckpointMode::local) {
    const Seconds disk = state / BytesPerSecond::base(inputs("checkpoint.local_disk") * hosts);
    path.load_memory = copy + disk;
    path.levels.push_back({.name = "local disk", .interval = {}, .blocking = copy + overhead, .lag = disk});
  }
  path.levels.push_back({.name = "store", .interval = {}, .blocking = copy + overhead, .lag = write});
  return path;
}

}  // namespace meshwright::capacity
