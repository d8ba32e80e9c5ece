#pragma once
// What a cluster draws, and what a limit on it costs: power-to-rate curves of accelerators (data/capacity/power.json).
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/capacity/inputs.hpp"
#include "meshwright/capacity/site.hpp"
#include "meshwright/core/breakdown.hpp"

namespace meshwright::capacity {

/// Compute rate under a power cap, measured on one device.
struct PowerCurve {
  struct Point {
    double cap = 0;   ///< over the mean draw without a cap
    double rate = 0;  ///< over that without a cap
  };
  std::string name, title;
  std::vector<std::string> accelerators;  ///< that it stands for, by the catalogue's names
  std::vector<Point> points;              ///< both rising
  std::vector<hardware::Provenance> sources;
  /// Linear between the points, proportional below the first, constant above the last.
  double rate(double cap) const;
};
const std::vector<PowerCurve>& power_curves();
/// The device's own curve at that cap; for others the mean of all curves.
double measured_rate(std::string_view accelerator, double cap);

/// IT power of the job's part of the cluster and its share of the network.
struct Power {
  Watts running{};      ///< mean while training
  Watts waiting{};      ///< while a checkpoint blocks
  Watts idle{};         ///< while the job is down
  Watts provisioned{};  ///< what has to be connected, hot spares included
};
/// `compute` is the share of a step in which accelerators compute; the rest they wait.
///   node = accelerators TDP (compute power.compute + (1 - compute) power.waiting) + (nameplate - accelerators TDP)
///   power.host
/// The network draws its rated power. Spares idle. With a cap no accelerator draws more, and no more is provisioned.
Power site_power(const Site& site, double compute, int spares, const Inputs& inputs);
/// The same while training, at the meter: "hosts" {"accelerators", "rest of the hosts"}, "spares", "network",
/// "cooling".
Term power_terms(const Site& site, double compute, int spares, const Inputs& inputs);

/// Power cap of every accelerator: the site's own, or less where all of them computing would exceed what the site can
/// draw at the meter. Zero = none; below zero where hosts and network alone exceed it.
Watts accelerator_cap(const Site& site, int spares, const Inputs& inputs);
/// True where the site's limit leaves accelerators more than they draw idle.
bool is_fed(const Site& site, int spares, const Inputs& inputs);
/// Compute rate under accelerator_cap() over that without: measured_rate(cap / draw)^power.cap_loss with draw =
/// power.compute TDP; 1 where the cap does not bind.
double capped_rate(const Site& site, int spares, const Inputs& inputs);

/// Nameplate power of one node in watts.
double nameplate(const Site& site, const Inputs& inputs);

}  // namespace meshwright::capacity
