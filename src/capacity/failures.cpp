#include "meshwright/capacity/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "capacity/failures.hpp"

#include "capacity/fields.hpp"
#include "core/embedded.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

Spread read_spread(const Reader& r) {
  const std::vector<Reader> ends = r.items();
  if (ends.size() != 2) r.fail("expected [tenth percentile, ninetieth percentile] over the central value");
  return {read_number(ends[0], 1e-3, 1), read_number(ends[1], 1, 1e3)};
}

/// "rate", or "events" of "units" in "time".
Hertz read_rate(const Reader& r) {
  if (const auto rate = r.find("rate")) return rate->quantity<Hertz::dimension>();
  const double events = read_number(r.at("events"), 0, 1e12), units = read_number(r.at("units"), 1, 1e12);
  return Hertz::base(events / units / read_time(r.at("time")).value());
}

FailureUnit read_unit(const Reader& r) {
  static const std::vector<std::string> names(unit_names.begin(), unit_names.end());
  return static_cast<FailureUnit>(r.one_of(names));
}

Component read_component(const Reader& r) {
  r.allow_only({"name", "per", "rate", "events", "units", "time", "hardware", "stops", "store_only", "repair", "notes",
                "source"});
  Component c;
  c.name = r.at("name").string();
  c.per = read_unit(r.at("per"));
  c.rate = read_rate(r);
  c.hardware = r.boolean_or("hardware", true);
  c.stops = r.boolean_or("stops", true);
  c.store_only = r.boolean_or("store_only", false);
  c.repair = r.quantity_or("repair", Seconds{});
  c.source = r.string_or("source", "");
  return c;
}

void take_recovery(const Reader& r, Recovery& recovery) {
  std::vector<std::string_view> known;
  for (const RecoveryPart& part : recovery_parts) known.push_back(part.key);
  known.insert(known.end(), {"spread", "why"});
  r.allow_only(known);
  for (const RecoveryPart& part : recovery_parts) recovery.*part.field = r.quantity_or(part.key, recovery.*part.field);
  if (const auto spread = r.find("spread")) recovery.spread = read_spread(*spread);
}

void take_planned(const Reader& r, FailureProfile& profile) {
  r.allow_only({"rate", "events", "units", "time", "per", "takes", "notes"});
  profile.planned = read_rate(r);
  profile.planned_for = r.at("takes").quantity<Seconds::dimension>();
}

const FailureProfile* named(const std::vector<FailureProfile>& profiles, std::string_view name) {
  const auto at = std::ranges::find(profiles, name, &FailureProfile::name);
  return at == profiles.end() ? nullptr : &*at;
}

std::vector<FailureProfile> read_profiles() {
  std::vector<FailureProfile> profiles;
  for (const EmbeddedFile& file : embedded_capacity()) {
    const Reader document = Reader::text(file.content, std::string(file.name));
    const auto list = document.find("profiles");
    if (!list) continue;
    for (const Reader& entry : list->items()) {
      FailureProfile base;
      if (const auto of = entry.find("base")) {
        const FailureProfile* found = named(profiles, of->string());
        if (found == nullptr) of->fail(fmt::format("found '{}', expected a profile that stands before", of->string()));
        base = *found;
        base.sources.clear();
      }
      profiles.push_back(read_failure_profile(entry, std::move(base)));
    }
  }
  return profiles;
}

/// A host's share of the rate, for profiles that state interruptions of a node.
double rescale(const FailureProfile& profile, const UnitCounts& counts, double stops) {
  if (profile.node_rate.value() <= 0 || stops <= 0) return 1;
  return profile.node_rate.value() * counts[FailureUnit::host] / stops;
}

}  // namespace

Hertz read_node_rate(const Reader& reader) {
  const std::string text = reader.is_string() ? reader.string() : "";
  constexpr std::string_view tail = "per 1000 node-days";
  if (!text.ends_with(tail)) return reader.quantity<Hertz::dimension>();
  std::string_view number = std::string_view(text).substr(0, text.size() - tail.size());
  while (number.ends_with(' ')) number.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !(value >= 0 && value <= 1e6))
    reader.fail(fmt::format("found '{}', expected a rate such as \"5 per 1000 node-days\" or \"5e-3 /d\"", text));
  return Hertz::base(value / 1000 / 86400);
}

