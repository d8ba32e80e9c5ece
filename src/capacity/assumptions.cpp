// What a scenario or the command line states over the defaults.
#include <fmt/format.h>

#include "capacity/failures.hpp"
#include "capacity/fields.hpp"
#include "core/embedded.hpp"
#include "meshwright/capacity/estimate.hpp"
#include "meshwright/core/limits.hpp"

namespace meshwright::capacity {
namespace {

/// A whole number of hosts, or a share of the job's.
void take_spares(const Reader& r, RunAssumptions& a) {
  if (r.is_number() && r.number() >= 1) {
    a.spare_hosts = r.integer(1, largest_count);
    return;
  }
  if (r.is_number() && r.number() == 0) {
    a.spare_hosts = 0;
    return;
  }
  a.spare_hosts = -1;
  a.inputs.take_one(r, "failures.spares");
}

void read_failures(const Reader& r, RunAssumptions& a) {
  if (r.is_string()) {
    a.failures = failure_profile(r.string(), r.where());
    return;
  }
  if (const auto profile = r.find("profile")) a.failures = failure_profile(profile->string(), profile->where());
  if (r.has("node_rate") && r.has("node_mtbf")) r.fail("expected 'node_rate' or 'node_mtbf', found both");
  std::vector<std::string_view> others = {"profile",  "node_rate", "node_mtbf", "components",
                                          "recovery", "planned",   "spread",    "spares"};
  for (const RecoveryPart& part : recovery_parts) others.push_back(part.key);
  a.inputs.take(r, "failures", others);
  take_failure_profile(r, a.failures);
  if (const auto mtbf = r.find("node_mtbf")) a.failures.node_rate = Hertz::base(1 / read_time(*mtbf).value());
  for (const RecoveryPart& part : recovery_parts)
    a.failures.recovery.*part.field = r.quantity_or(part.key, a.failures.recovery.*part.field);
  if (const auto spares = r.find("spares")) take_spares(*spares, a);
}

/// A contract of data/capacity/contracts.json: what it costs over the rent on demand, and how often hosts are taken
/// away.
void take_contract(const Reader& r, RunAssumptions& a) {
  const std::string wanted = r.string();
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_capacity()) {
    const auto list = Reader::text(file.content, std::string(file.name)).find("contracts");
    if (!list) continue;
    for (const Reader& entry : list->items()) {
      names.push_back(entry.at("name").string());
      if (names.back() != wanted) continue;
      a.inputs.take_one(entry.at("factor"), "prices.contract_factor");
      a.inputs.take_one(entry.at("evictions"), "failures.evictions");
      return;
    }
  }
  r.fail(fmt::format("no contract '{}'{}", wanted, suggestion(wanted, names)));
}

/// The profile's own spread, where nothing else was stated of the factors.
void take_spreads(RunAssumptions& a) {
  if (!a.inputs.row("failures.rate_factor").stated)
    a.inputs.set_range("failures.rate_factor", a.failures.spread.p10, a.failures.spread.p90);
  if (!a.inputs.row("failures.recovery_factor").stated)
    a.inputs.set_range("failures.recovery_factor", a.failures.recovery.spread.p10, a.failures.recovery.spread.p90);
}

}  // namespace

RunAssumptions read_assumptions(const Reader& object, RunAssumptions a) {
  if (const auto prices = object.find("prices")) {
    a.inputs.take(*prices, "prices", {"contract"});
    if (const auto contract = prices->find("contract")) take_contract(*contract, a);
  }
  for (const char* group : {"power", "stragglers"}) {
    if (const auto member = object.find(group)) a.inputs.take(*member, group);
  }
  if (const auto failures = object.find("failures")) {
    read_failures(*failures, a);
    take_spreads(a);
  }
  if (const auto checkpoint = object.find("checkpoint"))
    a.checkpoint = read_checkpoint_choice(*checkpoint, a.inputs, a.checkpoint);
  return a;
}

}  // namespace meshwright::capacity
