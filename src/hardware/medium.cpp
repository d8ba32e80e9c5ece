#include "meshwright/hardware/medium.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright {
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
  const std::vector<std::string> names = {"measured", "calibrated", "extrapolated", "data_sheet"};
  return static_cast<Evidence>(member->one_of(names));
}

void read_medium(const Reader& r, Medium& m) {
  r.allow_only({"name", "base", "ll", "ll128", "simple", "tree_efficiency", "in_switch", "in_switch_least_ranks",
                "all_to_all_base", "all_to_all", "all_to_all_congestion", "point_to_point", "in_step", "evidence",
                "source"});
  m.name = r.at("name").string();
  m.base = r.quantity_or("base", m.base);
  read_rate(r, "ll", m.ring[0]);
  read_rate(r, "ll128", m.ring[1]);
  read_rate(r, "simple", m.ring[2]);
  m.tree_efficiency = fraction(r, "tree_efficiency", m.tree_efficiency, 4);
  read_rate(r, "in_switch", m.in_switch);
  m.in_switch_least_ranks = r.integer_or("in_switch_least_ranks", m.in_switch_least_ranks, 2, 1024);
  m.all_to_all_base = r.quantity_or("all_to_all_base", m.all_to_all_base);
  read_rate(r, "all_to_all", m.all_to_all);
  m.all_to_all_congestion = fraction(r, "all_to_all_congestion", m.all_to_all_congestion, 10);
  read_rate(r, "point_to_point", m.point_to_point);
  m.in_step = fraction(r, "in_step", m.in_step, 4);
  m.evidence = read_evidence(r, m.evidence);
  m.source = r.string_or("source", m.source);
}

Json rate_json(const Rate& rate) {
  return {{"step", fmt::format("{:.4g} us", rate.step.value() * 1e6)},
          {"efficiency", std::round(rate.efficiency * 1e4) / 1e4},
          {"ramp", fmt::format("{:.4g} us", rate.ramp.value() * 1e6)}};
}

}  // namespace

std::vector<Medium> read_media(const Reader& document, const std::vector<Medium>& base) {
  document.allow_only({"description", "sources", "media"});
  std::vector<Medium> media = base;
  for (const Reader& item : document.at("media").items()) {
    const std::string name = item.at("name").string();
    auto found = std::ranges::find(media, name, &Medium::name);
    if (found == media.end()) found = media.insert(media.end(), Medium{});
    read_medium(item, *found);
  }
  return media;
}

const std::vector<Medium>& builtin_media() {
  static const std::vector<Medium> media = [] {
    std::vector<Medium> read;
    for (const EmbeddedFile& file : embedded_platforms()) {
      read = read_media(Reader::text(file.content, "data/hardware/platforms/" + std::string(file.name)), read);
    }
    return read;
  }();
  return media;
}

std::string to_json(const std::vector<Medium>& media, std::string_view description) {
  Json list = Json::array();
  for (const Medium& m : media) {
    Json item = {{"name", m.name}, {"base", fmt::format("{:.4g} us", m.base.value() * 1e6)}};
    constexpr std::array<const char*, protocol_count> keys = {"ll", "ll128", "simple"};
    for (std::size_t i = 0; i < protocol_count; ++i) {
      if (m.ring[i].efficiency > 0) item[keys[i]] = rate_json(m.ring[i]);
    }
    item["tree_efficiency"] = std::round(m.tree_efficiency * 1e4) / 1e4;
    if (m.in_switch.efficiency > 0) {
      item["in_switch"] = rate_json(m.in_switch);
      item["in_switch_least_ranks"] = m.in_switch_least_ranks;
    }
    item["all_to_all_base"] = fmt::format("{:.4g} us", m.all_to_all_base.value() * 1e6);
    item["all_to_all"] = rate_json(m.all_to_all);
    if (m.all_to_all_congestion > 0) item["all_to_all_congestion"] = std::round(m.all_to_all_congestion * 1e4) / 1e4;
    item["point_to_point"] = rate_json(m.point_to_point);
    if (m.in_step != 1) item["in_step"] = std::round(m.in_step * 1e4) / 1e4;
    constexpr std::array<const char*, 4> evidence = {"measured", "calibrated", "extrapolated", "data_sheet"};
    item["evidence"] = evidence[static_cast<std::size_t>(m.evidence)];
    item["source"] = m.source;
    list.push_back(item);
  }
  return Json{{"description", description}, {"media", list}}.dump(2) + "\n";
}

}  // namespace meshwright
