// NCCL's environment variables, and records of what its search found and its tuner chose.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::collectives {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  return parts;
}

/// Applies one list ("ring,tree" or "^nvls") to `taken`.
template <std::size_t N>
void apply_list(std::string_view list, const std::array<std::string_view, N>& names, std::array<bool, N>& taken,
                const std::string& where) {
  const bool but = list.starts_with('^');
  if (but) list.remove_prefix(1);
  taken.fill(but);
  for (const std::string& word : split(list, ',')) {
    bool found = false;
    for (std::size_t i = 0; i < N; ++i) {
      if (lower(word) != lower(names[i])) continue;
      taken[i] = !but;
      found = true;
    }
    if (!found) {
      const std::vector<std::string> valid(names.begin(), names.end());
      throw Error(where, fmt::format("found '{}'{}", word, suggestion(word, valid)));
    }
  }
}

/// The part of "ring;allreduce:tree" that is meant for `collective`; a later part stands over an earlier one.
template <std::size_t N>
void apply(std::string_view text, Collective collective, const std::array<std::string_view, N>& names,
           std::array<bool, N>& taken, const std::string& where) {
  if (text.empty()) return;
  for (const std::string& part : split(text, ';')) {
    const auto colon = part.find(':');
    if (colon == std::string::npos) {
      apply_list(part, names, taken, where);
    } else if (parse_collective(part.substr(0, colon), where) == collective) {
      apply_list(std::string_view(part).substr(colon + 1), names, taken, where);
    }
  }
}

double within(const Reader& r, double least, double most) {
  const double value = r.number();
  if (!(value >= least && value <= most))
    r.fail(fmt::format("found {:g}, expected a number from {:g} to {:g}", value, least, most));
  return value;
}

NcclGraph read_graph(const Reader& r) {
  return {.pattern = static_cast<NcclPattern>(r.at("pattern").integer(0, 9)),
          .channels = r.at("nChannels").integer(0, 1024),
          .intra = BytesPerSecond::base(within(r.at("bwIntra"), 0, 1e6) * 1e9),
          .inter = BytesPerSecond::base(within(r.at("bwInter"), 0, 1e6) * 1e9),
          .inter_latency = Seconds::base(r.has("latencyInter") ? within(r.at("latencyInter"), 0, 1e9) * 1e-6 : 0),
          .intra_path = static_cast<NcclPath>(r.at("typeIntra").integer(0, 99)),
          .inter_path = static_cast<NcclPath>(r.at("typeInter").integer(0, 99)),
          .same_channels = r.at("sameChannels").number() != 0};
}

template <class Enum, std::size_t N>
Enum read_name(const Reader& r, const std::array<std::string_view, N>& names) {
  return static_cast<Enum>(r.one_of(std::vector<std::string>(names.begin(), names.end())));
}

/// NCCL's numbers: vendor 1 Intel, 2 AMD; architecture 1 x86.
CpuVendor vendor_of(double number) {
  return number == 1 ? CpuVendor::intel : number == 2 ? CpuVendor::amd : CpuVendor::other;
}

}  // namespace

int nccl_version_number(std::string_view version) {
  if (!version.starts_with("2.")) return 0;
  int minor = 0;
  std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor > 0 && minor < 100 ? 200 + minor : 0;
}

NcclForce read_nccl_force(std::string_view algorithms, std::string_view protocols, Collective collective,
                          const std::string& where) {
  NcclForce force;
  apply(algorithms, collective, nccl_algorithm_names, force.algorithm, where);
  apply(protocols, collective, protocol_names, force.protocol, where);
  return force;
}

std::optional<NcclGraphs> read_nccl_graphs(const Reader& record) {
  if (record.string_or("record", "") != "graphs") return std::nullopt;
  return NcclGraphs{.system = record.at("system").string(),
                    .tag = record.string_or("tag", ""),
                    .domains = record.at("nodes").integer(1, largest_count),
                    .ranks_per_domain = record.at("ranks_per_node").integer(1, 1 << 16),
                    .compute_capability = record.at("sm").integer(0, 1000),
                    .cpu = vendor_of(record.number_or("cpu_vendor", 1)),
                    .x86 = record.number_or("cpu_arch", 1) == 1,
                    .collnet = record.number_or("collnet", 0) != 0,
                    .channels = record.at("coll_channels").integer(0, 1024),
                    .ring = read_graph(record.at("ring")),
                    .tree = read_graph(record.at("tree")),
                    .collnet_chain = read_graph(record.at("collnet_chain")),
                    .collnet_direct = read_graph(record.at("collnet_direct")),
                    .nvls = read_graph(record.at("nvls"))};
}

std::optional<NcclChoiceCheck> check_nccl_choice(const Reader& record, std::span<const NcclGraphs> known) {
  const std::string system = record.at("system").string(), tag = record.string_or("tag", "");
  const int nodes = record.at("nodes").integer(1, largest_count), ranks = record.at("ranks").integer(1, largest_count);
  std::optional<NcclGraphs> graphs;
  NcclChoiceCheck check{.collective = record.at("collective").string()};
  for (const NcclGraphs& g : known) {
    if (g.system == system && g.domains == nodes && g.tag == tag && g.ranks() == ranks) graphs = g;
  }
  check.graphs_recorded = graphs.has_value();
  if (!graphs) graphs = nccl_graphs_of_system(system, nodes, ranks, tag);
  if (!graphs) return std::nullopt;

  check.recorded = {read_name<NcclAlgorithm>(record.at("algo"), nccl_algorithm_names),
                    read_name<Protocol>(record.at("proto"), protocol_names),
                    Seconds::base(within(record.at("time_us"), 1e-3, 1e12) * 1e-6)};
  const Collective collective = parse_collective(check.collective, record.at("collective").where());
  const auto choice =
      nccl_choice(*graphs, collective, Bytes::base(static_cast<double>(record.at("bytes").integer64())));
  if (!choice) return check;
  check.predicted = choice->best;
  check.choice_equal =
      check.predicted.algorithm == check.recorded.algorithm && check.predicted.protocol == check.recorded.protocol;
  for (const NcclCandidate& c : choice->candidates) {
    if (c.algorithm == check.recorded.algorithm && c.protocol == check.recorded.protocol) check.predicted_time = c.time;
  }
  check.time_error = check.predicted_time / check.recorded.time - 1;
  return check;
}

}  // namespace meshwright::collectives
