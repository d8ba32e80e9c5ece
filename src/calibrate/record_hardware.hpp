#pragma once
// The "hardware", "env" and "notes" of a collective record as a cluster and as options.
#include <optional>
#include <string>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::calibrate {

/// Name in the catalogue of an accelerator as people write it ("NVIDIA H100 80GB HBM3", "A100 PCIe"), or nothing.
std::optional<std::string> find_accelerator(const Catalog& catalog, std::string_view as_written);
/// Name of the fabric that the words on a fabric, or else those on its NICs, mean; "" where they mean none.
std::string find_fabric(const Catalog& catalog, std::string_view fabric, std::string_view nic);
/// The cluster that a record ran on. `ranks` of its accelerators took part.
Cluster record_cluster(const Reader& record, const Catalog& catalog, const std::string& accelerator, int ranks);
/// What "algo", "proto" and the environment forced.
CollectiveOptions record_options(const Reader& record);

}  // namespace meshwright::calibrate
