#include "meshwright/hardware/medium.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::hardware {
namespace {

using Json = nlohmann::ordered_json;

double fraction(const Reader& object, std::string_view key, double fallback, double most) {
  const auto member = object.find(key);
  if (!member) return fallback;
  const double value = member->number();
  if (value < 0 || value > most) member->fail(fmt::format("found {}, expected 0 to {}", value, most));
  return value;
}

/// An efficiency may exceed 1 a little: a level's nominal bandwidth can understate its links.
void read_rate(const Reader& medium, std::string_view key, Rate& rate) {
  const auto object = medium.find(key);
  if (!object) return;
  object->allow_only({"step", "efficiency", "ramp"});
  rate.step = object->quantity_or("step", rate.step);
  rate.efficiency = fraction(*object, "efficiency", rate.efficiency, 4);
  rate.ramp = object->quantity_or("ramp", rate.ramp);
}

Evidence read_evidence(const Reader& object, Evidence fallback) {
  const auto member = object.find("evidence");
  if (!member) return fallback;
  const std::vector<std::string> names(evidence_names.begin(), evidence_names.end());
  return static_cast<Evidence>(member->one_of(names));
}

void read_exchange(const Reader& r, Exchange& e) {
  r.allow_only({"base", "ll", "fence", "simple", "congestion"});
  e.base = r.quantity_or("base", e.base);
  read_rate(r, "ll", e.ll);
  e.fence = r.quantity_or("fence", e.fence);
  read_rate(r, "simple", e.simple);
  e.congestion = fraction(r, "congestion", e.congestion, 10);
}

void read_medium(const Reader& r, Medium& m) {
  r.allow_only({"name", "base", "ll", "ll128", "simple", "tree_efficiency", "in_switch", "in_switch_least_ranks",
                "in_switch_channels", "local_copy", "crowding", "all_to_all", "point_to_point", "in_step", "evidence",
                "source"});
  m.name = r.at("name").string();
  m.base = r.quantity_or("base", m.base);
  read_rate(r, "ll", m.ring[0]);
  read_rate(r, "ll128", m.ring[1]);
  read_rate(r, "simple", m.ring[2]);
  m.tree_efficiency = fraction(r, "tree_efficiency", m.tree_efficiency, 4);
  read_rate(r, "in_switch", m.in_switch);
  m.in_switch_least_ranks = r.integer_or("in_switch_least_ranks", m.in_switch_least_ranks, 2, 1024);
  m.in_switch_channels = r.integer_or("in_switch_channels", m.in_switch_channels, 0, 128);
  m.local_copy = r.quantity_or("local_copy", m.local_copy);
  m.crowding = fraction(r, "crowding", m.crowding, 10);
  if (const auto exchange = r.find("all_to_all")) read_exchange(*exchange, m.all_to_all);
  read_rate(r, "point_to_point", m.point_to_point);
  m.in_step = fraction(r, "in_step", m.in_step, 4);
  m.evidence = read_evidence(r, m.evidence);
  m.source = r.string_or("source", m.source);
}

std::string microseconds(Seconds t) { return fmt::format("{:.4g} us", t.value() * 1e6); }
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

Json rate_json(const Rate& rate) {
  return {
      {"step", microseconds(rate.step)}, {"efficiency", rounded(rate.efficiency)}, {"ramp", microseconds(rate.ramp)}};
}

Json exchange_json(const Exchange& e) {
  Json item = {{"base", microseconds(e.base)}};
  if (e.ll.efficiency > 0) item["ll"] = rate_json(e.ll);
  item["fence"] = microseconds(e.fence);
  item["simple"] = rate_json(e.simple);
  if (e.congestion > 0) item["congestion"] = rounded(e.congestion);
  return item;
}

Json medium_json(const Medium& m) {
  constexpr std::array<const char*, protocol_count> keys = {"ll", "ll128", "simple"};
  Json item = {{"name", m.name}, {"base", microseconds(m.base)}};
  for (std::size_t i = 0; i < protocol_count; ++i) {
    if (m.ring[i].efficiency > 0) item[keys[i]] = rate_json(m.ring[i]);
  }
  item["tree_efficiency"] = rounded(m.tree_efficiency);
  if (m.in_switch.efficiency > 0) {
    item["in_switch"] = rate_json(m.in_switch);
    item["in_switch_least_ranks"] = m.in_switch_least_ranks;
    if (m.in_switch_channels > 0) item["in_switch_channels"] = m.in_switch_channels;
  }
  if (m.local_copy.value() > 0) item["local_copy"] = fmt::format("{:.4g} GB/s", m.local_copy.value() * 1e-9);
  if (m.crowding > 0) item["crowding"] = rounded(m.crowding);
  item["all_to_all"] = exchange_json(m.all_to_all);
  item["point_to_point"] = rate_json(m.point_to_point);
  if (m.in_step != 1) item["in_step"] = rounded(m.in_step);
  item["evidence"] = name(m.evidence);
  item["source"] = m.source;
  return item;
}

}  // namespace

double in_switch_rounds(double bytes, double lanes) noexcept {
  struct Chunk {
    double bytes, fewest_rounds;
  };
  constexpr double half_way = 1.41421356;
  constexpr Chunk chunks[] = {{16384, 0}, {32768, 2 * half_way}, {65536, 8 * half_way}, {131072, 64 * half_way}};
  double rounds = INFINITY;
  for (const Chunk& c : chunks) {
    const double whole = bytes / (lanes * c.bytes);
    rounds = std::min(rounds, std::cbrt(std::pow(whole, 3) + std::pow(c.fewest_rounds, 3)));  // a rounded maximum
  }
  return rounds;
}

std::vector<Medium> read_media(const Reader& document, const std::vector<Medium>& base) {
  document.allow_only({"description", "sources", "media", "devices", "frameworks", "fit"});
  std::vector<Medium> media = base;
  for (const Reader& item : document.at("media").items()) {
    const std::string name = item.at("name").string();
    auto found = std::ranges::find(media, name, &Medium::name);
    if (found == media.end()) found = media.insert(media.end(), Medium{});
    read_medium(item, *found);
  }
  return media;
}

std::string to_json(const std::vector<Medium>& media, std::string_view description) {
  Json list = Json::array();
  for (const Medium& m : media) list.push_back(medium_json(m));
  return json_text(Json{{"description", description}, {"media", list}}, 1) + "\n";
}

}  // namespace meshwright::hardware
