// What is said of a node and of a network: one row a member, which reads it, writes it back, puts it over an entry of
// the catalogue and over what was said before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "hardware/entries.hpp"
#include "hardware/fields.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/members.hpp"
#include "meshwright/hardware/network.hpp"
#include "meshwright/hardware/torus.hpp"

namespace meshwright::hardware {
namespace {

using Json = nlohmann::ordered_json;

// Values as they stand in files.
template <class T>
Json written(const T& value) {
  return value;
}
Json written(BytesPerSecond value) { return fmt::format("{} B/s", value.value()); }
Json written(Bytes value) { return fmt::format("{} B", value.value()); }
Json written(Watts value) { return fmt::format("{} W", value.value()); }
Json written(ScaleUpKind kind) { return name(kind); }
Json written(const std::vector<Price>& prices) {
  Json list = Json::array();
  for (const Price& p : prices) {
    Json price = Json::object();
    if (p.amount.value() > 0)
      price["amount"] = fmt::format("{} $", p.amount.value());
    else
      price["rate"] = fmt::format("{} $/h", p.rate.value() * 3600);
    price.update({{"kind", p.kind}, {"date", p.date}, {"confidence", p.confidence}});
    if (!p.provider.empty()) price["provider"] = p.provider;
    if (!p.url.empty()) price["url"] = p.url;
    list.push_back(std::move(price));
  }
  return list;
}

// Readers of one member that is there.
struct Whole {
  int least, most;
  int operator()(const Reader& member) const { return member.integer(least, most); }
};
template <int Least, int Most>
constexpr Whole whole{Least, Most};
std::string text(const Reader& member) { return member.string(); }
bool flag(const Reader& member) { return member.boolean(); }
template <Dimension D>
Quantity<D> quantity(const Reader& member) {
  return member.quantity<D>();
}
ScaleUpKind scale_up(const Reader& member) { return static_cast<ScaleUpKind>(member.one_of(scale_up_names())); }
/// A torus may state the edges of its slice behind its name, which check_network() looks at.
std::string topology(const Reader& member) {
  if (member.is_string()) {
    std::string text = member.string();
    const std::string kind(torus_kind(text));
    if (std::string named = topology_named(text); named != text) return named;
    if (kind != text && std::ranges::find(topologies(), kind) != topologies().end()) return text;
  }
  return topologies()[member.one_of(topologies())];
}
std::string routing(const Reader& member) { return routings()[member.one_of(routings())]; }
std::vector<std::string> texts(const Reader& member) {
  std::vector<std::string> list;
  for (const Reader& item : member.items()) list.push_back(item.string());
  return list;
}
struct Wholes {
  int least, most;
  std::vector<int> operator()(const Reader& member) const {
    std::vector<int> list;
    for (const Reader& item : member.items()) list.push_back(item.integer(least, most));
    return list;
  }
};
template <int Least, int Most>
constexpr Wholes wholes{Least, Most};

/// 4, "4:1" or "4".
double read_ratio(const Reader& item) {
  double ratio = 0;
  if (item.is_string()) {
    const std::string text = item.string();
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, ratio);
    if (read.ec != std::errc() || (read.ptr != end && std::string_view(read.ptr, end) != ":1"))
      item.fail("expected downlink:uplink as 4 or \"4:1\", found " + item.dump());
  } else {
    ratio = item.number();
  }
  if (!(ratio >= 1 && ratio <= 1000))
    item.fail("expected downlink:uplink of at least 1 and at most 1000, found " + item.dump());
  return ratio;
}
/// By tier, leaf first; one alone is the leaf's.
std::vector<double> ratios(const Reader& said) {
  if (!said.is_array()) return {read_ratio(said)};
  std::vector<double> list;
  for (const Reader& item : said.items()) list.push_back(read_ratio(item));
  return list;
}

template <auto Value>
struct Id {};
template <auto A, auto B>
constexpr bool same = std::is_same_v<Id<A>, Id<B>>;

/// What a reader takes.
template <auto Read>
JsonSchema value_shape() {
  using Type = std::remove_cv_t<decltype(Read)>;
  if constexpr (std::is_same_v<Type, Whole>) {
    return shape::whole(Read.least, Read.most);
  } else if constexpr (std::is_same_v<Type, Wholes>) {
    return shape::list(shape::whole(Read.least, Read.most));
  } else if constexpr (std::is_same_v<Type, bool (*)(const Reader&)>) {
    return shape::truth();
  } else if constexpr (std::is_same_v<Type, BytesPerSecond (*)(const Reader&)>) {
    return shape::quantity(BytesPerSecond::dimension);
  } else if constexpr (std::is_same_v<Type, Bytes (*)(const Reader&)>) {
    return shape::quantity(Bytes::dimension);
  } else if constexpr (std::is_same_v<Type, Watts (*)(const Reader&)>) {
    return shape::quantity(Watts::dimension);
  } else if constexpr (std::is_same_v<Type, ScaleUpKind (*)(const Reader&)>) {
    return shape::one_of(scale_up_names());
  } else if constexpr (std::is_same_v<Type, std::vector<Price> (*)(const Reader&)>) {
    return prices_shape();
  } else if constexpr (std::is_same_v<Type, std::vector<std::string> (*)(const Reader&)>) {
    return shape::list(shape::text());
  } else if constexpr (std::is_same_v<Type, double (*)(const Reader&)>) {
    return shape::number(1e-6, 1);
  } else if constexpr (std::is_same_v<Type, std::vector<double> (*)(const Reader&)>) {
    const JsonSchema one =
        shape::either({shape::number(1, 1000), {R"({"type": "string", "pattern": "^[0-9.]+(:1)?$"})"}});
    return shape::either({one, shape::list(one)});
  } else if constexpr (same<Read, topology>) {
    return shape::either({shape::one_of(topologies()),
                          shape::one_of(topology_aliases()),
                          {R"({"type": "string", "pattern": "^torus-[23]d."})"}});
  } else if constexpr (same<Read, routing>) {
    return shape::one_of(routings());
  } else {
    return shape::text();
  }
}

template <class T>
void put(const T& said, T& field) {
  field = said;
}
void put(BytesPerSecond said, double& field) { field = said.value(); }

/// Labels say nothing of what a node does.
enum class Says { label, shape };

template <class Spec, class Entry>
struct Row {
  std::string_view key, doc;
  Says says;
  JsonSchema (*shape)();
  void (*read)(const Reader& member, Spec& spec);
  void (*write)(const Spec& spec, std::string_view key, Json& object);  ///< nothing where it was not said
  void (*apply)(const Spec& spec, Entry& entry);
  void (*merge)(const Spec& said, Spec& spec);
};

template <class Spec, class Entry, auto Said, auto Field, auto Read>
constexpr Row<Spec, Entry> member(std::string_view key, std::string_view doc, Says says) {
  return {key,
          doc,
          says,
          value_shape<Read>,
          [](const Reader& member, Spec& spec) { spec.*Said = Read(member); },
          [](const Spec& spec, std::string_view k, Json& object) {
            if (spec.*Said) object[std::string(k)] = written(*(spec.*Said));
          },
          [](const Spec& spec, Entry& entry) {
            if (spec.*Said) put(*(spec.*Said), entry.*Field);
          },
          [](const Spec& said, Spec& spec) {
            if (said.*Said) spec.*Said = said.*Said;
          }};
}
template <auto Said, auto Field, auto Read>
constexpr auto of_node(std::string_view key, std::string_view doc, Says says = Says::shape) {
  return member<NodeSpec, Node, Said, Field, Read>(key, doc, says);
}
template <auto Said, auto Field, auto Read>
constexpr auto of_network(std::string_view key, std::string_view doc) {
  return member<NetworkSpec, Network, Said, Field, Read>(key, doc, Says::shape);
}

constexpr auto bandwidth = stated_bandwidth;
constexpr auto any_bandwidth = quantity<BytesPerSecond::dimension>;

constexpr auto node_rows = std::to_array<Row<NodeSpec, Node>>({
    of_node<&NodeSpec::accelerators, &Node::accelerators, whole<1, 4096>>("accelerators", "in a node"),
    of_node<&NodeSpec::scale_up, &Node::scale_up, scale_up>("scale_up", "how they are joined inside"),
    of_node<&NodeSpec::scale_up_domain, &Node::scale_up_domain, whole<1, largest_domain>>("scale_up_domain",
                                                                                          "accelerators that share it"),
    of_node<&NodeSpec::scale_up_bandwidth, &Node::scale_up_bandwidth, bandwidth>("scale_up_bandwidth",
                                                                                 "of an accelerator, each way"),
    of_node<&NodeSpec::scale_up_switch, &Node::scale_up_switch, text>("scale_up_switch", "the switch that joins them"),
    of_node<&NodeSpec::nics, &Node::nics, whole<0, 1024>>("nics", "NICs of a node for training"),
    of_node<&NodeSpec::nic, &Node::nic, text>("nic", "a NIC of the catalogue"),
    of_node<&NodeSpec::nic_bandwidth, &Node::nic_bandwidth, bandwidth>("nic_bandwidth", "of a NIC, each way: 400 Gb/s"),
    of_node<&NodeSpec::fabric, &Node::fabric, text>("fabric", "infiniband, roce, spectrum-x, ethernet, ..."),
    of_node<&NodeSpec::dcn_bandwidth, &Node::dcn_bandwidth, any_bandwidth>("dcn_bandwidth",
                                                                           "of a node to the data-centre network"),
    of_node<&NodeSpec::pcie, &Node::pcie, text>("pcie", "generation of the slots: pcie-gen5"),
    of_node<&NodeSpec::sockets, &Node::sockets, whole<1, 16>>("sockets", "host processors"),
    of_node<&NodeSpec::cpu, &Node::cpu, text>("cpu", "which"),
    of_node<&NodeSpec::host_memory, &Node::host_memory, quantity<Bytes::dimension>>("host_memory", "of a whole node"),
    of_node<&NodeSpec::power, &Node::power, quantity<Watts::dimension>>("power", "of a whole node under load"),
    of_node<&NodeSpec::prices, &Node::prices, read_prices>("prices", "what it costs to buy or to rent", Says::label),
    of_node<&NodeSpec::title, &Node::title, text>("title", "in words", Says::label),
    of_node<&NodeSpec::aliases, &Node::aliases, texts>("aliases", "other names", Says::label),
    of_node<&NodeSpec::announced, &Node::announced, flag>("announced", "not sold yet", Says::label),
    of_node<&NodeSpec::notes, &Node::notes, text>("notes", "more words", Says::label),
});

constexpr auto network_rows = std::to_array<Row<NetworkSpec, Network>>({
    of_network<&NetworkSpec::topology, &Network::topology, topology>(
        "topology", "how nodes are joined; of a torus also with its edges"),
    of_network<&NetworkSpec::tiers, &Network::tiers, whole<0, 4>>("tiers", "of switches; 0 = as many as it takes"),
    of_network<&NetworkSpec::oversubscription, &Network::oversubscription, ratios>(
        "oversubscription", "downlink:uplink: 4, 4:1, or a list by tier, leaf first"),
    of_network<&NetworkSpec::reach, &Network::reach, wholes<0, largest_count>>(
        "reach", "nodes below one switch of each tier, leaf first"),
    of_network<&NetworkSpec::planes, &Network::planes, whole<1, 64>>(
        "planes", "independent copies that split the ports of each NIC"),
    of_network<&NetworkSpec::nodes, &Network::nodes, whole<1, largest_count>>(
        "nodes", "that it was wired for, where fewer are used"),
    of_network<&NetworkSpec::switch_name, &Network::switch_name, text>("switch", "a switch of the catalogue"),
    of_network<&NetworkSpec::routing, &Network::routing, routing>("routing", "adaptive, ecmp, ..."),
    of_network<&NetworkSpec::efficiency, &Network::efficiency, stated_fraction>("efficiency",
                                                                                "of the links under load"),
    of_network<&NetworkSpec::dcn_bandwidth, &Network::dcn_bandwidth, any_bandwidth>(
        "dcn_bandwidth", "of a node to the data-centre network"),
});

template <class Spec, class Entry, std::size_t N>
void read_members(const Reader& r, const std::array<Row<Spec, Entry>, N>& rows, Spec& spec,
                  std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> known(own);
  for (const auto& row : rows) known.push_back(row.key);
  r.allow_only(known);
  for (const auto& row : rows) {
    if (const auto said = r.find(row.key)) row.read(*said, spec);
  }
}

/// The rows' schema, with members that stand outside them.
template <class Rows>
JsonSchema rows_shape(const Rows& rows, const Members<NodeSpec>& own) {
  Members<NodeSpec> all = own;
  for (const auto& row : rows) all.push_back({row.key, row.doc, row.shape()});
  return shape_of(all);
}

template <class Rows>
std::vector<std::string_view> keys(const Rows& rows) {
  std::vector<std::string_view> all;
  for (const auto& row : rows) {
    if (row.says == Says::shape) all.push_back(row.key);
  }
  return all;
}

}  // namespace

