// The pipeline's timeline as Chrome trace JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "parallel/drawn_pipeline.hpp"

namespace meshwright::parallel {
namespace {

using Json = nlohmann::ordered_json;

/// Micro-batches to draw: all, or the most that keep the file readable (a multiple of pp for interleaving).
int drawn_micro_batches(const Layout& layout, int micro_batches, int most_ops) {
  const int per_batch = 3 * split_ways(layout);
  const int most = std::max(2 * layout.pp, most_ops / per_batch / layout.pp * layout.pp);
  return std::min(micro_batches, most);
}

/// The worst stage's slot, cut into the three kinds of work and spread over chunks by their layers. A forward is a
/// third of compute and of its communication; recompute goes before the input gradient.
std::vector<ChunkTime> chunk_times(const std::vector<Chunk>& chunks, int pp, const StepTime& time, double slots) {
  std::vector<int> layers(static_cast<std::size_t>(pp));
  for (const Chunk& chunk : chunks) layers[static_cast<std::size_t>(chunk.stage)] += chunk.layers;
  const double most = std::max(1, *std::max_element(layers.begin(), layers.end()));
  const Seconds passes = time.compute + time.tensor_parallel + time.context_parallel + time.expert_parallel + time.host;
  std::vector<ChunkTime> times;
  for (const Chunk& chunk : chunks) {
    const double share = chunk.layers / most / slots;
    times.push_back({share / 3 * passes, share * (passes / 3 + time.recompute), share / 3 * passes});
  }
  return times;
}

Json slice(std::string name, std::string category, int track, Seconds start, Seconds end) {
  return {{"name", std::move(name)},   {"cat", std::move(category)},        {"ph", "X"}, {"pid", 0}, {"tid", track},
          {"ts", start.value() * 1e6}, {"dur", (end - start).value() * 1e6}};
}

Json event_slice(const PipelineEvent& event, int track) {
  const PipelineOp& op = event.op;
  Json json = slice(fmt::format("{}{} c{}", op.work == Work::forward ? "F" : "B", op.micro_batch, op.chunk),
                    std::string(name(op.work)), track, event.start, event.end);
  if (op.work == Work::backward_weight) json["name"] = fmt::format("W{} c{}", op.micro_batch, op.chunk);
  json["args"] = {{"micro_batch", op.micro_batch}, {"chunk", op.chunk}};
  return json;
}

Json track_name(int stage, const std::vector<Chunk>& chunks) {
  int layers = 0;
  for (const Chunk& chunk : chunks) layers += chunk.stage == stage ? chunk.layers : 0;
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", stage},
          {"args", {{"name", fmt::format("stage {} ({} layers)", stage, layers)}}}};
}

}  // namespace

DrawnPipeline drawn_pipeline(const Job& job, const Prediction& prediction, int most_ops) {
  const Layout& layout = prediction.layout;
  const StepTime& time = prediction.time;
  DrawnPipeline drawn;
  drawn.micro_batches = micro_batches(job.global_batch, layout);
  drawn.shown = drawn_micro_batches(layout, drawn.micro_batches, most_ops);
  drawn.schedule = effective_schedule(layout);
  drawn.chunks = pipeline_chunks(job.model, job.framework, layout);
  const PipelineOrder order = pipeline_order(drawn.schedule, layout.pp, layout.vp, drawn.shown);
  // Parts that are there twice are whole stages, each with its share of the micro-batches.
  const double slots = static_cast<double>(drawn.micro_batches) / drawn.schedule->weight_copies;
  const Seconds send = layout.pp > 1 ? time.pipeline / (2.0 * split_ways(layout) * drawn.micro_batches) : Seconds{};
  drawn.line = simulate(order, chunk_times(drawn.chunks, layout.pp, time, slots), send);
  return drawn;
}

std::string pipeline_trace(const Job& job, const Prediction& prediction) {
  constexpr int most_ops = 60'000;  // what a browser still scrolls smoothly
  const Layout& layout = prediction.layout;
  const StepTime& time = prediction.time;
  const DrawnPipeline drawn = drawn_pipeline(job, prediction, most_ops);
  const Timeline& line = drawn.line;
  Json events = Json::array();
  for (int stage = 0; stage < layout.pp; ++stage) {
    events.push_back(track_name(stage, drawn.chunks));
    for (const PipelineEvent& event : line.stages[static_cast<std::size_t>(stage)]) {
      events.push_back(event_slice(event, stage));
    }
    const Seconds reduced = line.makespan + time.data_parallel;
    events.push_back(slice("data parallel (exposed)", "data_parallel", stage, line.makespan, reduced));
    events.push_back(slice("optimizer", "optimizer", stage, reduced, reduced + time.optimizer));
  }
  const Json document = {{"traceEvents", std::move(events)},
                         {"displayTimeUnit", "ms"},
                         {"otherData",
                          {{"model", job.model.name},
                           {"layout", describe_layout(layout)},
                           {"schedule", std::string(name(drawn.schedule))},
                           {"micro_batches", fmt::format("{} of {}", drawn.shown, drawn.micro_batches)},
                           {"step_time_s", prediction.step_time.value()}}}};
  return json_text(document);
}

}  // namespace meshwright::parallel
