#include "meshwright/calibrate/nearest_run.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/record_stacks.hpp"
#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/band.hpp"

namespace meshwright::calibrate {
namespace {

// Another device or kind of model changes more than a stack, a stack more than a format: in doublings of a size.
constexpr double other_device = 3, other_kind = 3, other_stack = 2, other_format = 1, other_fabric = 0.5;

/// What is compared of a run: sizes and degrees by their ratio, the rest by whether it is the same.
struct Shape {
  std::string device, stack, format;
  bool experts = false;
  std::string fabric;             ///< between nodes; "" = not known, or one domain
  std::array<double, 8> sizes{};  ///< as size_names; 0 = not known
};
constexpr std::array<std::string_view, 8> size_names = {"GPUs", "parameters", "tokens a sequence",    "tp", "pp",
                                                        "cp",   "ep",         "Gb/s of network a GPU"};
constexpr std::array<const char*, 8> size_keys = {"gpus", "parameters", "seq_len", "tp",
                                                  "pp",   "cp",         "ep",      "network_gbps"};

/// NICs of a node over its accelerators; 0 where nothing leaves the scale-up domain.
double network_of(double gpus, double domain, double nics, double gbps, double node) {
  return gpus > domain && node > 0 ? nics * gbps / node : 0;
}

Shape shape_of(const Job& job, const Layout& l) {
  const double ep = job.model.is_moe() ? l.ep : 1;
  const Node& node = job.cluster.node;
  const double network = network_of(job.accelerators, node.scale_up_domain, node.nics,
                                    node.nic_bandwidth.value() * 8e-9, node.accelerators);
  return {job.cluster.accelerator.name,
          job.framework.name,
          std::string(job.precision.name),
          job.model.is_moe(),
          network > 0 ? job.cluster.fabric.name : "",
          {static_cast<double>(job.accelerators), parameter_counts(job.model).total, static_cast<double>(job.seq_len),
           static_cast<double>(l.tp), static_cast<double>(l.pp), static_cast<double>(l.cp), ep, network}};
}

std::optional<Shape> shape_of(const Reader& record) {
  const Reader model = record.at("model"), cluster = record.at("cluster"), layout = record.at("layout");
  if (!cluster.has("count") || !layout.has("tp") || !layout.has("pp") || !model.has("params_total_b"))
    return std::nullopt;
  const double ep = layout.number_or("ep", 1);
  RecordedStack said = recorded_stack(record);
  const std::string profile = profile_of(said.name, said.version, said.date);
  const double network = network_of(cluster.at("count").number(), cluster.number_or("scale_up_domain", 0),
                                    cluster.number_or("nics_per_node", 0), cluster.number_or("nic_gbps", 0),
                                    cluster.number_or("node_size", 0));
  return Shape{cluster.at("accelerator").string(),
               profile,
               said.precision,
               model.number_or("experts", 0) > 0,
               network > 0 ? cluster.string_or("fabric", "") : "",
               {cluster.at("count").number(), 1e9 * model.at("params_total_b").number(), record.at("seq_len").number(),
                layout.at("tp").number(), layout.at("pp").number(), layout.number_or("cp", 1), ep, network}};
}

/// As run_shape_json() writes it.
Shape shape_of_own(const Reader& run) {
  run.allow_only({"id", "device", "stack", "format", "experts", "fabric", "sizes"});
  Shape shape{run.at("device").string(), run.at("stack").string(), run.at("format").string(),
              run.at("experts").boolean(), run.string_or("fabric", "")};
  const Reader sizes = run.at("sizes");
  for (std::size_t i = 0; i < size_keys.size(); ++i) {
    if (!sizes.has(size_keys[i])) continue;  // what is not known
    const Reader size = sizes.at(size_keys[i]);
    shape.sizes[i] = size.number();
    if (!(shape.sizes[i] > 0)) size.fail("expected a number above zero");
  }
  return shape;
}

/// The name of the stack's profile, whatever its source calls it.
std::string stack_name(const std::string& said) {
  const auto& known = frameworks();
  const Framework* stack = find_named(known, said);
  return stack != nullptr ? stack->name : said;
}

/// Between two sizes that are known.
double doublings(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : 0; }

double distance(const Shape& a, const Shape& b) {
  double sum = (a.device != b.device) * other_device + (a.experts != b.experts) * other_kind +
               (a.stack != b.stack) * other_stack + (a.format != b.format) * other_format;
  if (!a.fabric.empty() && !b.fabric.empty()) sum += (a.fabric != b.fabric) * other_fabric;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) sum += doublings(a.sizes[i], b.sizes[i]);
  return sum;
}

std::string in_words(const std::string& id, const Shape& mine, const Shape& run);

/// Keeps the run that is nearest.
class Nearest {
 public:
  explicit Nearest(Shape mine) : mine_(std::move(mine)) {}
  void add(const std::string& id, const Shape& run) {
    const double far = distance(mine_, run);
    if (nearest_ && far >= nearest_->distance) return;
    nearest_ = NearestRun{id, far, in_words(id, mine_, run)};
  }
  const std::optional<NearestRun>& found() const { return nearest_; }

