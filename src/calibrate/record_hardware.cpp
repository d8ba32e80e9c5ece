#include "calibrate/record_hardware.hpp"

#include <algorithm>
#include <cctype>

#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : lower(text)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out.back() += c;
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

bool has_digit(const std::string& t) {
  return std::ranges::any_of(t, [](unsigned char c) { return std::isdigit(c); });
}

/// "h100", "mi300x", "2080": the first token with a digit names the family.
std::string family(const std::vector<std::string>& words) {
  const auto found = std::ranges::find_if(words, has_digit);
  return found == words.end() ? "" : *found;
}

/// Words of a name that the text has too ("sxm" and "sxm5" count as one), less a little for each that it lacks.
double likeness(const std::vector<std::string>& name, const std::vector<std::string>& text) {
  double score = 0;
  for (const std::string& word : name) {
    const bool shared = std::ranges::any_of(
        text, [&](const std::string& t) { return t == word || (word.starts_with("sxm") && t.starts_with("sxm")); });
    score += shared ? 1 : -0.1;
  }
  return score;
}

/// The number before `unit` in text: "domains of 8 GPUs" -> 8; 0 where there is none.
int number_after(std::string_view text, std::string_view head) {
  const std::size_t at = text.find(head);
  if (at == std::string_view::npos) return 0;
  int value = 0;
  for (std::size_t i = at + head.size(); i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i) {
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

/// The scale-up domain as a record's words describe it; what they leave open stays as the accelerator's usual node.
void say_scale_up(std::string_view words, std::string_view notes, int stated_domain, int used, NodeSpec& node) {
  const auto set = [&](ScaleUpKind kind, int domain) {
    node.scale_up = kind;
    node.scale_up_domain = domain;
  };
  const int size = node.accelerators.value_or(used);
  if (has(words, "pcie") && (has(words, "none") || has(words, "no nvlink") || has(words, "only"))) {
    set(ScaleUpKind::pcie, size);
  } else if (has(words, "pair") || has(words, "bridge")) {
    set(ScaleUpKind::nvlink_bridge, 2);
  } else if (has(words, "cube mesh")) {
    set(ScaleUpKind::cube_mesh, 8);
  } else if (has(words, "nvl72") || has(words, "mnnvl")) {
    set(ScaleUpKind::switched, 72);
  } else if (has(words, "all-to-all") || has(words, "4-gpu")) {
    set(ScaleUpKind::full_mesh, 4);
  } else if (has(words, "fully connected")) {
    set(ScaleUpKind::full_mesh, size);
  } else if (has(words, "nvswitch")) {
    set(ScaleUpKind::switched, size);
  }
  const int domain = stated_domain > 0 ? stated_domain : number_after(notes, "domains of ");
  if (domain > 0) set(ScaleUpKind::switched, domain);
  if (has(words, "tray")) set(ScaleUpKind::switched, std::max(used, size));
}

/// The node that the records' tests were cut from: "4 GPUs of 8", "8 per node".
int whole_node(std::string_view words, int used, int nodes) {
  if (nodes > 1) return used;
  if (has(words, "4-gpu")) return std::max(used, 4);
  if (has(words, "8 per node") || has(words, "nvswitch")) return std::max(used, 8);
  return used;
}

/// The value of NAME=value in an environment string.
std::string variable(std::string_view env, std::string_view variable_name) {
  const std::string key = std::string(variable_name) + "=";
  const std::size_t at = env.find(key);
  if (at == std::string_view::npos) return "";
  const std::size_t from = at + key.size();
  return std::string(env.substr(from, env.find_first_of(" ;,\t", from) - from));
}

}  // namespace

std::optional<std::string> find_accelerator(const Catalog& catalog, std::string_view as_written) {
  std::vector<std::string> text = tokens(as_written);
  if (has(lower(as_written), "hbm3") || has(lower(as_written), "sxm")) text.emplace_back("sxm");
  if (has(lower(as_written), "pair") && !has(lower(as_written), "pcie")) text.emplace_back("nvl");
  const std::string wanted = family(text);
  const Accelerator* best = nullptr;
  double most = -1e9;
  for (const Accelerator& a : catalog.accelerators) {
    const std::vector<std::string> words = tokens(a.name);
    if (family(words) != wanted) continue;
    const double score = likeness(words, text);
    if (score > most + 1e-9) most = score, best = &a;
  }
  if (best == nullptr) return std::nullopt;
  return best->name;
}

std::string find_fabric(const Catalog& catalog, std::string_view fabric, std::string_view nic) {
  const FabricKind* kind = catalog.fabric_in(fabric);
  if (kind == nullptr) kind = catalog.fabric_in(nic);
  return kind == nullptr ? "" : kind->name;
}

Cluster record_cluster(const Reader& record, const Catalog& catalog, const std::string& accelerator, int ranks) {
  const Reader hardware = record.at("hardware");
  const std::string words = lower(hardware.string_or("scale_up", "") + " " + hardware.string_or("gpu", ""));
  const std::string notes = lower(record.string_or("notes", "")), env = record.string_or("env", "");
  const int nodes = hardware.integer_or("nodes", 1, 1, largest_count);
  const int used = hardware.integer_or("gpus_per_node", ranks, 1, largest_count);
  const int node_size = whole_node(words, used, nodes);
  std::string fabric = find_fabric(catalog, hardware.string_or("fabric", ""), hardware.string_or("nic", ""));
  if (variable(env, "NCCL_IB_DISABLE") == "1" || lower(variable(env, "NCCL_NET")) == "socket")
    fabric = catalog.kernel_fabric().name;
  // Software matching of messages is a kind of its own ("slingshot-software"): half again the latency.
  const std::string matched = fabric + "-" + lower(variable(env, "FI_CXI_RX_MATCH_MODE"));
  if (std::ranges::find(catalog.fabrics, matched, &FabricKind::name) != catalog.fabrics.end()) fabric = matched;
  const long long accelerators = 1LL * nodes * node_size;
  if (accelerators > largest_count) hardware.fail("more than " + std::to_string(largest_count) + " accelerators");
  ClusterSpec spec{.accelerators = static_cast<int>(accelerators), .where = record.where() + "/hardware"};
  NodeSpec& node = spec.node;
  node.where = spec.where;
  node.accelerator = accelerator;
  node.accelerators = node_size;
  if (!fabric.empty()) node.fabric = fabric;
  if (const int nics = hardware.integer_or("nics_per_node", 0, 0, 1024); nics > 0) node.nics = nics;
  const double gbps = hardware.number_or("nic_gbps", 0);
  constexpr double least_gbps = 1e-3, most_gbps = 1e6;
  if (gbps != 0 && !(gbps >= least_gbps && gbps <= most_gbps))
    hardware.at("nic_gbps").fail("expected 0.001 to 1000000 Gb/s");
  if (gbps > 0) node.nic_bandwidth = BytesPerSecond::base(gbps * 1e9 / 8);
  say_scale_up(words, notes, hardware.integer_or("scale_up_domain", 0, 0, largest_domain), used, node);
  const std::string p2p = lower(variable(env, "NCCL_P2P_LEVEL"));
  if (variable(env, "NCCL_P2P_DISABLE") == "1" || p2p == "loc" || p2p == "0") {
    node.scale_up = ScaleUpKind::pcie;
    node.scale_up_domain = node_size;
  }
  return complete(spec, catalog);
}

CollectiveOptions record_options(const Reader& record) {
  CollectiveOptions options;
  const std::string env = record.string_or("env", "");
  const int version = nccl_version_number(record.string_or("nccl_version", ""));
  options.algorithm = record.string_or("algo", variable(env, "NCCL_ALGO"));
  options.protocol = record.string_or("proto", variable(env, "NCCL_PROTO"));
  if (variable(env, "NCCL_TREE_THRESHOLD") == "0") options.algorithm = "ring";
  options.nvls = variable(env, "NCCL_NVLS_ENABLE") != "0" && (version == 0 || version >= 217) &&
                 nvls_reduces(record.string_or("dtype", ""));
  // Collective offload needs the plug-in as well as the variable, so only a record that speaks of SHARP had it.
  options.collnet = has(lower(env + " " + record.at("hardware").string_or("fabric", "")), "sharp");
  return options;
}

}  // namespace meshwright::calibrate
