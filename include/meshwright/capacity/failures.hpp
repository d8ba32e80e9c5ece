#pragma once
// How often a job is interrupted: rates of components times how many of them the cluster has, and how long it takes to
// come back. Rates are data (data/capacity/reliability.json), with sources and spread.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/node.hpp"
#include "meshwright/hardware/provenance.hpp"
#include "meshwright/topology/fabric.hpp"

namespace meshwright::capacity {

/// What a component is counted by.
enum class FailureUnit { accelerator, host, nic, host_cable, leaf_switch, fabric_cable, upper_switch, rack };
inline constexpr std::array<std::string_view, 8> unit_names = {
    "accelerator", "host", "nic", "host cable", "leaf switch", "fabric cable", "upper switch", "rack"};
/// True where one failure takes several hosts: those below a leaf switch, those of a rack.
constexpr bool takes_several_hosts(FailureUnit unit) {
  return unit == FailureUnit::leaf_switch || unit == FailureUnit::rack;
}
constexpr std::string_view name(FailureUnit unit) { return unit_names[static_cast<std::size_t>(unit)]; }

/// How many of each unit a job's part of the cluster has.
struct UnitCounts {
  std::array<double, unit_names.size()> of{};
  double& operator[](FailureUnit unit) { return of[static_cast<std::size_t>(unit)]; }
  double operator[](FailureUnit unit) const { return of[static_cast<std::size_t>(unit)]; }
};
/// Counts of `accelerators` of the cluster; the fabric's switches and cables in proportion. Without NICs (a torus) the
/// chips' own links count as fabric cables. Racks are left at zero: how many hosts share one is an input.
UnitCounts unit_counts(const Cluster& cluster, const topology::Fabric& fabric, int accelerators);

/// Percentiles of a rate or time over its central value, at least the first at most 1 and the second at least 1.
struct Spread {
  double p10 = 1, p90 = 1;
};

struct Component {
  std::string name;
  FailureUnit per = FailureUnit::host;
  Hertz rate{};             ///< of one unit
  bool hardware = true;     ///< the host has to be replaced; false: a restart in place does
  bool stops = true;        ///< a single one stops the job; false: traffic goes around it
  bool store_only = false;  ///< takes the memory of a host and its peer with it: only the store survives
  Seconds repair{};         ///< until the part is back
  std::string source;
};

/// From the failure to the first new step, without loading a checkpoint and without waiting for a host.
struct Recovery {
  Seconds detection{}, diagnosis{};
  Seconds replacement{};  ///< a hot spare takes the place of a host
  Seconds requeue{};      ///< without a spare: the scheduler finds another host, where there is one
  Seconds restart{};      ///< processes, communicators, compilation
  Spread spread{};
};
/// Its times as files name them.
struct RecoveryPart {
  std::string_view key;
  Seconds Recovery::*field;
};
inline constexpr std::array<RecoveryPart, 5> recovery_parts = {{{"detection", &Recovery::detection},
                                                                {"diagnosis", &Recovery::diagnosis},
                                                                {"replacement", &Recovery::replacement},
                                                                {"requeue", &Recovery::requeue},
                                                                {"restart", &Recovery::restart}}};

/// What one source observed, or the user states.
struct FailureProfile {
  std::string name, title;
  std::vector<Component> components;
  /// Interruptions of one host (unplanned); above zero, the components share it in their own proportions.
  Hertz node_rate{};
  Spread spread;    ///< of all rates together
  Hertz planned{};  ///< stops for maintenance, of one host
  Seconds planned_for{};
  Recovery recovery;
  std::vector<hardware::Provenance> sources;
};

/// The profiles of data/capacity/reliability.json; the first is the default.
const std::vector<FailureProfile>& failure_profiles();
/// A profile by name; Error(where, ...) with the nearest spelling.
const FailureProfile& failure_profile(std::string_view name, const std::string& where);
/// `base` with what the object states over it: {"node_rate", "spread", "components" [{"name", "per", "rate" or
/// "events", "units", "time", "hardware", "stops", "store_only", "repair"}], "recovery" {...}, "planned"}. Rates are
/// "6.5e-3 /d", "3.8 per 1000 node-days" (of "node_rate"), or events over units and time.
FailureProfile read_failure_profile(const Reader& reader, FailureProfile base);
/// "6.5e-3 /d" or "5 per 1000 node-days".
Hertz read_node_rate(const Reader& reader);

/// Failures of one component in one job.
struct ComponentFailures {
  const Component* component = nullptr;
  double count = 0;  ///< of its units
  Hertz rate{};      ///< of all of them
};

/// Rates of a job, components with none left out.
struct JobFailures {
  std::vector<ComponentFailures> components;
  Hertz stops{};     ///< unplanned interruptions
  Hertz replaced{};  ///< of them, with a host to replace
  Hertz several{};   ///< of them, of a leaf switch or a rack: all its hosts at once
  Hertz software{};  ///< of them, restarted in place
  Hertz degraded{};  ///< failures that traffic goes around
  Hertz planned{};
  Seconds mtbf() const { return Seconds::base(1 / stops.value()); }  ///< infinite without failures
};
/// A leaf switch stops the job unless every NIC has a port in several planes (`survives_leaf`), and so does a cable.
JobFailures job_failures(const FailureProfile& profile, const UnitCounts& counts, bool survives_leaf);

}  // namespace meshwright::capacity
