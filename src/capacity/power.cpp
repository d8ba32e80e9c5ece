#include "meshwright/capacity/power.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capacity/fields.hpp"
#include "core/embedded.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

PowerCurve read_curve(const Reader& r) {
  r.allow_only({"name", "accelerators", "title", "points", "notes", "sources"});
  PowerCurve curve;
  curve.name = r.at("name").string();
  curve.title = r.at("title").string();
  for (const Reader& name : r.at("accelerators").items()) curve.accelerators.push_back(name.string());
  for (const Reader& point : r.at("points").items()) {
    const std::vector<Reader> pair = point.items();
    if (pair.size() != 2) point.fail("expected [cap over draw, rate]");
    curve.points.push_back({read_number(pair[0], 0.01, 10), read_number(pair[1], 0.01, 1)});
    if (curve.points.size() < 2) continue;
    const PowerCurve::Point &before = curve.points[curve.points.size() - 2], &here = curve.points.back();
    if (!(before.cap < here.cap && before.rate <= here.rate)) point.fail("expected points that rise");
  }
  if (curve.points.size() < 2) r.at("points").fail("expected at least two points");
  for (const Reader& source : r.at("sources").items()) curve.sources.push_back(read_provenance(source));
  return curve;
}

const PowerCurve* own_curve(std::string_view accelerator) {
  for (const PowerCurve& curve : power_curves()) {
    if (std::ranges::find(curve.accelerators, accelerator) != curve.accelerators.end()) return &curve;
  }
  return nullptr;
}

/// Watts by part, of hosts without spares.
struct Parts {
  double accelerators = 0, rest = 0;  ///< of one host
  double spare = 0;                   ///< of one spare host
  double network = 0;
};

/// `cap`: of an accelerator, zero = none.
Parts parts_of(const Site& site, double compute, double cap, const Inputs& inputs) {
  const double tdp = site.tdp.value();
  const auto draw = [&](const char* input) {
    const double usual = tdp * inputs(input);
    return cap > 0 ? std::min(cap, usual) : usual;
  };
  Parts p;
  p.accelerators = site.per_host * (compute * draw("power.compute") + (1 - compute) * draw("power.waiting"));
  p.rest = (nameplate(site, inputs) - site.per_host * tdp) * inputs("power.host");
  p.spare = site.per_host * draw("power.idle") + p.rest;
  for (const Purchase& line : site.purchases) {
    if (line.part != Purchase::Part::node) p.network += line.power.value() * line.count;
  }
  return p;
}

/// A cap that does nothing is none.
double binding_cap(const Site& site, int spares, const Inputs& inputs) {
  return std::max(0.0, accelerator_cap(site, spares, inputs).value());
}

Term watts(std::string name, double value, std::string formula, std::string source) {
  return {.name = std::move(name),
          .value = value,
          .unit = "W",
          .formula = std::move(formula),
          .source = std::move(source),
          .parts = {}};
}

}  // namespace

double PowerCurve::rate(double cap) const {
  const auto above = std::ranges::find_if(points, [&](const Point& p) { return p.cap >= cap; });
  if (above == points.end()) return points.back().rate;
  if (above == points.begin()) return above->rate * std::max(0.0, cap) / above->cap;
  const Point& below = *(above - 1);
  return below.rate + (above->rate - below.rate) * (cap - below.cap) / (above->cap - below.cap);
}

const std::vector<PowerCurve>& power_curves() {
  static const std::vector<PowerCurve> curves = [] {
    std::vector<PowerCurve> read;
    for (const EmbeddedFile& file : embedded_capacity()) {
      const auto list = Reader::text(file.content, std::string(file.name)).find("power_curves");
      if (!list) continue;
      for (const Reader& entry : list->items()) read.push_back(read_curve(entry));
    }
    return read;
  }();
  return curves;
}

double measured_rate(std::string_view accelerator, double cap) {
  if (const PowerCurve* own = own_curve(accelerator)) return own->rate(cap);
  double sum = 0;
  for (const PowerCurve& curve : power_curves()) sum += curve.rate(cap);
  return sum / static_cast<double>(power_curves().size());
}

