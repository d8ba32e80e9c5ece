#include "meshwright/calibrate/collective_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/measured.hpp"
#include "calibrate/record_hardware.hpp"
#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/quantile.hpp"

namespace meshwright::calibrate {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The rules by which a record says nothing about a collective library, or nothing that was measured.
std::string out_of_scope(const Reader& record, int ranks, const Catalog& catalog) {
  const std::string collective = record.at("collective").string();
  if (collective.starts_with("moe")) return "an expert dispatch or combine kernel, not a collective of the library";
  const std::string version = record.string_or("nccl_version", ""), algorithm = record.string_or("algo", "");
  if (has(version, "custom") || has(version, "mscclpp") || has(algorithm, "custom") || has(algorithm, "mscclpp")) {
    return "a kernel written by hand, not nccl or rccl";
  }
  if (!record.boolean_or("healthy", true)) return "reported as a problem: for diagnosis, not for comparison";
  if (has(record.string_or("notes", ""), "not a measurement")) return "a threshold, not a measurement";
  if (ranks < 2) return "fewer than two ranks";
  const Reader hardware = record.at("hardware");
  if (hardware.integer_or("nodes", 1, 1) > 1 && !(hardware.has("nics_per_node") && hardware.has("nic_gbps")) &&
      find_fabric(catalog, hardware.string_or("fabric", ""), hardware.string_or("nic", "")).empty()) {
    return "several nodes, and nothing said of their network";
  }
  return "";
}

std::vector<MeasuredRow> read_rows(const Reader& record) {
  std::vector<MeasuredRow> rows;
  for (const Reader& row : record.at("rows").items()) {
    if (!row.has("bytes") || !row.has("time_us")) continue;
    const double bytes = row.at("bytes").number(), time = row.at("time_us").number();
    if (bytes > most_message_bytes || time > most_message_us || (time > 0 && time < least_message_us))
      row.fail(fmt::format("expected bytes of at most {:g} and a time of {:g} to {:g} us", most_message_bytes,
                           least_message_us, most_message_us));
    if (bytes > 0 && time > 0) rows.push_back({Bytes::base(bytes), Seconds::base(time * 1e-6)});
  }
  return rows;
}

int rank_count(const Reader& record) {
  if (record.has("ranks")) return record.at("ranks").integer(1, largest_count);
  const Reader hardware = record.at("hardware");
  return hardware.integer_or("nodes", 1, 1, largest_count / 4096) * hardware.integer_or("gpus_per_node", 1, 1, 4096);
}

/// What the table's options leave the tuner to choose from; nothing where NCCL has no such algorithm.
std::optional<NcclForce> force_of(const CollectiveTable& table) {
  NcclForce force{.least_channels = table.least_channels, .most_channels = table.most_channels};
  const auto only = [](auto& allowed, const auto& names, std::string_view wanted) {
    for (std::size_t i = 0; i < names.size(); ++i) allowed[i] = folded_name(names[i]) == folded_name(wanted);
    return std::ranges::count(allowed, true) == 1;
  };
  const CollectiveOptions& options = table.options;
  if (!options.algorithm.empty()) {
    const Algorithm* row = find_algorithm(table.collective, options.algorithm);
    if (row == nullptr || !only(force.algorithm, nccl_algorithm_names, row->elsewhere.nccl)) return std::nullopt;
  }
  if (!options.protocol.empty() && !only(force.protocol, protocol_names, options.protocol)) return std::nullopt;
  if (!options.nvls) {
    force.algorithm[static_cast<std::size_t>(NcclAlgorithm::nvls)] = false;
    force.algorithm[static_cast<std::size_t>(NcclAlgorithm::nvls_tree)] = false;
  }
  return force;
}

/// c10d's profiler label spans all that an operation launches: of an all-gather into a list, the collective and a copy
/// of the whole out of the flat buffer, read and written (ProcessGroupNCCL::allgather).
double copied_out(const Reader& record, Collective collective, const Accelerator& device) {
  if (collective != Collective::all_gather || !has(record.string_or("env", ""), "c10d")) return 0;
  return 2 / (device.memory_bandwidth.value() * device.efficiency.memory.fraction);
}

/// Channels of the choice over those that NCCL would launch it with by itself; more than those reach nothing more.
double channel_share(const NcclGraphs& graphs, const CollectiveTable& table, Bytes bytes, const NcclChoice& choice) {
  if (table.least_channels == 0 && table.most_channels == 0) return 1;
  NcclForce same;
  same.algorithm.fill(false), same.protocol.fill(false);
  same.algorithm[static_cast<std::size_t>(choice.best.algorithm)] = true;
  same.protocol[static_cast<std::size_t>(choice.best.protocol)] = true;
  const auto free = nccl_choice(graphs, table.collective, bytes, same);
  return free && free->channels > choice.channels ? static_cast<double>(choice.channels) / free->channels : 1;
}

}  // namespace

