// Invariants over the whole database, and published figures that it must hold.
#include "meshwright/hardware/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace meshwright::hardware {
namespace {

using namespace literals;

std::string squeezed(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

/// Calls `check(kind, entry)` for every entry of every kind.
template <class Check>
void for_each_entry(const Catalog& c, Check check) {
  for (const auto& e : c.accelerators) check("accelerator", e);
  for (const auto& e : c.links) check("link", e);
  for (const auto& e : c.nics) check("nic", e);
  for (const auto& e : c.switches) check("switch", e);
  for (const auto& e : c.nodes) check("node", e);
  for (const auto& e : c.clusters) check("cluster", e);
}

TEST(Catalog, HoldsEveryFamilyOfHardware) {
  const Catalog& c = builtin_catalog();
  for (const char* name : {"P100-SXM2-16GB",  "V100-SXM2-32GB",
                           "A100-SXM4-80GB",  "A800-SXM4-80GB",
                           "H100-SXM5-80GB",  "H100-SXM-96GB-500W",
                           "H800-SXM5-80GB",  "H20-SXM-96GB",
                           "H200-SXM-141GB",  "H200-NVL-141GB",
                           "GH200",           "B200-SXM6-180GB",
                           "B300-SXM6-288GB", "GB200",
                           "GB300",           "L40S",
                           "V100S-PCIe-32GB", "RTX-PRO-6000-Server",
                           "MI250X",          "MI300X",
                           "MI325X",          "MI350X",
                           "MI355X",          "Gaudi2",
                           "Gaudi3",          "TPU-v3",
                           "TPU-v4",          "TPU-v5e",
                           "TPU-v5p",         "TPU-v6e",
                           "TPU-v7x",         "Trainium1-core",
                           "Trainium1",       "Trainium2",
                           "Trainium3",       "VR200"})
    EXPECT_EQ(c.accelerator(name).name, name);
  for (const char* name :
       {"nvlink1",        "nvlink6",       "nvlink-c2c",    "pcie-gen1",      "pcie-gen7",   "infiniband-sdr",
        "infiniband-xdr", "ethernet-10g",  "ethernet-800g", "ethernet-1600g", "efa-v1",      "efa-v4",
        "slingshot-11",   "omni-path-100", "ici-v3",        "ici-v7x",        "xgmi-mi250x", "xgmi-mi355x",
        "ualink-200g",    "gaudi3-roce",   "neuronlink-v2", "neuronlink-v4"})
    EXPECT_EQ(c.link(name).name, name);
  for (const char* name : {"dgx-1v", "dgx-2", "dgx-a100", "dgx-h100", "dgx-b200", "dgx-b300", "gb200-nvl36",
                           "gb200-nvl72", "gb300-nvl72", "aws-p4d.24xlarge", "aws-p5.48xlarge", "gcp-a3-megagpu-8g",
                           "pcie-l40s", "tpu-v5p-host", "aws-trn1.32xlarge", "mi300x-oam", "gaudi2-hls"})
    EXPECT_EQ(c.node(name).name, name);
  for (const char* name : {"selene", "meta-24k-roce", "megascale", "hpn-7.0", "deepseek-v3", "tpu-v4-pod", "summit",
                           "frontier", "eos", "fire-flyer-2", "jean-zay-a100"})
    EXPECT_EQ(c.cluster(name).name, name);
}

TEST(Catalog, EveryEntryHasSourcesThatCanBeFound) {
  for_each_entry(builtin_catalog(), [](std::string_view kind, const auto& entry) {
    EXPECT_FALSE(entry.sources.empty()) << kind << " " << entry.name;
    for (const Provenance& p : entry.sources) {
      EXPECT_FALSE(p.title.empty()) << entry.name;
      EXPECT_TRUE(p.url.starts_with("http")) << entry.name << ": " << p.title;
      EXPECT_THAT(p.confidence, testing::AnyOf("high", "medium", "low")) << entry.name;
    }
  });
}

TEST(Catalog, NamesAndAliasesMeanOneThingEach) {
  std::set<std::string> taken;
  for_each_entry(builtin_catalog(), [&](std::string_view kind, const auto& entry) {
    std::set<std::string> own = {squeezed(entry.name)};
    for (const std::string& alias : entry.aliases) own.insert(squeezed(alias));
    for (const std::string& key : own)
      EXPECT_TRUE(taken.insert(std::string(kind) + "/" + key).second) << kind << " " << key << " stands twice";
  });
}

TEST(Catalog, PricesAreDatedAndGraded) {
  const auto check = [](const auto& entry) {
    for (const Price& p : entry.prices) {
      EXPECT_NE(p.amount.value() > 0, p.rate.value() > 0) << entry.name;
      EXPECT_FALSE(p.date.empty()) << entry.name;
      EXPECT_FALSE(p.confidence.empty()) << entry.name;
    }
  };
  const Catalog& c = builtin_catalog();
  for (const auto& e : c.accelerators) check(e);
  for (const auto& e : c.nics) check(e);
  for (const auto& e : c.switches) check(e);
  for (const auto& e : c.nodes) check(e);
  EXPECT_FALSE(c.accelerator("H100").prices.empty());
  EXPECT_FALSE(c.node("dgx-h100").prices.empty());
}

TEST(Catalog, LookupsForgiveCaseDashesAndTheVendor) {
  const Catalog& c = builtin_catalog();
  for (const char* spelling : {"H100-SXM5-80GB", "h100 sxm5 80gb", "H100", "nvidia_h100", "NVIDIA H100 80GB HBM3"})
    EXPECT_EQ(c.accelerator(spelling).name, "H100-SXM5-80GB") << spelling;
  EXPECT_EQ(c.accelerator("AMD Instinct MI300X").name, "MI300X");
  EXPECT_EQ(c.node("DGX H100").name, "dgx-h100");
  EXPECT_EQ(c.node("p5.48xlarge").name, "aws-p5.48xlarge");
  EXPECT_EQ(c.switch_named("QM9700").name, "quantum2");
  EXPECT_EQ(c.link("PCIe Gen5").name, "pcie-gen5");
}

TEST(Catalog, UnknownNamesGetTheNearestSpelling) {
  try {
    builtin_catalog().accelerator("H100-SXM5-8OGB", "job.json:/cluster");
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "job.json:/cluster");
    EXPECT_THAT(error.what_happened(), testing::HasSubstr("did you mean 'H100-SXM5-80GB'?"));
  }
}

TEST(Links, APortIsTheSumOfItsLanes) {
  for (const Link& l : builtin_catalog().links)
    EXPECT_NEAR(l.lane_bandwidth.value() * l.lanes / l.bandwidth.value(), 1, 0.002) << l.name;
}

TEST(Links, MeasuredNeverBeatsPeak) {
  for (const Link& l : builtin_catalog().links) {
    EXPECT_LE(l.achieved.value(), l.bandwidth.value()) << l.name;
    EXPECT_LE(l.data_bandwidth.value(), l.bandwidth.value()) << l.name;
  }
}

// NVIDIA counts both directions; per direction and GPU it is half: https://www.nvidia.com/en-us/data-center/nvlink/
TEST(Links, NvlinkPerDirectionByGeneration) {
  const double expected[] = {80, 150, 300, 450, 900};
  for (int generation = 1; generation <= 5; ++generation) {
    const Link& l = builtin_catalog().link("nvlink" + std::to_string(generation));
    EXPECT_DOUBLE_EQ(l.bandwidth.value(), expected[generation - 1] * 1e9) << l.name;
  }
}

// A 4x port: https://www.infinibandta.org/infiniband-roadmap/; the first three code 8 bits in 10.
TEST(Links, InfinibandPortRates) {
  const struct {
    const char* name;
    double named, data;
  } rows[] = {{"sdr", 10, 8},    {"ddr", 20, 16},   {"qdr", 40, 32},   {"fdr", 56, 54.54},
              {"edr", 100, 100}, {"hdr", 200, 200}, {"ndr", 400, 400}, {"xdr", 800, 800}};
  for (const auto& row : rows) {
    const Link& l = builtin_catalog().link(std::string("infiniband-") + row.name);
    EXPECT_DOUBLE_EQ(l.bandwidth.value(), row.named * 1.25e8) << row.name;
    const BytesPerSecond data = l.data_bandwidth.value() > 0 ? l.data_bandwidth : l.bandwidth;
    EXPECT_DOUBLE_EQ(data.value(), row.data * 1.25e8) << row.name;
  }
}

// Transfer rate, 16 lanes, 128b/130b coding (8b/10b before generation 3): https://pcisig.com/specifications
TEST(Links, PciePerDirection) {
  const double expected[] = {4, 8, 15.75, 31.5, 63};
  for (int generation = 1; generation <= 5; ++generation) {
    const Link& l = builtin_catalog().link("pcie-gen" + std::to_string(generation));
    EXPECT_NEAR(l.bandwidth.value() / 1e9, expected[generation - 1], 0.03) << l.name;
  }
  EXPECT_NEAR(builtin_catalog().link("nvlink5").bandwidth / builtin_catalog().link("pcie-gen5").bandwidth, 14.3, 0.05)
      << "not 28: that ratio sets both directions against one";
}

// Dense peaks of bf16 (fp16 before Ampere) in TFLOP/s, as the vendors' data sheets have them.
TEST(Accelerators, DensePeaksOfDataSheets) {
  const struct {
    const char *name, *url;
    double peak;
  } rows[] = {
      {"V100-SXM2-32GB", "https://images.nvidia.com/content/volta-architecture/pdf/volta-architecture-whitepaper.pdf",
       125},
      {"A100-SXM4-80GB", "https://www.nvidia.com/en-us/data-center/a100/", 312},
      {"H100-SXM5-80GB", "https://www.nvidia.com/en-us/data-center/h100/", 989.4},
      {"H200-SXM-141GB", "https://www.nvidia.com/en-us/data-center/h200/", 989.4},
      {"B200-SXM6-180GB", "https://www.nvidia.com/en-us/data-center/hgx/", 2250},
      {"GB200", "https://www.nvidia.com/en-us/data-center/gb200-nvl72/", 2500},
      {"L40S", "https://www.nvidia.com/en-us/data-center/l40s/", 362.05},
      {"MI300X", "https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html", 1307.4},
      {"MI355X", "https://www.amd.com/en/products/accelerators/instinct/mi350/mi355x.html", 2516.6},
      {"TPU-v4", "https://docs.cloud.google.com/tpu/docs/v4", 275},
      {"TPU-v5p", "https://docs.cloud.google.com/tpu/docs/v5p", 459},
      {"Trainium2", "https://awsdocs-neuron.readthedocs-hosted.com/", 667},
  };
  for (const auto& row : rows) {
    const Accelerator& a = builtin_catalog().accelerator(row.name);
    const FlopsPerSecond peak = a.peak(DType::bf16).value() > 0 ? a.peak(DType::bf16) : a.peak(DType::fp16);
    EXPECT_DOUBLE_EQ(peak.value(), row.peak * 1e12) << row.url;
  }
}

TEST(Accelerators, PeaksGrowAsFormatsShrink) {
  for (const Accelerator& a : builtin_catalog().accelerators) {
    const double half = std::max(a.peak(DType::bf16).value(), a.peak(DType::fp16).value());
    EXPECT_GT(half, 0) << a.name;
    EXPECT_GE(half, a.peak(DType::tf32).value()) << a.name;
    for (const DType narrow : {DType::fp8, DType::fp4}) {
      if (a.peak(narrow).value() > 0) {
        EXPECT_GE(a.peak(narrow).value(), half) << a.name << " " << name(narrow);
      }
    }
    EXPECT_GT(a.memory_capacity.value(), 1e9) << a.name;
    EXPECT_LT(half / a.memory_bandwidth.value(), 1000) << a.name << ": FLOPs a byte of memory";
  }
}

TEST(Accelerators, ScaleUpIsLinksTimesLane) {
  for (const Accelerator& a : builtin_catalog().accelerators) {
    if (a.scale_up_link.empty() || a.name == "Trainium1-core") continue;  // half of a chip shares the chip's links
    const Link& l = builtin_catalog().link(a.scale_up_link);
    EXPECT_NEAR(l.lane_bandwidth.value() * a.scale_up_links / a.scale_up_bandwidth.value(), 1, 0.002) << a.name;
  }
}

TEST(Accelerators, ExportVariantsLoseLinksNotLanes) {
  const Catalog& c = builtin_catalog();
  EXPECT_EQ(c.accelerator("H800").scale_up_bandwidth, 200_GBps);
  EXPECT_EQ(c.accelerator("A800").scale_up_bandwidth, 200_GBps);
  EXPECT_EQ(c.accelerator("H800").peak(DType::bf16), c.accelerator("H100").peak(DType::bf16));
}

TEST(Nodes, FollowTheirParts) {
  const Catalog& c = builtin_catalog();
  for (const Node& n : c.nodes) {
    const Accelerator& a = c.accelerator(n.accelerator);
    const BytesPerSecond host = n.pcie.empty() ? BytesPerSecond{} : c.link(n.pcie).bandwidth;
    EXPECT_LE(n.scale_up_bandwidth.value(), 1.001 * std::max(a.scale_up_bandwidth, host).value()) << n.name;
    if (n.scale_up != ScaleUpKind::none) {
      EXPECT_GT(n.scale_up_bandwidth.value(), 0) << n.name;
    }
    if (n.nics > 0) {
      EXPECT_GT(n.nic_bandwidth.value(), 0) << n.name;
    }
    const bool whole = n.scale_up_domain % n.accelerators == 0 || n.accelerators % n.scale_up_domain == 0;
    EXPECT_TRUE(whole) << n.name << ": " << n.scale_up_domain;
    EXPECT_EQ(n.scale_up_reduces, !n.scale_up_switch.empty() && c.switch_named(n.scale_up_switch).reduces) << n.name;
    EXPECT_LE(a.tdp.value() * n.accelerators, n.power.value() > 0 ? n.power.value() : 1e9) << n.name;
  }
}

TEST(Nodes, EveryAcceleratorHasAUsualNode) {
  const Catalog& c = builtin_catalog();
  for (const Accelerator& a : c.accelerators) EXPECT_NE(c.usual_node(a.name), nullptr) << a.name;
  EXPECT_EQ(c.usual_node("H100-SXM5-80GB")->name, "dgx-h100");
  EXPECT_EQ(c.usual_node("H100-SXM5-80GB", "efa")->name, "aws-p5.48xlarge");
  EXPECT_EQ(c.usual_node("MI300X")->name, "mi300x-oam");
  EXPECT_EQ(c.usual_node("A100-SXM4-80GB", "omni-path")->name, "jean-zay-a100");
  EXPECT_EQ(c.usual_node("A100-SXM4-80GB", "carrier pigeon")->name, "dgx-a100");
}

// DGX H100: 8 x 400 Gb/s; GB200 NVL72: 72 GPUs of 900 GB/s are 64.8 TB/s per direction.
TEST(Nodes, PublishedFigures) {
  const Catalog& c = builtin_catalog();
  EXPECT_EQ(c.node("dgx-h100").nic_bandwidth * 8, 400_GBps);
  EXPECT_EQ(c.node("gb200-nvl72").scale_up_bandwidth * 72, 64800_GBps);
  EXPECT_TRUE(c.node("dgx-h100").scale_up_reduces);
  EXPECT_FALSE(c.node("dgx-a100").scale_up_reduces);
  EXPECT_EQ(c.node("aws-p5.48xlarge").nics, 32);
}

TEST(Switches, SplitPortsKeepTheCapacity) {
  const Catalog& c = builtin_catalog();
  for (const Switch& s : c.switches) {
    const Switch split = split_to(s, s.port_bandwidth / 2);
    EXPECT_LE(split.port_bandwidth.value() * split.radix, s.port_bandwidth.value() * s.radix * 1.0001) << s.name;
    EXPECT_EQ(split_to(s, s.port_bandwidth).radix, s.radix) << s.name;
  }
  EXPECT_EQ(split_to(c.switch_named("quantum2"), 25_GBps).radix, 128);
  EXPECT_EQ(split_to(c.switch_named("quantum2"), 12.5_GBps).radix, 128) << "no more ports than the data sheet allows";
  EXPECT_EQ(c.usual_switch(c.fabric("infiniband"), 50_GBps).name, "quantum2");
  EXPECT_EQ(c.usual_switch(c.fabric("roce"), 50_GBps).name, "tomahawk4");
  EXPECT_EQ(c.usual_switch(c.fabric("slingshot"), 25_GBps).name, "rosetta");
  EXPECT_EQ(c.usual_switch(c.fabric("infiniband"), 5000_GBps).name, "") << "nothing is as fast";
}

}  // namespace
}  // namespace meshwright::hardware