double nameplate(const Site& site, const Inputs& inputs) {
  const double accelerators = site.tdp.value() * site.per_host;
  return site.node_power.value() > 0 ? std::max(site.node_power.value(), accelerators)
                                     : accelerators * inputs("power.nameplate");
}

Watts accelerator_cap(const Site& site, int spares, const Inputs& inputs) {
  if (site.power_limit.value() <= 0) return site.power_cap;
  // All accelerators compute at once: what a breaker sees, whatever the mean over a step.
  const Parts free = parts_of(site, 1, 0, inputs);
  const double hosts = std::max(1e-9, site.hosts);
  const double left = site.power_limit.value() / inputs("prices.pue") - free.network - spares * free.spare;
  const double each = (left / hosts - free.rest) / site.per_host;
  const double stated = site.power_cap.value();
  if (each <= 0) return Watts::base(-1);
  return Watts::base(stated > 0 ? std::min(stated, each) : each);
}

bool is_fed(const Site& site, int spares, const Inputs& inputs) {
  const double cap = accelerator_cap(site, spares, inputs).value();
  return site.power_limit.value() <= 0 || cap > site.tdp.value() * inputs("power.idle");
}

double capped_rate(const Site& site, int spares, const Inputs& inputs) {
  const double draw = site.tdp.value() * inputs("power.compute"), cap = binding_cap(site, spares, inputs);
  if (cap <= 0 || draw <= 0) return 1;
  return std::pow(measured_rate(site.accelerator, cap / draw), inputs("power.cap_loss"));
}

Power site_power(const Site& site, double compute, int spares, const Inputs& inputs) {
  const double cap = binding_cap(site, spares, inputs), tdp = site.tdp.value();
  const Parts busy = parts_of(site, compute, cap, inputs), waits = parts_of(site, 0, cap, inputs);
  const double fixed = spares * busy.spare + busy.network;
  const auto all = [&](double host) { return Watts::base(site.hosts * host + fixed); };
  const double saved = cap > 0 && cap < tdp ? site.per_host * (tdp - cap) : 0;
  const double connected = (nameplate(site, inputs) - saved) * inputs("power.provisioned");
  return {.running = all(busy.accelerators + busy.rest),
          .waiting = all(waits.accelerators + waits.rest),
          .idle = all(busy.spare),
          .provisioned = Watts::base((site.hosts + spares) * connected + busy.network)};
}

Term power_terms(const Site& site, double compute, int spares, const Inputs& inputs) {
  const double cap = binding_cap(site, spares, inputs);
  const Parts p = parts_of(site, compute, cap, inputs);
  const std::string capped = cap > 0 ? fmt::format(", at most {}", format(Watts::base(cap))) : "";
  Term all = watts("power", 0, "", "");
  all.parts = {
      watts("accelerators", site.hosts * p.accelerators,
            fmt::format("{:.6g} x {} x ({:.3g} computing, {:.3g} waiting){}", site.hosts * site.per_host,
                        format(site.tdp), compute * inputs("power.compute"), (1 - compute) * inputs("power.waiting"),
                        capped),
            describe(inputs.row("power.compute"))),
      watts("rest of the hosts", site.hosts * p.rest,
            fmt::format("{:.6g} x ({} nameplate - accelerators) x {:.3g}", site.hosts,
                        format(Watts::base(nameplate(site, inputs))), inputs("power.host")),
            describe(inputs.row("power.host"))),
      watts("spare hosts", spares * p.spare, fmt::format("{} idle", spares), describe(inputs.row("power.idle"))),
      watts("network", p.network, "rated power of switches, optics and cables", "hardware database")};
  double it = 0;
  for (const Term& part : all.parts) it += part.value;
  all.parts.push_back(watts("cooling and distribution", it * (inputs("prices.pue") - 1), "IT power x (PUE - 1)",
                            describe(inputs.row("prices.pue"))));
  for (const Term& part : all.parts) all.value += part.value;
  return all;
}

}  // namespace meshwright::capacity
