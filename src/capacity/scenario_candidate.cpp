// Candidates: what they vary, and the cluster of a job file that each stands for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "capacity/fields.hpp"
#include "capacity/places.hpp"
#include "capacity/scenario_members.hpp"
#include "meshwright/capacity/congestion.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/members.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

bool among(std::span<const std::string_view> names, std::string_view key) {
  return std::ranges::find(names, key) != names.end();
}

/// Members of the node and of the network that a candidate may state flat, beside its own.
bool of_node(std::string_view key) { return among(members_of_node(), key); }
bool of_network(std::string_view key) { return among(members_of_network(), key); }

/// What a candidate may hold, as it is written or after its variations are filled in.
std::vector<std::string_view> all_members() { return keys_of(candidate_members()); }

bool can_vary(std::string_view key) {
  return among(all_members(), key) && key != "name" && key != "vary" && key != "description";
}

std::string nearest_member(std::string_view key) {
  std::vector<std::string> names;
  for (const std::string_view member : all_members()) names.emplace_back(member);
  return suggestion(key, names);
}

/// {"from", "to", "step" or "factor"}.
std::vector<std::string> read_range(const Reader& r) {
  r.allow_only({"from", "to", "step", "factor"});
  const double from = r.at("from").number(), to = r.at("to").number();
  const double factor = r.number_or("factor", 0), step = r.number_or("step", 0);
  if ((factor > 1) == (step > 0)) r.fail("expected 'step' above zero or 'factor' above one");
  if (!(to >= from) || (factor > 1 && from <= 0)) r.fail("expected 'from' up to 'to'");
  const double count =
      factor > 1 ? std::floor(std::log(to / from) / std::log(factor) + 1e-9) : std::floor((to - from) / step + 1e-9);
  if (!(count < static_cast<double>(most_points)))
    r.fail(fmt::format("it has {:g} values, expected at most {}", count + 1, most_points));
  std::vector<std::string> values;
  for (int i = 0; i <= static_cast<int>(count); ++i)
    values.push_back(json(factor > 1 ? from * std::pow(factor, i) : from + step * i).dump());
  return values;
}

/// "128.0" -> "128": counts are whole numbers.
std::string plain_number(const std::string& text) {
  const json value = json::parse(text);
  if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>() &&
      std::abs(value.get<double>()) < 1e15)
    return std::to_string(static_cast<long long>(value.get<double>()));
  return text;
}

Varied read_varied(const std::string& key, const Reader& r) {
  Varied varied{.key = key, .values = {}};
  if (!can_vary(key)) r.fail(fmt::format("no member '{}' of a candidate can vary{}", key, nearest_member(key)));
  if (r.is_object()) {
    varied.values = read_range(r);
    for (std::string& value : varied.values) value = plain_number(value);
  } else {
    for (const Reader& item : r.items()) varied.values.push_back(item.dump());
  }
  if (varied.values.empty()) r.fail("expected at least one value");
  return varied;
}

std::string shown(const std::string& value) {
  const json parsed = json::parse(value);
  return parsed.is_string() ? parsed.get<std::string>() : value;
}

/// Pointers in what cluster_of() makes, and the members that they come from.
std::vector<std::pair<std::string, std::string>> places_of(const json& object) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const auto& [key, value] : object.items()) {
    if (of_node(key)) places.emplace_back("/cluster/node/" + key, "/" + key);
    if (of_network(key)) places.emplace_back("/cluster/network/" + key, "/" + key);
  }
  if (object.at("cluster").is_string()) {
    for (const char* part : {"node", "network"})
      places.emplace_back(std::string("/cluster/") + part, std::string("/") + part);
    places.emplace_back("/cluster/of", "/cluster");
  }
  return places;
}

/// "cluster", "nodes" and "gpus" of a job file: flat fields moved to where they belong.
json cluster_of(const Reader& r, const json& object) {
  for (const char* part : {"node", "network"}) {
    if (r.has(part) && !r.at(part).is_object()) r.at(part).fail("expected an object of fields to change");
  }
  json node = r.has("node") ? object["node"] : json::object(),
       network = r.has("network") ? object["network"] : json::object();
  for (const auto& [key, value] : object.items()) {
    if (of_node(key)) node[key] = value;
    if (of_network(key)) network[key] = key == "oversubscription" && value.is_number() ? json::array({value}) : value;
  }
  if (const auto profile = r.find("congestion")) {
    if (network.contains("routing")) profile->fail("expected 'congestion' or 'routing', found both");
    network["routing"] = congestion_profile(profile->string(), profile->where()).routing;
  }
  const json& cluster = object.at("cluster");
  json out = json::object();
  if (node.empty() && network.empty()) {
    out["cluster"] = cluster;
  } else if (cluster.is_string()) {
    out["cluster"] = {{"of", cluster}};
    if (!node.empty()) out["cluster"]["node"] = node;
    if (!network.empty()) out["cluster"]["network"] = network;
  } else {
    out["cluster"] = cluster;
    if (!node.empty()) r.fail("expected changes of the node inside 'cluster', which is an object");
    if (!network.empty()) r.fail("expected changes of the network inside 'cluster', which is an object");
  }
  for (const char* key : {"nodes", "gpus"}) {
    if (object.contains(key)) out[key] = object[key];
  }
  return out;
}

void read_size(const Reader& r, Candidate& candidate) {
  r.allow_only({"capex", "power"});
  if (r.has("capex") == r.has("power")) r.fail("expected 'capex' or 'power'");
  candidate.for_capex = r.quantity_or("capex", Dollars{});
  candidate.for_power = r.quantity_or("power", Watts{});
}

}  // namespace