const std::vector<std::string>& scale_up_names() {
  static const std::vector<std::string> names = {"none",     "pcie",      "cube_mesh", "nvlink_bridge",
                                                 "switched", "full_mesh", "torus_2d",  "torus_3d"};
  return names;
}

std::string_view name(ScaleUpKind kind) { return scale_up_names()[static_cast<std::size_t>(kind)]; }

const std::vector<std::string_view>& node_members() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> shape = keys(node_rows);
    shape.insert(shape.begin(), "accelerator");
    return shape;
  }();
  return all;
}

const std::vector<std::string_view>& network_members() {
  static const std::vector<std::string_view> all = keys(network_rows);
  return all;
}

JsonSchema node_shape() {
  return rows_shape(node_rows, {{"name", "a node of the catalogue, or what a new one is called", shape::text()},
                                {"accelerator", "an accelerator of the catalogue", shape::text()},
                                {"sources", "where the figures come from", sources_shape()}});
}
JsonSchema network_shape() { return rows_shape(network_rows, {}); }

NodeSpec read_node_spec(const Reader& r) {
  NodeSpec n;
  n.where = r.where();
  if (r.is_string()) {
    n.name = r.string();
    return n;
  }
  read_members(r, node_rows, n, {"name", "accelerator", "sources"});
  n.name = r.string_or("name", "");
  n.accelerator = r.string_or("accelerator", "");
  if (const auto list = r.find("sources")) add_sources(*list, n.sources);
  return n;
}

