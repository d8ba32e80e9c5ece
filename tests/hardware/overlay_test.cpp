// Overlays: merged field by field, and refused with one clear line where they are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/refusal.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {
namespace {

using namespace literals;
using testing::HasSubstr;

/// A folder of its own that is gone with the test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("meshwright-overlay-" + std::to_string(::getpid()) + "-" + std::to_string(++count()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& name, std::string_view text) const { std::ofstream(path_ / name) << text; }
  const std::filesystem::path& path() const { return path_; }

 private:
  static int& count() {
    static int n = static_cast<int>(::getpid()) * 1000;
    return n;
  }
  std::filesystem::path path_;
};

Catalog with(std::string_view text) {
  const Folder folder;
  folder.write("mine.json", text);
  return overlay(builtin_catalog(), folder.path());
}

std::string refusal(std::string_view text) {
  return meshwright::refusal([&] { with(text); });
}

struct BadInput {
  const char *what, *text, *place, *found;
};

const BadInput bad_inputs[] = {
    {"truncated JSON", R"({"links": [)", "mine.json", "JSON"},
    {"not an object", R"(["links"])", "mine.json", "expected"},
    {"unknown section", R"({"acelerators": []})", "mine.json", "accelerators"},
    {"unknown key", R"({"accelerators": [{"name": "H100-SXM5-80GB", "memory_bandwith": "3 TB/s"}]})", "/accelerators/0",
     "memory_bandwidth"},
    {"bare number", R"({"accelerators": [{"name": "H100-SXM5-80GB", "tdp": 700}]})", "/accelerators/0/tdp", "W"},
    {"wrong unit", R"({"accelerators": [{"name": "H100-SXM5-80GB", "tdp": "700 GB"}]})", "/accelerators/0/tdp", "W"},
    {"negative", R"({"accelerators": [{"name": "H100-SXM5-80GB", "tdp": "-7 W"}]})", "/accelerators/0/tdp", "-7 W"},
    {"10^400", R"({"accelerators": [{"name": "H100-SXM5-80GB", "sm_count": 1e400}]})", "mine.json", ""},
    {"zero memory", R"({"accelerators": [{"name": "H100-SXM5-80GB", "memory_capacity": "0 GB"}]})",
     "/accelerators/0/memory_capacity", "more than zero"},
    {"half an SM", R"({"accelerators": [{"name": "H100-SXM5-80GB", "sm_count": 131.5}]})", "/accelerators/0/sm_count",
     "whole"},
    {"unknown dtype", R"({"accelerators": [{"name": "H100-SXM5-80GB", "peak_dense": {"bf61": "1 TFLOP/s"}}]})",
     "/accelerators/0/peak_dense", "bf16"},
    {"new device without memory", R"({"accelerators": [{"name": "X1", "peak_dense": {"bf16": "1 TFLOP/s"}}]})",
     "/accelerators/0", "memory_capacity"},
    {"new device without a peak",
     R"({"accelerators": [{"name": "X1", "memory_capacity": "1 GB", "memory_bandwidth": "1 TB/s"}]})",
     "/accelerators/0", "peak_dense"},
    {"unknown link", R"({"accelerators": [{"name": "H100-SXM5-80GB", "scale_up_link": "nvlink44"}]})",
     "/accelerators/0/scale_up_link", "nvlink4"},
    {"no name", R"({"links": [{"family": "nvlink"}]})", "/links/0", "name"},
    {"twice", R"({"links": [{"name": "nvlink4"}, {"name": "NVLink-4"}]})", "/links/1", "twice"},
    {"radix of one", R"({"switches": [{"name": "s", "fabric": "ethernet", "radix": 1, "port_bandwidth": "1 GB/s"}]})",
     "/switches/0/radix", "1"},
    {"unknown accelerator of a node", R"({"nodes": [{"name": "dgx-h100", "accelerator": "H101"}]})",
     "/nodes/0/accelerator", "unknown accelerator 'H101'"},
    {"unknown NIC of a node", R"({"nodes": [{"name": "dgx-h100", "nic": "connectx-77"}]})", "/nodes/0/nic",
     "connectx-7"},
    {"unknown switch of a node", R"({"nodes": [{"name": "dgx-h100", "scale_up_switch": "nvswitch33"}]})",
     "/nodes/0/scale_up_switch", "nvswitch3"},
    {"unknown kind of scale-up", R"({"nodes": [{"name": "dgx-h100", "scale_up": "swiched"}]})", "/nodes/0/scale_up",
     "switched"},
    {"unknown fabric", R"({"nodes": [{"name": "dgx-h100", "fabric": "infinband"}]})", "/nodes/0/fabric", "infiniband"},
    {"new node that says little", R"({"nodes": [{"name": "box", "accelerator": "L40S"}]})", "/nodes/0", "accelerators"},
    {"joined by nothing",
     R"({"nodes": [{"name": "box", "accelerator": "L40S", "accelerators": 8, "scale_up": "switched", "nics": 0,
         "fabric": "none"}]})",
     "/nodes/0/scale_up", "L40S"},
    {"cluster of an unknown node", R"({"clusters": [{"name": "c", "node": "dgx-h1000", "nodes": 4}]})",
     "/clusters/0/node", "dgx-h100"},
    {"cluster without nodes", R"({"clusters": [{"name": "c", "node": "dgx-h100"}]})", "/clusters/0", "nodes"},
    {"undersubscribed", R"({"clusters": [{"name": "selene", "network": {"oversubscription": [0.5]}}]})",
     "/clusters/0/network/oversubscription/0", "at least 1"},
    {"unknown topology", R"({"clusters": [{"name": "selene", "network": {"topology": "fat tree"}}]})",
     "/clusters/0/network/topology", "fat-tree"},
    {"efficiency above one", R"({"clusters": [{"name": "selene", "network": {"efficiency": 1.2}}]})",
     "/clusters/0/network/efficiency", "1.2"},
    {"price of nothing", R"({"nics": [{"name": "connectx-7", "prices": [{"kind": "list", "date": "2026-01",
     "confidence": "high"}]}]})",
     "/nics/0/prices/0", "amount"},
    {"source without a title", R"({"nics": [{"name": "connectx-7", "sources": [{"url": "x"}]}]})", "/nics/0/sources/0",
     "title"},
};

