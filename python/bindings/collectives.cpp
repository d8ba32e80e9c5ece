#include <algorithm>
#include <vector>

#include "bindings.hpp"
#include "meshwright/collectives/estimate.hpp"

namespace meshwright::python {
namespace {

/// One row of the table that nccl-tests prints.
py::dict row(Collective collective, double bytes, int ranks, const CollectiveEstimate& e) {
  const double seconds = e.time.value();
  const double algbw = seconds > 0 ? bytes / seconds * 1e-9 : 0;
  py::dict out;
  out["bytes"] = bytes;
  out["time_us"] = seconds * 1e6;
  out["algbw_gbps"] = algbw;
  out["busbw_gbps"] = algbw * busbw_factor(collective, ranks).value();
  out["algo"] = std::string(e.algorithm);
  out["proto"] = std::string(e.protocol);
  out["limiting_link"] = e.limiting_link;
  return out;
}

}  // namespace

void bind_collectives(py::module_& module) {
  module.def(
      "collective",
      [](const std::string& name, const Cluster& cluster, const std::vector<double>& sizes, int ranks, int stride,
         const std::string& algorithm, const std::string& protocol) {
        const Collective collective = parse_collective(name, "name");
        const int size = ranks != 0 ? within(ranks, "ranks", 2, cluster.accelerators()) : cluster.accelerators();
        within(stride, "stride", 1, std::max(1, cluster.accelerators() / std::max(1, size)));
        for (const double bytes : sizes) within(bytes, "sizes", 1.0, 1e18);
        std::vector<CollectiveEstimate> estimates;
        {
          const py::gil_scoped_release released;
          const GroupPlace place = place_group(cluster, size, stride);
          const Platform platform = platform_of(cluster);
          for (const double bytes : sizes)
            estimates.push_back(estimate(collective, Bytes::base(bytes), place, platform, {algorithm, protocol}));
        }
        py::list rows;
        for (std::size_t i = 0; i < sizes.size(); ++i) rows.append(row(collective, sizes[i], size, estimates[i]));
        return rows;
      },
      py::arg("name"), py::kw_only(), py::arg("cluster"), py::arg("sizes"), py::arg("ranks") = 0, py::arg("stride") = 1,
      py::arg("algorithm") = "", py::arg("protocol") = "",
      "Rows as nccl-tests prints them: bytes, time_us, algbw_gbps, busbw_gbps, algo, proto, limiting_link.");
}

}  // namespace meshwright::python
