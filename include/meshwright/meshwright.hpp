#pragma once
// The names that a program meets first, from the folders that they live in: `meshwright::Job`, `meshwright::predict`,
// ... Everything else stands in its folder's namespace.
#include "meshwright/collectives/estimate.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/search/search.hpp"
#include "meshwright/version.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright {

using hardware::builtin_catalog;
using hardware::Catalog;
using hardware::Cluster;
using hardware::load_catalog;
using parallel::explain;
using parallel::Job;
using parallel::JobSpec;
using parallel::Layout;
using parallel::make_job;
using parallel::predict;
using parallel::Prediction;
using parallel::violation;
using workload::load_model;
using workload::Transformer;

}  // namespace meshwright
