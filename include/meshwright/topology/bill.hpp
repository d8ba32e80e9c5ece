#pragma once
// What a network is made of, and what that costs: switches, NICs, transceivers, cables.
#include <string>
#include <vector>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

struct BillItem {
  enum class Kind { switches, circuit_switches, nics, cables } kind = Kind::cables;
  std::string what;   ///< "leaf switches", "transceivers (switch side, twin port)", ...
  std::string model;  ///< "quantum2"; "" where it is only a class
  long long count = 0;
  Dollars each{};    ///< zero = no price known
  Watts power{};     ///< of one; zero = not published
  std::string note;  ///< price's kind, date and confidence
  Dollars total() const { return each * static_cast<double>(count); }
};

struct Bill {
  std::vector<BillItem> items;
  Dollars total{};  ///< of items with a price
  Watts power{};
  int unpriced = 0;  ///< items without a price
  long long switches = 0;
};

/// The scale-out network of a cluster. Cables of up to a rack's reach (a leaf that takes whole hosts) are copper;
/// others are optical with a transceiver at each end (twin-port cages on switches). Prices are street estimates of low
/// confidence, dated in the notes. A torus counts cables inside its cubes and optical circuit switches between them.
Bill bill_of_materials(const Fabric& fabric, const Cluster& cluster);

}  // namespace meshwright::topology