CollectiveEstimate estimate(const CollectiveTable& table, const MeasuredRow& row, const Platform& platform) {
  CollectiveEstimate e = estimate(table.collective, row.bytes, table.place, platform, row.options);
  e.time += Seconds::base(table.copied_out * row.bytes.value());
  return e;
}

bool follow_tuner(CollectiveTable& table, const Cluster& cluster) {
  for (MeasuredRow& row : table.rows) row.options = table.options;
  std::optional<NcclGraphs> graphs = nccl_graphs_for(cluster, table.ranks);
  // The tuner's graphs of PCIe boxes are guesses.
  if (!graphs || table.options.collnet || std::ranges::any_of(table.place.levels, &Level::host)) return false;
  graphs->version = table.version;
  const bool channels = table.least_channels > 0 || table.most_channels > 0;
  if (!channels && !(table.options.algorithm.empty() && table.options.protocol.empty())) return false;
  std::optional<NcclForce> force = force_of(table);
  if (!force) return false;
  // Protocols that the network's plug-in leaves out (NCCL_PROTO, as libfabric's do without ordered delivery).
  for (std::size_t p = 0; p < protocol_count && table.place.over_network(); ++p)
    force->protocol[p] = force->protocol[p] && table.platform.scale_out.ring[p].efficiency > 0;
  bool known = table.rows.empty();
  for (MeasuredRow& row : table.rows) {
    const auto choice = nccl_choice(*graphs, table.collective, row.bytes, *force);
    if (!choice) continue;
    known = true;
    row.options.algorithm = name(choice->best.algorithm);
    row.options.protocol = name(choice->best.protocol);
    if (!applies(table.collective, table.place, table.platform, row.options)) row.options = table.options;
    row.options.channel_share = channel_share(*graphs, table, row.bytes, *choice);
  }
  return known;
}

CollectiveTable read_collective_table(const Reader& record, const Catalog& catalog) {
  CollectiveTable table;
  table.id = record.at("id").string();
  if (const auto source = record.find("source")) table.source = source->string_or("title", "");
  table.ranks = rank_count(record);
  table.healthy = record.boolean_or("healthy", true);
  table.skipped = out_of_scope(record, table.ranks, catalog);
  table.rows = read_rows(record);
  if (record.at("collective").string().starts_with("moe") || table.ranks < 2) return table;
  try {
    table.collective = parse_collective(record.at("collective").string(), record.where() + "/collective");
  } catch (const UnknownName& unknown) {
    if (table.skipped.empty()) table.skipped = unknown.what_happened();
    return table;
  }
  const std::string gpu = record.at("hardware").at("gpu").string();
  const auto accelerator = find_accelerator(catalog, gpu);
  if (!accelerator) {
    if (table.skipped.empty()) table.skipped = fmt::format("accelerator '{}' is not in the catalogue", gpu);
    return table;
  }
  const Cluster cluster = record_cluster(record, catalog, *accelerator, table.ranks);
  if (cluster.accelerators() < table.ranks) {
    if (table.skipped.empty())
      table.skipped = fmt::format("{} ranks on {} accelerators", table.ranks, cluster.accelerators());
    return table;
  }
  table.place = place_group(cluster, table.ranks, 1);
  table.platform = platform_of(cluster);
  table.copied_out = copied_out(record, table.collective, cluster.accelerator);
  table.options = record_options(record);
  table.version = nccl_version_number(record.string_or("nccl_version", ""));
  follow_tuner(table, cluster);
  return table;
}

std::optional<Cluster> cluster_of_record(const Reader& record, const Catalog& catalog) {
  const auto accelerator = find_accelerator(catalog, record.at("hardware").at("gpu").string());
  if (!accelerator) return std::nullopt;
  return record_cluster(record, catalog, *accelerator, rank_count(record));
}

CollectiveCheck check(const CollectiveTable& table) {
  CollectiveCheck result{.id = table.id,
                         .platform = table.platform.name,
                         .collective = table.collective,
                         .ranks = table.ranks,
                         .rows = {},
                         .skipped = table.skipped,
                         .source = table.source,
                         .leaves_domain = table.place.over_network()};
  if (!table.skipped.empty()) return result;
  try {
    for (const MeasuredRow& row : table.rows) {
      const CollectiveEstimate e = estimate(table, row, table.platform);
      result.rows.push_back({row.bytes, e.time, row.time, e.algorithm, e.protocol});
    }
  } catch (const Error& error) {
    result.rows.clear();
    result.skipped = error.what_happened();
  }
  return result;
}

CollectiveCheck check_collective_record(const Reader& record, const Catalog& catalog) {
  return check(read_collective_table(record, catalog));
}

ErrorSummary summarise(const std::vector<CollectiveCheck>& checks, Bytes least, Bytes most) {
  std::vector<double> errors;
  for (const CollectiveCheck& c : checks) {
    for (const CheckedRow& row : c.rows) {
      if (row.bytes >= least && row.bytes <= most) errors.push_back(std::abs(row.error()));
    }
  }
  return {errors.size(), nearest_quantile(errors, 0.5), nearest_quantile(errors, 0.9)};
}

}  // namespace meshwright::calibrate
