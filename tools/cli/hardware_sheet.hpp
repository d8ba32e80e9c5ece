#pragma once
// Everything the database knows of one entry, as a list of fields from which text and JSON are both made.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::cli {

/// One figure; a label of "" is for JSON only: "memory bandwidth", "3.35 TB/s", and in JSON
/// "memory_bandwidth_bytes_per_s": 3.35e12.
struct SheetField {
  std::string label, text, key;
  nlohmann::ordered_json value;
};

/// Peak (as the data sheet has it), measured, and estimated from kin never share a section.
struct Sheet {
  std::string kind, name, title;
  std::vector<std::string> aliases;
  bool announced = false;
  std::vector<SheetField> facts, peak, measured, estimated;
  std::string notes;
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

/// All but the kind.
Sheet sheet_of(const Catalog& catalog, const Accelerator& device);
Sheet sheet_of(const Catalog& catalog, const Node& node);
Sheet sheet_of(const Catalog& catalog, const ReferenceCluster& cluster);
Sheet sheet_of(const Catalog& catalog, const Link& link);
Sheet sheet_of(const Catalog& catalog, const Nic& nic);
Sheet sheet_of(const Catalog& catalog, const Switch& device);

std::string to_text(const Sheet& sheet);
nlohmann::ordered_json to_json(const Sheet& sheet);

}  // namespace meshwright::cli
