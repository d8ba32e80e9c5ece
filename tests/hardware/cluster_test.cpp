#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright {
namespace {

using namespace literals;

int whole(const Reader& r, std::string_view key) { return r.has(key) ? r.at(key).integer() : 0; }

TEST(ClusterFromParts, TakesEveryPublishedRecord) {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  if (folder == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is not set: the sweep over published runs is left out";
  const Catalog& catalog = builtin_catalog();
  int records = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "runs")) {
    for (const Reader& record : Reader::lines(entry.path())) {
      const auto r = record.find("cluster");
      if (!r || !r->has("count")) continue;
      const int count = whole(*r, "count"), domain = whole(*r, "scale_up_domain");
      const auto nic = BytesPerSecond::base(r->number_or("nic_gbps", 0) * 1.25e8);
      const Cluster c =
          cluster_from_parts(catalog, r->at("accelerator").string(), count, whole(*r, "node_size"), domain,
                             whole(*r, "nics_per_node"), nic, r->string_or("fabric", ""), r->where());
      ++records;
      EXPECT_EQ(c.accelerators(), count) << r->where();
      EXPECT_LE(c.node.scale_up_domain, count) << r->where();
      if (domain > 0 && domain <= count) {
        EXPECT_EQ(c.node.scale_up_domain, domain) << r->where();
      }
      if (c.node.scale_up_domain > 1) {
        EXPECT_GT(c.node.scale_up_bandwidth.value(), 0) << r->where();
      }
      if (c.node.scale_up_domain < count && c.node.fabric != "ici") {
        EXPECT_GT(c.node.nics, 0) << r->where();
        EXPECT_GT(c.node.nic_bandwidth.value(), 0) << r->where();
        EXPECT_FALSE(c.fabric_switch.name.empty()) << r->where();
      }
      if (c.node.scale_up_domain < count && c.node.fabric == "ici") {
        EXPECT_GT(c.network.dcn_bandwidth, 0) << r->where();
      }
    }
  }
  EXPECT_GT(records, 3000);
}

}  // namespace
}  // namespace meshwright
