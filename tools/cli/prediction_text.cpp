#include "prediction_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/report.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

std::string layout_text(const Prediction& p) {
  const Layout& l = p.layout;
  std::string text = describe_layout(l);
  if (l.recompute == Recompute::none) text += ", no recompute";
  if (l.vp > 1) text += ", interleaved";
  if (l.tp > 1 && l.sequence_parallel) text += ", sequence parallel";
  if (l.tp_comm_overlap) text += ", TP overlap";
  if (l.ep_comm_overlap) text += ", EP overlap";
  return text;
}

std::string fit_text(const Job& job, const Prediction& p) {
  const Bytes usable = usable_memory(job), margin = usable - p.memory.reserved;
  const std::string used = fmt::format("{} of {} usable{}", format(p.memory.reserved), format(usable),
                                       p.memory.start_up > Bytes{} ? ", before the first step" : "");
  if (p.fit == Fit::fits) return fmt::format("{}: fits, {} to spare", used, format(margin));
  if (more_than_host(job.cluster.node.host_memory, p.memory)) {
    return fmt::format("{}, but {} of {} of the host: does not fit", used, format(p.memory.host),
                       format(job.cluster.node.host_memory));
  }
  if (p.fit == Fit::does_not_fit) return fmt::format("{}: does not fit", used);
  return fmt::format("{}: {}, {:.0f} % that it fits", used, name(p.fit), 100 * p.fits_probability);
}

std::string band_text(const Prediction& p) {
  if (!(p.p90 > p.p10)) return "";
  return fmt::format("  (P10-P90 {} to {}; {})", format(p.p10), format(p.p90),
                     p.evidence == Evidence::data_sheet ? "data sheet" : name(p.evidence));
}

std::string row(const char* label, const std::string& value) {
  constexpr std::size_t indent = 15;
  return fmt::format("  {:<13}{}", label, wrap(value, indent).substr(indent));
}

std::string listed(const std::string& title, const std::vector<std::string>& entries) {
  if (entries.empty()) return "";
  std::string out = bold(title) + "\n";
  for (const std::string& entry : entries) {
    std::string lines = wrap(entry, 4);
    lines[2] = '-';
    out += lines;
  }
  return out;
}

}  // namespace

std::string job_text(const Job& job) {
  const Node& node = job.cluster.node;
  std::string network;
  if (node.nics > 0) {
    network = fmt::format(", {} x {:.0f} Gb/s {} per node", node.nics, node.nic_bandwidth.value() * 8e-9, node.fabric);
  }
  const double tokens = static_cast<double>(job.global_batch) * job.seq_len;
  return bold(fmt::format("{} on {} x {}", job.model.name, with_commas(job.accelerators),
                          job.cluster.accelerator.name)) +
         fmt::format(" ({}{})\n", job.cluster.name, network) +
         fmt::format("sequence {}, global batch {} ({} tokens), {}, {}\n", with_commas(job.seq_len),
                     with_commas(job.global_batch), format_count(tokens), job.precision.name, job.framework.name);
}

std::string summary_text(const Job& job, const Prediction& p) {
  const double flops = p.model_flops / p.step_time.value() / job.accelerators;
  std::string out = row("layout", layout_text(p));
  out += row("step time", format(p.step_time) + band_text(p));
  out += row("throughput", fmt::format("{} tokens/s/GPU, {} tokens/s in all", format_rate(p.tokens_per_s_per_gpu),
                                       format_count(p.tokens_per_s_per_gpu * job.accelerators)));
  out += row("MFU", fmt::format("{} ({} per GPU, model FLOPs; HFU {})", format_percent(p.mfu),
                                format(FlopsPerSecond::base(flops)), format_percent(p.hfu)));
  out += row("memory", fit_text(job, p) + fmt::format(" (worst stage {}; P10-P90 {} to {})", p.memory.stage,
                                                      format(p.memory_p10), format(p.memory_p90)));
  return out + row("placement", describe_placement(p.placement));
}

std::string waterfall_text(const Prediction& p) {
  Table table({{"where the time goes", Align::left}, {"time"}, {"share"}, {"", Align::left}});
  describe(p.time, [&](const char* field, Seconds time) {
    if (time.value() <= 0) return;
    std::string label = field;
    std::replace(label.begin(), label.end(), '_', ' ');
    const double share = time / p.step_time;
    table.add({"  " + label, format(time), format_percent(share), bar(share, 40)});
  });
  table.add({"  step", format(p.step_time), "100 %"});
  std::string out = table.render();
  const Seconds hidden = total(p.hidden);
  out += fmt::format("  exposed communication is {} of the step", format_percent(p.comm_share));
  if (hidden.value() > 0) out += fmt::format("; {} more runs hidden behind compute", format(hidden));
  return out + "\n";
}

std::string memory_text(const Job& job, const Prediction& p) {
  Table table({{"memory of a device", Align::left}, {"size"}, {"share"}, {"", Align::left}});
  const Bytes usable = usable_memory(job);
  const auto row = [&](const char* field, Bytes size) {
    if (size.value() <= 0) return;
    table.add({std::string("  ") + field, format(size), format_percent(size / usable), bar(size / usable, 40)});
  };
  Bytes fragmented = p.memory.reserved;
  describe(p.memory, [&](const char* field, Bytes size) {
    row(field, size);
    fragmented -= size;
  });
  if (fragmented > 1e-4 * p.memory.reserved) row("fragmentation", fragmented);
  table.add({"  reserved", format(p.memory.reserved), format_percent(p.memory.reserved / usable)});
  if (p.memory.host > Bytes{}) table.add({"  host memory of a node", format(p.memory.host)});
  return table.render();
}

std::string flags_text(const Job& job, const Layout& layout, const std::string& dialect) {
  std::string out = bold("Launcher flags") + fmt::format(" ({}: {})\n", dialect, launcher_release(job, dialect));
  for (const std::string& flag : launcher_flags(job, layout, dialect)) out += "  " + flag + "\n";
  return out + "\n";
}

std::string notes_text(const std::vector<std::string>& warnings, const std::vector<std::string>& assumptions) {
  std::string out = listed("Warnings", warnings);
  const std::string rest = listed("Assumptions", assumptions);
  return out + (out.empty() || rest.empty() ? "" : "\n") + rest;
}

}  // namespace meshwright::cli
