#include "meshwright/capacity/economics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

constexpr double year = 31557600;

Term line(std::string name, double dollars, std::string formula, std::string source) {
  return {.name = std::move(name),
          .value = dollars,
          .unit = "$",
          .formula = std::move(formula),
          .source = std::move(source),
          .parts = {}};
}

Term sum_of(std::string name, std::vector<Term> parts) {
  Term term = line(std::move(name), 0, "", "");
  for (const Term& part : parts) term.value += part.value;
  term.parts = std::move(parts);
  return term;
}

struct Priced {
  double each = 0;
  std::string why;
};

Priced node_price(const Site& site, const Purchase& node, const Inputs& inputs) {
  if (inputs("prices.node") > 0) return {inputs("prices.node"), describe(inputs.row("prices.node"))};
  const double spread = inputs("prices.node_spread");
  if (node.each.value() > 0) return {node.each.value() * spread, node.note};
  if (site.accelerator_price.value() <= 0) return {};
  const double server = inputs("prices.server");
  return {site.accelerator_price.value() * site.per_host * server * spread,
          fmt::format("{} accelerators x {:.3g} for the server; {}", site.per_host, server, site.accelerator_note)};
}

Priced network_price(const Purchase& p, const Inputs& inputs) {
  const double factor = inputs("prices.network_spread") * (1 + inputs(network_premium));
  if (p.each.value() != 0) return {p.each.value() * factor, p.note};
  const auto by = [&](const char* input, double amount) {
    return Priced{amount * inputs(input) * factor, describe(inputs.row(input))};
  };
  switch (p.part) {
    case Purchase::Part::switch_:
      return by("prices.switch_capacity", p.gigabits);
    case Purchase::Part::nic:
      return by("prices.nic_capacity", p.gigabits);
    case Purchase::Part::optical_switch:
      return by("prices.optical_switch", 1);
    default:
      return by("prices.cable", 1);
  }
}

std::vector<Term> owned_cost(const Capex& bought, const Power& power, double hours_years, const Inputs& inputs) {
  const double factor =
      yearly_share(inputs("prices.depreciation") / year, inputs("prices.interest"), inputs("prices.residual")) *
      hours_years;
  std::vector<Term> parts;
  for (const Term& part : bought.terms.parts) {
    parts.push_back(
        line(part.name, part.value * factor,
             fmt::format("{} x {:.4g} for depreciation and interest", format(Dollars::base(part.value)), factor),
             part.source));
  }
  const double total = bought.terms.value;
  parts.push_back(line("maintenance", total * inputs("prices.maintenance") * hours_years,
                       "share of the purchase a year", describe(inputs.row("prices.maintenance"))));
  const double it_power = power.provisioned.value();
  parts.push_back(line("colocation", it_power * inputs("prices.colo") * hours_years * year, "provisioned IT power",
                       describe(inputs.row("prices.colo"))));
  parts.push_back(line("staff", it_power * 1e-6 * inputs("prices.staff") * hours_years * year,
                       "provisioned IT power in MW", describe(inputs.row("prices.staff"))));
  return parts;
}

}  // namespace

Capex capex(const Site& site, int spares, const Inputs& inputs) {
  Capex out;
  std::vector<Term> parts, network;
  for (const Purchase& p : site.purchases) {
    if (p.part == Purchase::Part::node) {
      const Priced price = node_price(site, p, inputs);
      if (price.each <= 0) out.unpriced.push_back(p.model);
      const std::string formula = fmt::format("{:.6g} x {}", p.count, format(Dollars::base(price.each)));
      parts.push_back(line("nodes", p.count * price.each, formula, price.why));
      if (spares > 0)
        parts.push_back(line("spare nodes", spares * price.each, fmt::format("{} hosts", spares), price.why));
      continue;
    }
    const Priced price = network_price(p, inputs);
    network.push_back(line(p.what, p.count * price.each,
                           fmt::format("{:.6g} x {}", p.count, format(Dollars::base(price.each))), price.why));
  }
  // A scale-up domain of several hosts comes with its rack.
  if (site.scale_up_hosts <= 1) {
    const double each = hosts_per_rack(site, inputs("prices.rack_power"), nameplate(site, inputs));
    const double racks = std::ceil((site.hosts + spares) / each - 1e-9);
    parts.push_back(line("racks", racks * inputs("prices.rack"),
                         fmt::format("{:.0f} racks of {:.0f} hosts", racks, each),
                         describe(inputs.row("prices.rack"))));
  }
  if (!network.empty()) parts.push_back(sum_of("network", std::move(network)));
  Term before = sum_of("purchase", parts);
  parts.push_back(line("spare parts", before.value * inputs("prices.spares"), "share of the purchase",
                       describe(inputs.row("prices.spares"))));
  out.terms = sum_of("purchase", std::move(parts));
  return out;
}

double yearly_share(double years, double interest, double residual) {
  if (interest <= 1e-9) return (1 - residual) / years;
  const double growth = std::pow(1 + interest, years);
  return interest / (1 - 1 / growth) - residual * interest / (growth - 1);
}

RunCost run_cost(const Site& site, const Capex& bought, const Power& power, const Usage& usage, const Inputs& inputs) {
  RunCost bill;
  const Joules used = power.running * usage.running + power.waiting * usage.waiting + power.idle * usage.idle;
  bill.energy = used * inputs("prices.pue");
  bill.carbon_kg = bill.energy.value() * inputs("prices.carbon");
  const double stated = inputs("prices.gpu_hour");
  const bool contract = inputs.row("prices.contract_factor").stated;
  bill.rented = stated > 0 || (site.rent.value() > 0 && (contract || !bought.priced()));
  std::vector<Term> parts;
  if (bill.rented) {
    const double factor = inputs("prices.contract_factor"), rate = stated > 0 ? stated : site.rent.value() * factor;
    const std::string why = contract ? fmt::format("{} x {:.3g}: {}", site.rent_note, factor,
                                                   describe(inputs.row("prices.contract_factor")))
                                     : site.rent_note;
    parts.push_back(
        line("rent", rate * usage.accelerators * usage.wall.value(),
             fmt::format("{:.4g} GPU-hours x {:.4g} $/h", usage.accelerators * usage.wall.value() / 3600, rate * 3600),
             stated > 0 ? describe(inputs.row("prices.gpu_hour")) : why));
  } else {
    parts = owned_cost(bought, power, usage.wall.value() / year / inputs("prices.utilisation"), inputs);
    parts.push_back(line("energy", bill.energy.value() * inputs("prices.energy"),
                         fmt::format("{:.4g} MWh at the meter", bill.energy.value() / 3.6e9),
                         describe(inputs.row("prices.energy"))));
  }
  bill.cost = sum_of("cost", std::move(parts));
  return bill;
}

}  // namespace meshwright::capacity