TEST(Overlay, RefusesBadInputInOneLineThatNamesThePlace) {
  for (const BadInput& bad : bad_inputs) {
    const std::string text = refusal(bad.text);
    EXPECT_THAT(text, HasSubstr("mine.json")) << bad.what;
    EXPECT_THAT(text, HasSubstr(bad.place)) << bad.what;
    EXPECT_THAT(text, HasSubstr(bad.found)) << bad.what;
    EXPECT_EQ(text.find('\n'), std::string::npos) << bad.what << ": " << text;
  }
}

TEST(Overlay, MergesFieldByField) {
  const Catalog c = with(R"({"accelerators": [{"name": "h100 sxm5 80gb", "tdp": "650 W",
                                               "peak_dense": {"fp8": "1900 TFLOP/s"}}]})");
  const Accelerator& a = c.accelerator("H100");
  const Accelerator& before = builtin_catalog().accelerator("H100");
  EXPECT_EQ(a.name, before.name);
  EXPECT_EQ(a.tdp, Watts::base(650));
  EXPECT_EQ(a.peak(DType::fp8), FlopsPerSecond::base(1.9e15));
  EXPECT_EQ(a.peak(DType::bf16), before.peak(DType::bf16));
  EXPECT_EQ(a.sources.size(), before.sources.size());
  EXPECT_EQ(c.accelerators.size(), builtin_catalog().accelerators.size());
}

TEST(Overlay, NodesFollowAChangedPart) {
  const Catalog c = with(R"({"accelerators": [{"name": "H100-SXM5-80GB", "scale_up_bandwidth": "400 GB/s"}],
                            "nics": [{"name": "connectx-7", "bandwidth": "300 Gb/s"}]})");
  EXPECT_EQ(c.node("dgx-h100").scale_up_bandwidth, 400_GBps);
  EXPECT_EQ(c.node("dgx-h100").nic_bandwidth, 300_Gbps);
  EXPECT_EQ(make_cluster(c, "dgx-h100", 4).node.scale_up_bandwidth, 400_GBps);
  EXPECT_EQ(c.node("aws-p5.48xlarge").nic_bandwidth, 100_Gbps) << "has another NIC";
}