std::uint64_t CandidateRow::count() const {
  std::uint64_t product = 1;
  for (const Varied& varied : vary) product = std::min<std::uint64_t>(most_points + 1, product * varied.values.size());
  return product;
}

std::uint64_t Scenario::candidate_count() const {
  std::uint64_t sum = 0;
  for (const CandidateRow& row : candidates) sum += row.count();
  return sum;
}

CandidateRow read_candidate_row(const Reader& r) {
  r.allow_only(all_members());
  CandidateRow row;
  row.where = r.where();
  if (const auto vary = r.find("vary")) {
    for (const std::string& key : vary->keys()) row.vary.push_back(read_varied(key, vary->at(key)));
  }
  json object = json::parse(r.dump());
  object.erase("vary");
  row.object = object.dump();
  return row;
}

namespace {

/// The candidate's object with what it varies filled in, and its name.
struct Filled {
  json object;
  std::string name, where;
  std::vector<std::string> varied;
};

Filled filled(const Scenario& scenario, std::uint64_t index) {
  const auto at = std::ranges::find_if(scenario.candidates, [&](const CandidateRow& row) {
    const bool here = index < row.count();
    if (!here) index -= row.count();
    return here;
  });
  if (at == scenario.candidates.end()) throw std::out_of_range("no such candidate");
  Filled out{json::parse(at->object), "", at->where, {}};
  std::string suffix;
  for (auto varied = at->vary.rbegin(); varied != at->vary.rend(); ++varied) {
    const std::string& value = varied->values[index % varied->values.size()];
    index /= varied->values.size();
    out.object[varied->key] = json::parse(value);
    out.varied.push_back(varied->key);
    suffix = fmt::format(" {}={}", varied->key, shown(value)) + suffix;
  }
  out.name = out.object.value("name", "") + suffix;
  return out;
}

Candidate parsed_candidate(const Scenario& scenario, const Filled& from) {
  const Reader r = Reader::text(from.object.dump(), from.where);
  Candidate candidate;
  candidate.where = from.where;
  candidate.name = from.name;
  candidate.assumptions = read_assumptions(r, scenario.assumptions);
  if (const auto premium = r.find("price_premium")) candidate.assumptions.inputs.take_one(*premium, network_premium);
  for (const auto& [key, field] :
       {std::pair{"power_cap", &Candidate::power_cap}, {"site_power", &Candidate::power_limit}}) {
    const auto power = r.find(key);
    if (!power) continue;
    candidate.*field = power->quantity<Watts::dimension>();
    if (!(candidate.*field > Watts{})) power->fail("expected a power above zero");
  }
  if (const auto size = r.find("size")) read_size(*size, candidate);
  const int counts = (r.has("nodes") ? 1 : 0) + (r.has("gpus") ? 1 : 0) + (r.has("size") ? 1 : 0);
  if (counts > 1) r.fail("expected one of 'nodes', 'gpus' and 'size'");
  r.at("cluster");
  candidate.cluster = cluster_of(r, from.object).dump();
  candidate.places = places_of(from.object);
  for (const std::string& key : from.varied) candidate.places.emplace_back("/" + key, "/vary/" + key);
  return candidate;
}

Candidate read_candidate(const Scenario& scenario, const Filled& from) {
  return in_place(from.where, [&] { return parsed_candidate(scenario, from); });
}

bool within(const std::string& pointer, const std::string& place) {
  return pointer.starts_with(place) && (pointer.size() == place.size() || pointer[place.size()] == '/');
}

}  // namespace

std::string Candidate::place(const std::string& pointer) const {
  std::string written = pointer;
  for (const auto& [from, to] : places) {
    if (within(written, from)) written = to + written.substr(from.size());
  }
  return where + written;
}

Candidate Scenario::candidate(std::uint64_t index) const { return read_candidate(*this, filled(*this, index)); }

Candidate Scenario::candidate(std::uint64_t index, const std::string& wanted, const std::string& value) const {
  Filled out = filled(*this, index);
  std::string key = wanted;
  if (out.object.contains("cluster") && out.object["cluster"].is_object()) {
    // A cluster that is described in place has its fields inside.
    if (of_node(wanted)) key = "cluster.node." + wanted;
    if (of_network(wanted)) key = "cluster.network." + wanted;
  }
  if (const std::string first = wanted.substr(0, wanted.find('.')); !can_vary(first))
    throw Error(out.where, fmt::format("no member '{}' of a candidate can vary{}", wanted, nearest_member(first)));
  if (key == "nodes" || key == "gpus") {
    for (const char* size : {"nodes", "gpus", "size"}) out.object.erase(size);
  }
  json* place = &out.object;
  for (std::size_t begin = 0, dot = 0; dot != std::string::npos; begin = dot + 1) {
    dot = key.find('.', begin);
    if (!place->is_object() && !place->is_null())
      throw Error(out.where, fmt::format("'{}' leads into something that is no object", key));
    place = &(*place)[key.substr(begin, dot == std::string::npos ? dot : dot - begin)];
  }
  *place = json::parse(value);
  out.name += fmt::format(" {}={}", wanted, shown(value));
  return read_candidate(*this, out);
}

std::optional<std::uint64_t> Scenario::find_candidate(std::string_view wanted) const {
  for (std::uint64_t i = 0, total = candidate_count(); i < total; ++i) {
    if (filled(*this, i).name == wanted) return i;
  }
  return {};
}

}  // namespace meshwright::capacity