void take_failure_profile(const Reader& r, FailureProfile& profile) {
  profile.name = r.string_or("name", profile.name);
  profile.title = r.string_or("title", profile.title);
  if (const auto rate = r.find("node_rate")) profile.node_rate = read_node_rate(*rate);
  if (const auto spread = r.find("spread")) profile.spread = read_spread(*spread);
  if (const auto list = r.find("components")) {
    profile.components.clear();
    for (const Reader& item : list->items()) profile.components.push_back(read_component(item));
    if (!r.has("node_rate")) profile.node_rate = {};
  }
  if (const auto recovery = r.find("recovery")) take_recovery(*recovery, profile.recovery);
  if (const auto planned = r.find("planned")) take_planned(*planned, profile);
  if (const auto sources = r.find("sources")) {
    for (const Reader& item : sources->items()) profile.sources.push_back(read_provenance(item));
  }
}

FailureProfile read_failure_profile(const Reader& r, FailureProfile profile) {
  r.allow_only({"name", "base", "title", "notes", "spread", "spread_why", "node_rate", "components", "recovery",
                "planned", "sources"});
  take_failure_profile(r, profile);
  return profile;
}

const std::vector<FailureProfile>& failure_profiles() {
  static const std::vector<FailureProfile> profiles = read_profiles();
  return profiles;
}

const FailureProfile& failure_profile(std::string_view name, const std::string& where) {
  if (const FailureProfile* found = named(failure_profiles(), name)) return *found;
  std::vector<std::string> names;
  for (const FailureProfile& p : failure_profiles()) names.push_back(p.name);
  throw Error(where, fmt::format("no failure profile '{}'{}", name, suggestion(name, names)));
}

UnitCounts unit_counts(const Cluster& cluster, const topology::Fabric& fabric, int accelerators) {
  const topology::Clos& c = fabric.clos;
  const double hosts = static_cast<double>(accelerators) / std::max(1, cluster.node.accelerators);
  const double part = static_cast<double>(accelerators) / std::max(1, cluster.accelerators());
  const double ports = c.splits_ports ? c.fabrics : 1;
  UnitCounts counts;
  counts[FailureUnit::accelerator] = accelerators;
  counts[FailureUnit::host] = hosts;
  counts[FailureUnit::nic] = hosts * cluster.node.nics;
  counts[FailureUnit::host_cable] = c.leaves > 0 ? hosts * cluster.node.nics * ports : 0;
  counts[FailureUnit::leaf_switch] = part * c.leaves * c.fabrics;
  counts[FailureUnit::upper_switch] = part * (c.spines() + c.cores()) * c.fabrics;
  const double leaf_cables = static_cast<double>(c.leaves) * c.leaf_up;
  const double spine_cables = static_cast<double>(c.spines()) * c.spine_up;
  counts[FailureUnit::fabric_cable] = part * (leaf_cables + spine_cables) * c.fabrics;
  if (fabric.is_torus()) counts[FailureUnit::fabric_cable] = part * static_cast<double>(fabric.links.size()) / 2;
  return counts;
}

JobFailures job_failures(const FailureProfile& profile, const UnitCounts& counts, bool survives_leaf) {
  const auto stops_job = [&](const Component& c) {
    const bool redundant = survives_leaf && (c.per == FailureUnit::leaf_switch || c.per == FailureUnit::host_cable);
    return c.stops && !redundant;
  };
  double stops = 0;
  for (const Component& c : profile.components) stops += stops_job(c) ? c.rate.value() * counts[c.per] : 0;
  const double factor = rescale(profile, counts, stops);
  JobFailures job;
  for (const Component& c : profile.components) {
    const Hertz rate = c.rate * (counts[c.per] * factor);
    if (rate.value() <= 0) continue;
    job.components.push_back({&c, counts[c.per], rate});
    if (!stops_job(c)) {
      job.degraded += rate;
      continue;
    }
    job.stops += rate;
    (!c.hardware ? job.software : takes_several_hosts(c.per) ? job.several : job.replaced) += rate;
  }
  job.planned = profile.planned * counts[FailureUnit::host];
  return job;
}

}  // namespace meshwright::capacity
