#include "collectives/nccl_constants.hpp"

#include <algorithm>

#include "core/embedded.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::collectives {
namespace {

template <class Numbers>
void read_numbers(const Reader& list, Numbers& into) {
  const std::vector<Reader> items = list.items();
  if constexpr (requires { into.resize(1); }) into.resize(items.size());
  if (items.size() != into.size()) list.fail("expected " + std::to_string(into.size()) + " numbers");
  for (std::size_t i = 0; i < items.size(); ++i) into[i] = static_cast<typename Numbers::value_type>(items[i].number());
}

ByAlgorithm read_latencies(const Reader& rows, ByAlgorithm all = {}) {
  rows.allow_only(nccl_algorithm_names);
  for (std::size_t a = 0; a < nccl_algorithm_count; ++a) {
    if (const auto row = rows.find(nccl_algorithm_names[a])) read_numbers(*row, all[a]);
  }
  return all;
}

/// Over the generation before it.
NcclGeneration read_generation(const Reader& r, NcclGeneration g) {
  r.allow_only({"from", "nvlink", "ll", "ring_ll128", "tree_ll128", "tree", "nvls_tree", "nvls_efficiency",
                "nvls_channels", "intra", "inter"});
  g.from = r.at("from").integer(g.from, 999);
  g.nvlink = r.number_or("nvlink", g.nvlink);
  g.nvls_efficiency = r.number_or("nvls_efficiency", g.nvls_efficiency);
  const auto take = [&](std::string_view key, auto& into) {
    if (const auto list = r.find(key)) read_numbers(*list, into);
  };
  take("ll", g.ll), take("ring_ll128", g.ring_ll128), take("tree_ll128", g.tree_ll128), take("tree", g.tree);
  take("nvls_tree", g.nvls_tree), take("nvls_channels", g.nvls_channels);
  take("intra", g.intra), take("inter", g.inter);
  return g;
}

NcclConstants read_constants() {
  const Reader file = Reader::text(embedded_nccl().front().content, "data/hardware/platforms/nccl.json");
  file.allow_only({"description", "sources", "latency", "generations", "ring_ll", "releases", "tree_correction",
                   "nvls_heads", "search_channels", "nvls_lacks", "plugin_latency"});
  const Reader latency = file.at("latency");
  latency.allow_only({"base", "nvlink", "pcie", "network"});
  NcclConstants c{.base = read_latencies(latency.at("base")),
                  .nvlink = read_latencies(latency.at("nvlink")),
                  .pcie = read_latencies(latency.at("pcie")),
                  .network = read_latencies(latency.at("network")),
                  .generations = {},
                  .nvls_heads = file.at("nvls_heads").integer(1, 1024),
                  .search_channels = file.at("search_channels").integer(1, 64),
                  .ring_ll = {},
                  .nvls_lacks = {},
                  .plugin_latency = {}};
  read_numbers(file.at("ring_ll"), c.ring_ll);
  for (const Reader& type : file.at("nvls_lacks").items()) c.nvls_lacks.push_back(type.string());
  const Reader told = file.at("plugin_latency");
  for (const std::string& medium : told.keys()) c.plugin_latency.emplace_back(medium, told.at(medium).number());
  for (const Reader& entry : file.at("generations").items())
    c.generations.push_back(read_generation(entry, c.generations.empty() ? NcclGeneration{} : c.generations.back()));
  const std::vector<Reader> corrections = file.at("tree_correction").items();
  if (corrections.size() != protocol_count) file.at("tree_correction").fail("expected a list for each protocol");
  for (std::size_t p = 0; p < protocol_count; ++p) read_numbers(corrections[p], c.tree_correction[p]);
  return c;
}

/// The constants of releases before `before`.
struct NcclRelease {
  int before = 0;
  NcclConstants constants;
};

/// Over the release after it.
NcclRelease read_release(const Reader& r, NcclConstants c) {
  r.allow_only({"before", "latency", "generations", "ring_ll", "nvls_ratio"});
  if (const auto latency = r.find("latency")) {
    latency->allow_only({"base", "nvlink", "pcie", "network"});
    const auto take = [&](std::string_view key, ByAlgorithm& into) {
      if (const auto rows = latency->find(key)) into = read_latencies(*rows, into);
    };
    take("base", c.base), take("nvlink", c.nvlink), take("pcie", c.pcie), take("network", c.network);
  }
  if (const auto rows = r.find("generations")) {
    for (const Reader& row : rows->items()) {
      const auto known = std::ranges::find(c.generations, row.at("from").integer(0, 999), &NcclGeneration::from);
      if (known == c.generations.end()) row.at("from").fail("expected a generation of the newest release");
      *known = read_generation(row, *known);
    }
  }
  if (const auto shares = r.find("ring_ll")) read_numbers(*shares, c.ring_ll);
  c.nvls_ratio = r.number_or("nvls_ratio", c.nvls_ratio);
  return {r.at("before").integer(200, 999), std::move(c)};
}

/// The newest first.
std::vector<NcclRelease> read_releases() {
  std::vector<NcclRelease> all = {{1000, read_constants()}};
  const Reader file = Reader::text(embedded_nccl().front().content, "data/hardware/platforms/nccl.json");
  for (const Reader& entry : file.at("releases").items()) all.push_back(read_release(entry, all.back().constants));
  return all;
}

}  // namespace

const NcclConstants& nccl_constants(int version) {
  static const std::vector<NcclRelease> releases = read_releases();
  std::size_t at = 0;
  while (version > 0 && at + 1 < releases.size() && version < releases[at + 1].before) ++at;
  return releases[at].constants;
}

const NcclGeneration& nccl_generation(int compute_capability, int version) {
  const std::vector<NcclGeneration>& all = nccl_constants(version).generations;
  std::size_t at = 0;
  while (at + 1 < all.size() && all[at + 1].from <= compute_capability) ++at;
  return all[at];
}

bool nvls_reduces(std::string_view type) {
  return std::ranges::find(nccl_constants().nvls_lacks, type) == nccl_constants().nvls_lacks.end();
}

}  // namespace meshwright::collectives
