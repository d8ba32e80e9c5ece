#include "meshwright/parallel/spread.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/json_text.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::parallel {
namespace {

using Json = nlohmann::ordered_json;

constexpr int longest_context_of_most = 32768;  ///< tokens: longer ones are trained by other means

struct Member {
  const char* name;
  double TraitSpread::*value;
};
constexpr std::array members = {Member{"total", &TraitSpread::total}, Member{"own", &TraitSpread::own},
                                Member{"shared", &TraitSpread::shared}, Member{"stretch", &TraitSpread::stretch},
                                Member{"memory", &TraitSpread::memory}};

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

Tails read_tails(const Reader& pair) {
  const std::vector<Reader> both = pair.items();
  if (both.size() != 2) pair.fail("expected two numbers, where 10 % and 90 % lie");
  return {both[0].number(), both[1].number()};
}

std::vector<std::string> read_names(const Reader& list) {
  std::vector<std::string> names;
  for (const Reader& item : list.items()) names.push_back(item.string());
  return names;
}

std::map<std::string, double> fitted_errors() {
  std::map<std::string, double> errors;
  const Reader fit = Reader::text(embedded_fitted().front().content, "data/fitted/runs.json").at("fit");
  for (const Reader& p : fit.at("parameters").items()) {
    double& error = errors[p.at("of").string() + " " + p.at("field").string()];  // of the release that is known least
    error = std::max(error, p.at("log_error").number());
  }
  return errors;
}

bool listed(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

double Spread::of(std::string_view field) const {
  const auto row = std::ranges::find(figures, field, &FigureSpread::field);
  return row != figures.end() ? row->spread : run_field(field).spread;
}

double Spread::sum(const Traits& held, double TraitSpread::*member) const {
  double squares = 0;
  for (std::size_t t = 0; t < trait_count; ++t) {
    if (held[t]) squares += std::pow(traits[t].*member, 2);
  }
  return std::sqrt(squares);
}

Spread read_spread(const Reader& document) {
  document.allow_only({"description", "figures", "traits", "tails", "memory_common", "likeness", "devices", "stacks"});
  Spread spread;
  const Reader figures = document.at("figures"), traits = document.at("traits"), tails = document.at("tails");
  for (const std::string& field : figures.keys()) spread.figures.push_back({field, figures.at(field).number()});
  for (std::size_t t = 0; t < trait_count; ++t) {
    const auto row = traits.find(trait_names[t]);
    if (!row) continue;
    for (const Member& m : members) spread.traits[t].*m.value = row->at(m.name).number();
  }
  spread.without_own_runs = read_tails(tails.at("without_own_runs"));
  spread.with_own_runs = read_tails(tails.at("with_own_runs"));
  spread.of_memory = read_tails(tails.at("of_memory"));
  spread.memory_common = document.at("memory_common").number();
  if (const auto likeness = document.find("likeness")) spread.likeness = read_likeness(*likeness);
  spread.devices = read_names(document.at("devices"));
  spread.stacks = read_names(document.at("stacks"));
  return spread;
}

std::string to_json(const Spread& spread, std::string_view description) {
  Json document = {{"description", description}, {"figures", Json::object()}, {"traits", Json::object()}};
  for (const FigureSpread& row : spread.figures) document["figures"][row.field] = rounded(row.spread);
  for (std::size_t t = 0; t < trait_count; ++t) {
    Json& row = document["traits"][std::string(trait_names[t])];
    for (const Member& m : members) row[m.name] = rounded(spread.traits[t].*m.value);
  }
  const auto pair = [](const Tails& t) { return Json{rounded(t.low), rounded(t.high)}; };
  document["tails"] = {{"without_own_runs", pair(spread.without_own_runs)},
                       {"with_own_runs", pair(spread.with_own_runs)},
                       {"of_memory", pair(spread.of_memory)}};
  document["memory_common"] = rounded(spread.memory_common);
  Json apart = Json::object();
  for (std::size_t i = 0; i < place_features; ++i)
    apart[std::string(place_feature(i))] = rounded(spread.likeness.apart[i]);
  document["likeness"] = {
      {"alone", rounded(spread.likeness.alone)}, {"common", rounded(spread.likeness.common)}, {"apart", apart}};
  document["devices"] = spread.devices;
  document["stacks"] = spread.stacks;
  return json_text(document, 1) + "\n";
}

const Spread& published_spread() {
  static const Spread spread = [] {
    Spread read = read_spread(Reader::text(embedded_spread().front().content, "data/fitted/spread.json"));
    read.errors = fitted_errors();
    return read;
  }();
  return spread;
}

Traits traits_of(const Job& job, const Spread& spread) {
  Traits held{};
  const auto set = [&](Trait t, bool value) { held[static_cast<std::size_t>(t)] = value; };
  set(Trait::any, true);
  set(Trait::experts, job.model.is_moe());
  set(Trait::adapters, job.recipe.trainable.kind == TrainableKind::lora);
  set(Trait::long_context, job.seq_len > longest_context_of_most);
  // A stack that no profile knows is new to the fit too: its band is never narrower than a new one's.
  set(Trait::unknown_stack, job.framework.defaults.any_stack);
  set(Trait::new_stack, job.framework.defaults.any_stack || !listed(spread.stacks, job.framework.name));
  set(Trait::new_device, !listed(spread.devices, job.cluster.accelerator.name));
  return held;
}

}  // namespace meshwright::parallel
