// What is said of a cluster: read from a file, written back, compared and narrowed.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"

namespace meshwright::hardware {
namespace {

using Json = nlohmann::ordered_json;

constexpr int largest_count = 1 << 24;

}  // namespace

ClusterSpec read_cluster_spec(const Reader& r) {
  r.allow_only({"description", "name", "of", "node", "nodes", "accelerators", "network", "sources"});
  ClusterSpec spec;
  spec.where = r.where();
  spec.of = r.string_or("of", "");
  if (spec.of.empty() || r.has("node")) spec.node = read_node_spec(r.at("node"));
  spec.name = r.string_or("name", "");
  spec.nodes = r.integer_or("nodes", 0, 1, largest_count);
  spec.accelerators = r.integer_or("accelerators", 0, 1, largest_count);
  if (const auto network = r.find("network")) spec.network = read_network_spec(*network);
  take_sources(r, spec.sources);
  return spec;
}

std::string to_json(const ClusterSpec& spec) {
  Json object = Json::object();
  if (!spec.name.empty()) object["name"] = spec.name;
  if (!spec.of.empty()) object["of"] = spec.of;
  if (const Json node = Json::parse(to_json(spec.node)); !node.empty()) object["node"] = node;
  if (spec.nodes > 0) object["nodes"] = spec.nodes;
  if (spec.accelerators > 0) object["accelerators"] = spec.accelerators;
  if (const Json network = Json::parse(to_json(spec.network)); !network.empty()) object["network"] = network;
  return object.dump();
}

bool operator==(const ClusterSpec& a, const ClusterSpec& b) { return to_json(a) == to_json(b); }

ClusterSpec narrowed(ClusterSpec spec, int nodes, int accelerators, const std::string& where) {
  const auto narrow = [&](int& said, int wanted, std::string_view what) {
    if (wanted <= 0) return;
    if (said > 0 && wanted > said)
      throw Error(where, fmt::format("found {} {}, the cluster is described with {}", wanted, what, said));
    said = wanted;
  };
  // The fabric stays as it was wired for all of them.
  if (nodes > 0 && spec.nodes > nodes) spec.network.nodes = std::max(spec.network.nodes.value_or(0), spec.nodes);
  narrow(spec.nodes, nodes, "nodes");
  narrow(spec.accelerators, accelerators, "accelerators");
  return spec;
}

}  // namespace meshwright::hardware