 private:
  Shape mine_;
  std::optional<NearestRun> nearest_;
};

std::string size_text(std::size_t i, double value) {
  return size_names[i] == "parameters" ? format_count(value) : fmt::format("{:.0f}", value);
}

std::string in_words(const std::string& id, const Shape& mine, const Shape& run) {
  std::string text = id + ": " + (mine.device == run.device ? "the same device" : run.device) +
                     (mine.stack == run.stack ? " and stack" : " on " + run.stack);
  if (mine.format != run.format) text += ", " + run.format;
  if (mine.experts != run.experts) text += run.experts ? ", experts" : ", no experts";
  if (!mine.fabric.empty() && !run.fabric.empty() && mine.fabric != run.fabric) text += ", " + run.fabric;
  if (!mine.fabric.empty() && run.sizes.back() == 0) text += "; its network is not published or not used";
  for (std::size_t i = 0; i < mine.sizes.size(); ++i) {
    if (doublings(mine.sizes[i], run.sizes[i]) < 0.1) continue;
    text +=
        fmt::format("; {} {} here, {} there", size_names[i], size_text(i, mine.sizes[i]), size_text(i, run.sizes[i]));
  }
  return text;
}

}  // namespace

std::optional<NearestRun> nearest_run(const Job& job, const Layout& layout) {
  Nearest nearest(shape_of(job, layout));
  for (const Reader& record : published_runs()) {
    std::optional<Shape> shape = shape_of(record);
    if (!shape) continue;
    shape->stack = stack_name(shape->stack);
    nearest.add(record.at("id").string(), *shape);
  }
  return nearest.found();
}

std::optional<NearestRun> nearest_own_run(const Job& job, const Layout& layout) {
  const std::optional<Reader> own = own_runs_of(job);
  if (!own || !own->has("measured")) return std::nullopt;
  Nearest nearest(shape_of(job, layout));
  for (const Reader& run : own->at("measured").items()) nearest.add(run.at("id").string(), shape_of_own(run));
  return nearest.found();
}

std::string run_shape_json(const std::string& id, const Job& job, const Layout& layout) {
  const Shape shape = shape_of(job, layout);
  nlohmann::ordered_json out = {{"id", id},
                                {"device", shape.device},
                                {"stack", shape.stack},
                                {"format", shape.format},
                                {"experts", shape.experts}};
  if (!shape.fabric.empty()) out["fabric"] = shape.fabric;
  for (std::size_t i = 0; i < size_keys.size(); ++i) {
    if (shape.sizes[i] > 0) out["sizes"][size_keys[i]] = shape.sizes[i];
  }
  return out.dump();
}

}  // namespace meshwright::calibrate
