#include "meshwright/topology/import.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "meshwright/core/error.hpp"

namespace meshwright::topology {
namespace {

bool has(const NodeTopology& node, const std::string& kind) {
  return std::any_of(node.findings.begin(), node.findings.end(), [&](const Finding& f) { return f.kind == kind; });
}
std::string refusal(const std::string& text) {
  try {
    import_topology(text, "dump.txt");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

const std::string plain =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV12\tNV12\tNV12\tPIX\tNODE\tSYS\t0-15\t0\n"
    "GPU1\tNV12\t X \tNV12\tNV12\tPIX\tNODE\tSYS\t0-15\t0\n"
    "GPU2\tNV12\tNV12\t X \tNV12\tNODE\tPIX\tSYS\t16-31\t1\n"
    "GPU3\tNV12\tNV12\tNV12\t X \tNODE\tPIX\tSYS\t16-31\t1\n"
    "NIC0\tPIX\tPIX\tNODE\tNODE\t X \tNODE\tSYS\t\t\n"
    "NIC1\tNODE\tNODE\tPIX\tPIX\tNODE\t X \tSYS\t\t\n"
    "NIC2\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n  NIC2: mlx5_bond_0\n";

TEST(ImportMatrix, ReadsAPlainOne) {
  const NodeTopology node = import_topology(plain, "t");
  EXPECT_EQ(node.gpus(), 4);
  EXPECT_EQ(node.nics(), 3);
  EXPECT_EQ(node.rows_usable, 7);
  EXPECT_EQ(gpu_links(node).at("NV12"), 12);
  EXPECT_EQ(nearest_nics(node).at("GPU2").nics, std::vector<std::string>{"NIC1"});
  EXPECT_EQ(node.devices[2].numa, 1);
  EXPECT_EQ(node.devices[2].affinity, "16-31");
  EXPECT_TRUE(has(node, "shared-nic"));
  EXPECT_TRUE(has(node, "storage-nic"));
  EXPECT_TRUE(node.devices[6].storage);
  EXPECT_FALSE(node.devices[5].storage);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(ImportMatrix, DirtChangesNothing) {
  const std::map<std::string, int> clean = gpu_links(import_topology(plain, "t"));
  const std::vector<std::string> dirty = {
      replaced(plain, "\n", "\r\n"),
      "\xef\xbb\xbf" + plain,
      "$ nvidia-smi topo -m\n" + plain + "+ [[ 0 -eq 1 ]]\n",
      "```\n" + plain + "```\n",
      replaced(plain, "\tGPU0\tGPU1", "\t\x1b[4mGPU0\x1b[0m\tGPU1"),
      replaced(plain, "\t", "     "),
      replaced(plain, " X ", "\xc2\xa0X\xc2\xa0"),
      replaced(plain, "\nGPU", "\nworker-0: GPU"),
  };
  for (const std::string& text : dirty) EXPECT_EQ(gpu_links(import_topology(text, "t")), clean) << text;
}

TEST(ImportMatrix, MarkdownTable) {
  const NodeTopology node = import_topology(
      "|  | GPU0 | GPU1 | CPU Affinity |\n|---|---|---|---|\n| GPU0 | X | PHB | 0-7 |\n| **GPU1** | PHB | X | 0-7 |\n",
      "t");
  EXPECT_EQ(node.rows_usable, 2);
  EXPECT_EQ(gpu_links(node).at("PHB"), 2);
  EXPECT_TRUE(has(node, "pcie-only"));
}

TEST(ImportMatrix, LinesWrappedByANarrowTerminal) {
  const NodeTopology node = import_topology(
      "        GPU0    GPU1    NIC0\n    NIC1    CPU Affinity\nGPU0     X      NV4     PIX\n     SYS     0-7\n"
      "GPU1    NV4      X      SYS\n     PIX     8-15\n",
      "t");
  EXPECT_EQ(node.nics(), 2);
  EXPECT_EQ(node.rows_usable, 2);
  EXPECT_EQ(nearest_nics(node).at("GPU1").nics, std::vector<std::string>{"NIC1"});
}

TEST(ImportMatrix, GluedCellsAreRepairedAndSaid) {
  const NodeTopology node = import_topology(replaced(plain, "GPU0\t X \tNV12\tNV12\t", "GPU0\t X \tNV12NV12\t"), "t");
  EXPECT_EQ(node.rows_usable, 6);
  EXPECT_EQ(node.devices[0].row, RowState::repaired);
  EXPECT_EQ(node.cell(0, 2), "NV12");
  EXPECT_TRUE(has(node, "repaired-row"));
}

TEST(ImportMatrix, RowsThatDoNotFitAreLeftOutAndSaid) {
  const NodeTopology node =
      import_topology(replaced(plain, "GPU1\tNV12\t X \tNV12\tNV12\tPIX", "GPU1\tNV12\t X \tNV12\tPIX"), "t");
  EXPECT_EQ(node.rows_usable, 6);
  EXPECT_EQ(node.devices[1].row, RowState::missing);
  EXPECT_EQ(node.cell(1, 3), "NV12");  // from GPU3's row
  EXPECT_TRUE(has(node, "malformed-row"));
  EXPECT_TRUE(has(node, "rows-missing"));
}

TEST(ImportMatrix, MissingNvlinkSplitsTheNode) {
  std::string text = replaced(plain, "GPU3\tNV12\tNV12\tNV12\t X ", "GPU3\tSYS\tSYS\tSYS\t X ");
  for (const char* row : {"GPU0\t X \tNV12\tNV12\t", "GPU1\tNV12\t X \tNV12\t", "GPU2\tNV12\tNV12\t X \t"})
    text = replaced(text, std::string(row) + "NV12", std::string(row) + "SYS");
  const NodeTopology node = import_topology(text, "t");
  const auto finding = std::find_if(node.findings.begin(), node.findings.end(),
                                    [](const Finding& f) { return f.kind == "missing-nvlink"; });
  ASSERT_NE(finding, node.findings.end());
  EXPECT_EQ(finding->devices, std::vector<std::string>{"GPU3"});
  EXPECT_EQ(finding->severity, Severity::error);
  EXPECT_EQ(nvlink_groups(node).size(), 1U);
}

TEST(ImportMatrix, PortsOfOneCardAreNamed) {
  std::string text = replaced(plain, "NIC0: mlx5_0", "NIC0: rocep145s0f0");
  text = replaced(text, "NIC1: mlx5_1", "NIC1: rocep145s0f1");
  EXPECT_TRUE(has(import_topology(text, "t"), "dual-port"));
  EXPECT_FALSE(has(import_topology(plain, "t"), "dual-port"));
}

TEST(ImportMatrix, MigIsSaid) { EXPECT_TRUE(has(import_topology(plain + "  MIG 1g.10gb Device 0\n", "t"), "mig")); }

TEST(ImportMatrix, AsymmetryIsAFinding) {
  EXPECT_TRUE(has(import_topology(replaced(plain, "GPU1\tNV12\t X ", "GPU1\tNV8\t X "), "t"), "asymmetric"));
  EXPECT_FALSE(has(import_topology(plain, "t"), "asymmetric"));
}

TEST(ImportMatrix, RefusesWhatIsNoMatrix) {
  EXPECT_NE(refusal(" \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n  OK   = Status Ok\n").find("-p2p"),
            std::string::npos);
  EXPECT_NE(refusal("| NVIDIA-SMI 535.1   Driver Version: 535.1  CUDA Version: 12.2 |").find("status table"),
            std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("hello\nworld\n"), "");
  EXPECT_NE(refusal("\tGPU0\tGPU1\n"), "");
  for (const std::string& text : {std::string("{\"a\": 1}"), std::string(4096, '\0'), std::string("GPU0")})
    EXPECT_EQ(refusal(text).find('\n'), std::string::npos);
}

TEST(ImportMatrix, RandomDamageNeverCrashes) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text = plain;
    for (int i = 0; i < 1 + round % 12; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 9);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(random() % 256));
          break;
        case 2:
          text[at] = "\tXN0|\x1b\n"[random() % 7];
          break;
        default:
          text.resize(at + 1);
      }
      if (text.empty()) text = "x";
    }
    try {
      const NodeTopology node = import_topology(text, "t");
      EXPECT_EQ(node.cells.size(), node.devices.size() * node.devices.size());
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(ImportRocm, LinkTypesHopsAndWeights) {
  const NodeTopology node = import_topology(
      "======== ROCm System Management Interface ========\n===== Weight between two GPUs =====\n       GPU0   GPU1   "
      "\nGPU0   0      15     \nGPU1   15     0      \n\n"
      "===== Hops between two GPUs =====\n       GPU0   GPU1\nGPU0   0      1\nGPU1   1      0\n\n"
      "===== Link Type between two GPUs =====\n       GPU0   GPU1\nGPU0   0      XGMI\nGPU1   XGMI   0\n===== End of "
      "ROCm SMI Log =====\n",
      "t");
  EXPECT_EQ(node.vendor, "amd");
  EXPECT_EQ(node.facts.at("weight"), "15");
  EXPECT_EQ(node.facts.at("hops"), "1");
  EXPECT_EQ(gpu_links(node).at("XGMI"), 2);
  EXPECT_EQ(node.facts.at("links_per_gpu"), "1");
}

std::string xml(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">" + inside +
         "</cpu></system>";
}

TEST(ImportXml, DualPortCardsCountOnce) {
  const NodeTopology node =
      import_topology(xml("<pci busid=\"b\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">"
                          "<pci busid=\"g\" class=\"0x030200\" link_speed=\"8 GT/s\"><gpu dev=\"0\" sm=\"70\"/></pci>"
                          "<pci busid=\"n\" class=\"0x020700\" link_speed=\"8 GT/s\"><nic><net name=\"mlx5_0\" "
                          "speed=\"50000\" port=\"1\"/>"
                          "<net name=\"mlx5_1\" speed=\"50000\" port=\"2\"/></nic></pci></pci>"),
                      "t");
  EXPECT_EQ(node.nics(), 1);
  EXPECT_EQ(node.devices[1].ports, 2);
  EXPECT_DOUBLE_EQ(node.devices[1].gigabits, 100);
  EXPECT_EQ(node.cell(0, 1), "PIX");
  EXPECT_TRUE(has(node, "dual-port"));
  EXPECT_FALSE(has(node, "wrong-speed"));
}

TEST(ImportXml, SpeedsThatCannotBeRight) {
  // A Cascade Lake CPU (model 85) has no PCIe Gen4; 180 Gb/s is no port speed; 200 Gb/s does not fit Gen3 x8.
  const NodeTopology node =
      import_topology(xml("<pci busid=\"g\" class=\"0x030200\" link_speed=\"16 GT/s\"/>"
                          "<pci busid=\"n\" class=\"0x020700\" link_speed=\"8 GT/s\" link_width=\"8\"><nic><net "
                          "name=\"m\" speed=\"180000\" gdr=\"0\"/></nic></pci>"),
                      "t");
  EXPECT_EQ(std::count_if(node.findings.begin(), node.findings.end(),
                          [](const Finding& f) { return f.kind == "wrong-speed"; }),
            3);
  EXPECT_TRUE(has(node, "no-gpudirect"));
}

TEST(ImportXml, NvswitchJoinsGpus) {
  std::string gpus;
  for (const char* bus : {"g0", "g1", "g2"})
    gpus += std::string("<pci busid=\"") + bus +
            "\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"><nvlink target=\"s\" count=\"18\" "
            "tclass=\"0x068000\"/></gpu></pci>";
  const NodeTopology node = import_topology(xml(gpus), "t");
  EXPECT_EQ(gpu_links(node).at("NV18"), 6);
  EXPECT_TRUE(has(node, "odd-gpu-count"));
}

TEST(ImportXml, RefusesOtherXmlAndKeepsWhatIsBeforeABreak) {
  EXPECT_NE(refusal("<html><body/></html>").find("<html>"), std::string::npos);
  EXPECT_NE(refusal("<graphs version=\"1\"></graphs>").find("GRAPH"), std::string::npos);
  EXPECT_NE(refusal("<system version=\"1\"></system>").find("without GPUs"), std::string::npos);
  EXPECT_TRUE(
      has(import_topology("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"g\" class=\"0x030200\"/><pci bus", "t"),
          "truncated"));
}

}  // namespace
}  // namespace meshwright::topology