TEST(Overlay, AddsADeviceThatCanBePlannedWith) {
  const Catalog c = with(R"({"accelerators": [{"name": "X1", "vendor": "NVIDIA", "architecture": "hopper",
                               "peak_dense": {"bf16": "500 TFLOP/s"}, "memory_capacity": "64 GB",
                               "memory_bandwidth": "3 TB/s", "scale_up_link": "nvlink4", "scale_up_links": 9,
                               "scale_up_bandwidth": "225 GB/s", "pcie": "pcie-gen5"}],
                            "nodes": [{"name": "x-box", "accelerator": "x1", "accelerators": 4,
                               "scale_up": "full_mesh", "nics": 4, "nic": "ConnectX-7", "fabric": "roce"}]})");
  const Cluster cluster = make_cluster(c, "x-box", 2);
  EXPECT_EQ(cluster.accelerators(), 8);
  EXPECT_EQ(cluster.node.scale_up_bandwidth, 225_GBps);
  EXPECT_EQ(cluster.node.nic_bandwidth, 400_Gbps);
  EXPECT_GT(cluster.accelerator.efficiency.of(DType::bf16).ceiling, 0) << "as its architecture";
  EXPECT_NE(cluster.accelerator.efficiency.of(DType::bf16).evidence, Evidence::measured);
}

TEST(Overlay, AddsALinkGenerationAndAFabric) {
  const Catalog c =
      with(R"({"links": [{"name": "nvlink9", "family": "nvlink", "lane_bandwidth": "200 GB/s", "lanes": 36,
                               "bandwidth": "7.2 TB/s"}],
                            "fabrics": [{"name": "ultra", "topology": "fat-tree", "routing": "spray", "hop": "0.2 us",
                               "switches": "ethernet", "media": [{"medium": "roce", "stand_in": true}]}],
                            "accelerators": [{"name": "H100-SXM5-80GB", "scale_up_link": "nvlink9",
                               "scale_up_bandwidth": "7.2 TB/s"}],
                            "nodes": [{"name": "dgx-h100", "fabric": "Ultra"}]})");
  const Cluster cluster = make_cluster(c, "dgx-h100", 4);
  EXPECT_EQ(cluster.node.scale_up_bandwidth, BytesPerSecond::base(7.2e12));
  EXPECT_EQ(cluster.platform.scale_up.name, "nvlink5") << "the newest of its family that was measured";
  EXPECT_EQ(cluster.platform.scale_up.evidence, Evidence::extrapolated);
  EXPECT_EQ(cluster.network.topology, "fat-tree");
  EXPECT_EQ(cluster.platform.scale_out.name, "roce");
}

TEST(Overlay, TakesMediaAndEfficiencies) {
  const Folder folder;
  folder.write("a.json", R"({"devices": [{"name": "H100-SXM5-80GB", "gemm": {"bf16": {"ceiling": 0.5}}}]})");
  folder.write("b.json", R"({"media": [{"name": "infiniband", "base": "99 us"}]})");
  const Catalog c = overlay(builtin_catalog(), folder.path());
  EXPECT_DOUBLE_EQ(c.accelerator("H100").efficiency.of(DType::bf16).ceiling, 0.5);
  const Cluster cluster = make_cluster(c, "dgx-h100", 2);
  EXPECT_DOUBLE_EQ(cluster.platform.scale_out.base.value(), 99e-6);
  EXPECT_EQ(cluster.platform.scale_up.name, "nvlink4");
}

TEST(Overlay, IsAFolderOrOneFile) {
  const Folder folder;
  folder.write("mine.json", R"({"accelerators": [{"name": "H100-SXM5-80GB", "tdp": "650 W"}]})");
  folder.write("other.json", "{]");
  EXPECT_EQ(overlay(builtin_catalog(), folder.path() / "mine.json").accelerator("H100").tdp, Watts::base(650));
  EXPECT_THROW(overlay(builtin_catalog(), folder.path()), Error);
  EXPECT_THROW(overlay(builtin_catalog(), folder.path() / "none.json"), Error);
}

TEST(Overlay, AMissingFolderIsAnError) {
  EXPECT_THROW(overlay(builtin_catalog(), "/no/such/folder"), Error);
  EXPECT_EQ(overlay(builtin_catalog(), "").nodes.size(), builtin_catalog().nodes.size());
}

TEST(Overlay, TheEnvironmentNamesOne) {
  const Folder folder;
  folder.write("mine.json", R"({"accelerators": [{"name": "H100-SXM5-80GB", "tdp": "650 W"}]})");
  ::setenv("MESHWRIGHT_HARDWARE", folder.path().c_str(), 1);
  const Watts tdp = load_catalog().accelerator("H100").tdp;
  ::unsetenv("MESHWRIGHT_HARDWARE");
  EXPECT_EQ(tdp, Watts::base(650));
  EXPECT_EQ(load_catalog().accelerator("H100").tdp, Watts::base(700));
}

}  // namespace
}  // namespace meshwright::hardware
