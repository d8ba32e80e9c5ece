#include "meshwright/parallel/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/html.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "parallel/drawn_pipeline.hpp"

namespace meshwright::parallel {
using namespace html;
namespace {

std::string in_words(std::string_view field) {
  std::string text(field);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string figures(const Job& job, const Prediction& p, const std::string& prefix) {
  const Bytes capacity = job.cluster.accelerator.memory_capacity;
  const std::string band =
      p.p90 > p.p10 ? fmt::format(" (P10 to P90: {} to {})", format(p.p10), format(p.p90)) : std::string();
  return "<p>" + escaped(describe_layout(p.layout)) + "</p>\n" +
         facts_table({{"step time", prefix + "step_time_s", p.step_time.value(), format(p.step_time) + band},
                      {"tokens/s a GPU", prefix + "tokens_per_s_per_gpu", p.tokens_per_s_per_gpu,
                       format_rate(p.tokens_per_s_per_gpu)},
                      {"MFU", prefix + "mfu", p.mfu, format_percent(p.mfu)},
                      {"HFU", prefix + "hfu", p.hfu, format_percent(p.hfu)},
                      {"exposed communication", prefix + "comm_share", p.comm_share, format_percent(p.comm_share)},
                      {"memory of a device", prefix + "peak_memory_bytes", p.memory.reserved.value(),
                       fmt::format("{} of {} (P10 to P90: {} to {}): {}", format(p.memory.reserved), format(capacity),
                                   format(p.memory_p10), format(p.memory_p90), name(p.fit))},
                      {"placement", "", 0, describe_placement(p.placement)}});
}

std::string time_chart(const Prediction& p, const std::string& prefix) {
  std::vector<Fact> steps;
  describe(p.time, [&](const char* field, Seconds time) {
    if (time.value() > 0)
      steps.push_back({in_words(field), fmt::format("{}breakdown/{}_s", prefix, field), time.value(), format(time)});
  });
  return "<h2>Where the time goes</h2>\n" + waterfall_chart(steps, p.step_time.value());
}

std::string memory_chart(const Job& job, const Prediction& p, const std::string& prefix) {
  std::vector<Fact> steps;
  describe(p.memory, [&](const char* field, Bytes size) {
    if (size.value() > 0)
      steps.push_back({in_words(field), fmt::format("{}memory/{}_bytes", prefix, field), size.value(), format(size)});
  });
  const Bytes capacity = job.cluster.accelerator.memory_capacity;
  return fmt::format("<h2>Memory of a device (stage {})</h2>\n", p.memory.stage) +
         waterfall_chart(steps, p.memory.reserved.value(), capacity.value(), "device: " + format(capacity));
}

std::string timeline(const Job& job, const Prediction& p) {
  constexpr int most_ops = 2000;
  constexpr std::size_t most_stages = 64;
  const DrawnPipeline drawn = drawn_pipeline(job, p, most_ops);
  std::vector<Track> tracks;
  for (std::size_t stage = 0; stage < std::min(most_stages, drawn.line.stages.size()); ++stage) {
    Track track{fmt::format("stage {}", stage), {}};
    for (const PipelineEvent& e : drawn.line.stages[stage]) {
      const int kind = e.op.work == Work::forward ? 0 : e.op.work == Work::backward_weight ? 2 : 1;
      track.spans.push_back({e.start.value(), e.end.value(), kind,
                             fmt::format("{} of micro-batch {}, chunk {}: {}", name(e.op.work), e.op.micro_batch,
                                         e.op.chunk, format(e.end - e.start))});
    }
    const Seconds end = drawn.line.makespan, reduced = end + p.time.data_parallel;
    if (p.time.data_parallel.value() > 0)
      track.spans.push_back({end.value(), reduced.value(), 3, "data parallel, exposed"});
    track.spans.push_back({reduced.value(), (reduced + p.time.optimizer).value(), 4, "optimizer"});
    tracks.push_back(std::move(track));
  }
  const std::string part =
      drawn.shown < drawn.micro_batches
          ? fmt::format("<p class=\"small\">The first {} of {} micro-batches.</p>\n", drawn.shown, drawn.micro_batches)
          : "";
  return fmt::format("<h2>One step of the pipeline ({})</h2>\n", name(drawn.schedule)) +
         timeline_chart(tracks, {"forward", "backward", "weight gradients", "data parallel", "optimizer"}) + part;
}

void add_terms(const Term& term, int depth, std::vector<std::vector<std::string>>& rows) {
  std::string indent;
  for (int i = 0; i < depth; ++i) indent += "\u00a0\u00a0";
  rows.push_back({indent + term.name, format_in(term.value, term.unit), term.formula, term.source});
  for (const Term& part : term.parts) add_terms(part, depth + 1, rows);
}

std::string terms(const Job& job, const Prediction& p) {
  std::string out = "<details><summary>Where every number comes from</summary>\n";
  for (const Term& tree : {explain(job, p), explain_memory(job, p)}) {
    std::vector<std::vector<std::string>> rows = {{"term", "value", "formula", "source"}};
    add_terms(tree, 0, rows);
    out += html_table(rows, 4);
  }
  return out + "</details>\n";
}

std::string listed(std::string_view title, const std::vector<std::string>& entries) {
  if (entries.empty()) return "";
  std::string out = fmt::format("<h2>{}</h2>\n<ul class=\"small\">", title);
  for (const std::string& entry : entries) out += "<li>" + escaped(entry) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace

std::string describe_placement(const Placement& placement) {
  std::string text;
  for (const AxisPlace& axis : placement.axes) {
    std::string levels;
    for (const Level& level : axis.place.levels)
      levels += fmt::format("{}{} on {}", levels.empty() ? "" : " x ", level.ranks, level.link);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name(axis.axis), levels);
  }
  return text.empty() ? "one device" : text;
}

std::string job_html(const Job& job) {
  const double tokens = static_cast<double>(job.global_batch) * job.seq_len;
  return fmt::format("<h1>{} on {} x {}</h1>\n<p>{}; sequence {}, global batch {} ({} tokens), {}, {}</p>\n",
                     escaped(job.model.name), job.accelerators, escaped(job.cluster.accelerator.name),
                     escaped(job.cluster.name), job.seq_len, job.global_batch, format_count(tokens),
                     escaped(job.precision.name), escaped(job.framework.name));
}

std::string prediction_html(const Job& job, const Prediction& p, const std::string& prefix) {
  return figures(job, p, prefix) + time_chart(p, prefix) + memory_chart(job, p, prefix) + timeline(job, p) +
         terms(job, p);
}

std::string assumptions_html(const std::vector<std::string>& warnings, const std::vector<std::string>& assumptions) {
  return listed("Warnings", warnings) + listed("Assumptions", assumptions);
}

std::string to_html(const Job& job, const Prediction& p, const std::string& refused) {
  std::string body = job_html(job);
  if (!refused.empty()) body += "<p class=\"no\">Cannot run: " + escaped(refused) + "</p>\n";
  body += prediction_html(job, p) + assumptions_html(p.warnings, p.assumptions);
  return html_page(fmt::format("{} on {}", job.model.name, job.cluster.name), body);
}

}  // namespace meshwright::parallel