std::string to_json(const NodeSpec& n) {
  Json object = Json::object();
  if (!n.name.empty()) object["name"] = n.name;
  if (!n.accelerator.empty()) object["accelerator"] = n.accelerator;
  for (const auto& row : node_rows) row.write(n, row.key, object);
  return json_text(object);
}

void apply(const NodeSpec& spec, Node& n) {
  if (!spec.name.empty()) n.name = spec.name;
  const bool other_device = !spec.accelerator.empty() && spec.accelerator != n.accelerator;
  const bool other_kind = spec.scale_up && *spec.scale_up != n.scale_up;
  if (other_device) n.accelerator = spec.accelerator, n.pcie.clear();
  if (other_device || other_kind) n.scale_up_bandwidth = {};  // follows the accelerator or its slot
  if (other_kind && *spec.scale_up != ScaleUpKind::switched) n.scale_up_switch.clear();
  if (spec.nic) n.nic_bandwidth = {};  // follows the NIC unless stated
  for (const auto& row : node_rows) row.apply(spec, n);
  n.sources.insert(n.sources.end(), spec.sources.begin(), spec.sources.end());
}

void merge(const NodeSpec& said, NodeSpec& n) {
  if (!said.name.empty()) n.name = said.name;
  if (!said.accelerator.empty()) n.accelerator = said.accelerator;
  for (const auto& row : node_rows) row.merge(said, n);
  n.sources.insert(n.sources.end(), said.sources.begin(), said.sources.end());
}

NetworkSpec read_network_spec(const Reader& r) {
  NetworkSpec n;
  n.where = r.where();
  read_members(r, network_rows, n, {});
  return n;
}

std::string to_json(const NetworkSpec& n) {
  Json object = Json::object();
  for (const auto& row : network_rows) row.write(n, row.key, object);
  return json_text(object);
}

void apply(const NetworkSpec& spec, Network& n) {
  for (const auto& row : network_rows) row.apply(spec, n);
}

void merge(const NetworkSpec& said, NetworkSpec& n) {
  for (const auto& row : network_rows) row.merge(said, n);
}

}  // namespace meshwright::hardware
