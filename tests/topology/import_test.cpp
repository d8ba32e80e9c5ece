#include "meshwright/topology/import.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::topology {
namespace {

NodeTopology imported(const std::string& text, const std::string& name) {
  return import_topology(text, name, builtin_catalog());
}

bool has(const NodeTopology& node, const std::string& kind) {
  return std::any_of(node.findings.begin(), node.findings.end(), [&](const Finding& f) { return f.kind == kind; });
}
std::string refusal(const std::string& text) {
  return meshwright::refusal([&] { imported(text, "dump.txt"); });
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

// A bridge that came up with one lane holds two GPUs of sixteen, whatever its rate.
TEST(ImportXml, BridgesAreComparedByTheirLanesToo) {
  const auto box = [](const char* width) {
    std::string text =
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">"
        "<pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"";
    text += std::string(width) + "\">";
    for (int g = 0; g < 2; ++g) {
      const std::string id = std::to_string(g);
      text += "<pci busid=\"0000:0" + std::to_string(2 + g) +
              ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + id +
              "\" sm=\"90\" rank=\"" + id + "\" gdr=\"1\"/></pci>";
    }
    return text + "</pci></cpu></system>";
  };
  const NodeTopology narrow = imported(box("1"), "topo.xml");
  ASSERT_TRUE(has(narrow, "narrow-bridge"));
  const auto found = std::ranges::find(narrow.findings, "narrow-bridge", &Finding::kind);
  EXPECT_NE(found->text.find("x1 above devices of 32 GT/s x16"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("3.93846 GB/s"), std::string::npos) << found->text;
  EXPECT_FALSE(has(imported(box("16"), "topo.xml"), "narrow-bridge"));
}

TEST(ImportMatrix, ReadsAPlainOne) {
  const NodeTopology node = imported(plain, "t");
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
  const std::map<std::string, int> clean = gpu_links(imported(plain, "t"));
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
  for (const std::string& text : dirty) EXPECT_EQ(gpu_links(imported(text, "t")), clean) << text;
}

TEST(ImportMatrix, MarkdownTable) {
  const NodeTopology node = imported(
      "|  | GPU0 | GPU1 | CPU Affinity |\n|---|---|---|---|\n| GPU0 | X | PHB | 0-7 |\n| **GPU1** | PHB | X | 0-7 |\n",
      "t");
  EXPECT_EQ(node.rows_usable, 2);
  EXPECT_EQ(gpu_links(node).at("PHB"), 2);
  EXPECT_TRUE(has(node, "pcie-only"));
}

TEST(ImportMatrix, LinesWrappedByANarrowTerminal) {
  const NodeTopology node = imported(
      "        GPU0    GPU1    NIC0\n    NIC1    CPU Affinity\nGPU0     X      NV4     PIX\n     SYS     0-7\n"
      "GPU1    NV4      X      SYS\n     PIX     8-15\n",
      "t");
  EXPECT_EQ(node.nics(), 2);
  EXPECT_EQ(node.rows_usable, 2);
  EXPECT_EQ(nearest_nics(node).at("GPU1").nics, std::vector<std::string>{"NIC1"});
}

TEST(ImportMatrix, GluedCellsAreRepairedAndSaid) {
  const NodeTopology node = imported(replaced(plain, "GPU0\t X \tNV12\tNV12\t", "GPU0\t X \tNV12NV12\t"), "t");
  EXPECT_EQ(node.rows_usable, 6);
  EXPECT_EQ(node.devices[0].row, RowState::repaired);
  EXPECT_EQ(node.cell(0, 2), "NV12");
  EXPECT_TRUE(has(node, "repaired-row"));
}

TEST(ImportMatrix, RowsThatDoNotFitAreLeftOutAndSaid) {
  const NodeTopology node =
      imported(replaced(plain, "GPU1\tNV12\t X \tNV12\tNV12\tPIX", "GPU1\tNV12\t X \tNV12\tPIX"), "t");
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
  const NodeTopology node = imported(text, "t");
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
  EXPECT_TRUE(has(imported(text, "t"), "dual-port"));
  EXPECT_FALSE(has(imported(plain, "t"), "dual-port"));
}

TEST(ImportMatrix, MigIsSaid) { EXPECT_TRUE(has(imported(plain + "  MIG 1g.10gb Device 0\n", "t"), "mig")); }

TEST(ImportMatrix, AsymmetryIsAFinding) {
  EXPECT_TRUE(has(imported(replaced(plain, "GPU1\tNV12\t X ", "GPU1\tNV8\t X "), "t"), "asymmetric"));
  EXPECT_FALSE(has(imported(plain, "t"), "asymmetric"));
}

/// A matrix of GPUs with the same cell everywhere.
std::string uniform_matrix(int gpus, const std::string& cell) {
  std::string text;
  for (int g = 0; g < gpus; ++g) text += "\tGPU" + std::to_string(g);
  for (int r = 0; r < gpus; ++r) {
    text += "\nGPU" + std::to_string(r);
    for (int c = 0; c < gpus; ++c) text += "\t" + (r == c ? " X " : cell);
  }
  return text + "\n";
}

TEST(ImportMatrix, ALinkCountThatNoGpuHasIsAFinding) {
  for (const auto& [gpus, cell] :
       std::vector<std::pair<int, std::string>>{{8, "NV4"}, {8, "NV9"}, {4, "NV5"}, {16, "NV3"}})
    EXPECT_TRUE(has(imported(uniform_matrix(gpus, cell), "t"), "odd-link-count")) << gpus << " " << cell;
  // Through switches: V100, A100, A800 and H800, H100 and later. Directly: four A100 (12 links), four H100, four V100.
  for (const auto& [gpus, cell] : std::vector<std::pair<int, std::string>>{
           {16, "NV6"}, {8, "NV12"}, {8, "NV8"}, {8, "NV18"}, {4, "NV4"}, {4, "NV6"}, {4, "NV2"}, {2, "NV4"}})
    EXPECT_FALSE(has(imported(uniform_matrix(gpus, cell), "t"), "odd-link-count")) << gpus << " " << cell;
}

TEST(ImportMatrix, GpusThatShareTheirNearestNicAreWarned) {
  // Four GPUs, four NICs: two are nearest to the same NIC, whichever way they are near it.
  for (const char* link : {"PIX", "PXB", "PHB", "NODE"}) {
    std::string text =
        "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tNIC3\n"
        "GPU0\t X \tNV12\tNV12\tNV12\t@\tSYS\tSYS\tSYS\nGPU1\tNV12\t X \tNV12\tNV12\t@\tSYS\tSYS\tSYS\n"
        "GPU2\tNV12\tNV12\t X \tNV12\tSYS\tSYS\tPIX\tSYS\nGPU3\tNV12\tNV12\tNV12\t X \tSYS\tSYS\tSYS\tPIX\n";
    const NodeTopology node = imported(replaced(text, "@", link), "t");
    const auto finding = std::find_if(node.findings.begin(), node.findings.end(),
                                      [](const Finding& f) { return f.kind == "shared-nic"; });
    ASSERT_NE(finding, node.findings.end()) << link;
    EXPECT_EQ(finding->severity, Severity::warning);
    EXPECT_EQ(finding->devices, (std::vector<std::string>{"GPU0", "GPU1"}));
  }
  // Three GPUs near two NICs, in sets that overlap without being equal.
  const NodeTopology overlap = imported(
      "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\n"
      "GPU0\t X \tNV12\tNV12\tPIX\tNODE\nGPU1\tNV12\t X \tNV12\tPIX\tPIX\nGPU2\tNV12\tNV12\t X \tNODE\tPIX\n",
      "t");
  EXPECT_TRUE(has(overlap, "shared-nic"));
  // Two ports of one card are one NIC.
  const NodeTopology ports = imported(
      "\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\t X \tNV12\tPIX\tPIX\nGPU1\tNV12\t X \tPIX\tPIX\n\n"
      "NIC Legend:\n\n  NIC0: rocep145s0f0\n  NIC1: rocep145s0f1\n",
      "t");
  EXPECT_TRUE(has(ports, "shared-nic"));
  EXPECT_FALSE(has(ports, "paired-nics"));
}

TEST(ImportMatrix, AGpusOwnNumaIdIsNoCpuAffinity) {
  // A GB200 tray: the memory of each GPU is a NUMA node of its own.
  const NodeTopology node = imported(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tNV18\tNV18\tNV18\t0-71\t0,2-17\t2\nGPU1\tNV18\t X \tNV18\tNV18\t0-71\t0,2-17\t10\n"
      "GPU2\tNV18\tNV18\t X \tNV18\t\t1\t18\nGPU3\tNV18\tNV18\tNV18\t X \t\t\t26\n",
      "t");
  EXPECT_EQ(node.devices[0].numa, 0);
  EXPECT_EQ(node.devices[0].affinity, "0-71");
  EXPECT_EQ(node.devices[2].numa, 1);
  EXPECT_EQ(node.devices[3].numa, -1);
  EXPECT_FALSE(has(node, "numa-split"));
}

TEST(ImportMatrix, ControlCharactersOfNamesAreEscaped) {
  const NodeTopology node =
      imported("\tGPU0\tGPU1\tmlx\x07_0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tPIX\nmlx\x07_0\tPIX\tPIX\t X \n", "t");
  for (const ImportedDevice& d : node.devices) EXPECT_EQ(d.name.find('\x07'), std::string::npos);
  for (const Finding& f : node.findings) EXPECT_EQ(f.text.find('\x07'), std::string::npos) << f.kind;
}

TEST(Import, TooManyDevicesEndInAClearLine) {
  std::string header = "", xml_text = "<system version=\"1\"><cpu numaid=\"0\">",
              rocm = "ROCm\nWeight between two GPUs\n";
  for (int i = 0; i < 20000; ++i) {
    header += "\tGPU" + std::to_string(i);
    rocm += " GPU" + std::to_string(i);
    xml_text += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x030200\" link_speed=\"8 GT/s\"/>";
  }
  std::string matrix = header + "\n";
  for (int r = 0; r < 40; ++r) {
    matrix += "GPU" + std::to_string(r);
    for (int c = 0; c < 20000; ++c) matrix += c == r ? "\tX" : "\tNV18";
    matrix += "\n";
  }
  std::string wrapped = "\tGPU0\n";  // a header that goes on for ever, a few words a line
  for (int i = 1; i < 200000; ++i) wrapped += " GPU" + std::to_string(i) + "\n";
  const std::string prefix = "\tGPU0\tGPU1\n" + replaced(std::string(400000, '.'), ".", "x ") + "\n";
  for (const std::string& text : {matrix, rocm, xml_text + "</cpu></system>", wrapped, prefix}) {
    const std::string line = refusal(text);
    EXPECT_NE(line, "accepted");
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Import, TheLargestNodeIsRead) {
  EXPECT_EQ(imported(uniform_matrix(most_devices, "NV18"), "t").gpus(), most_devices);
}

TEST(ImportMatrix, RefusesWhatIsNoMatrix) {
  EXPECT_NE(refusal(" \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n  OK   = Status Ok\n").find("-p2p"),
            std::string::npos);
  EXPECT_NE(refusal("| NVIDIA-SMI 535.1   Driver Version: 535.1  CUDA Version: 12.2 |").find("status table"),
            std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("hello\nworld\n"), "accepted");
  EXPECT_NE(refusal("\tGPU0\tGPU1\n"), "accepted");
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
      const NodeTopology node = imported(text, "t");
      EXPECT_EQ(node.cells.size(), node.devices.size() * node.devices.size());
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(ImportRocm, LinkTypesHopsAndWeights) {
  const NodeTopology node = imported(
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

TEST(ImportRocm, TwoLinksAwayIsNotDirect) {
  const std::string weights =
      "== Weight between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 15 30\nGPU1 15 0 15\nGPU2 30 15 0\n\n";
  const std::string hops = "== Hops between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 1 1\nGPU1 1 0 1\nGPU2 1 1 0\n\n";
  const std::string types =
      "== Link Type between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 XGMI XGMI\nGPU1 XGMI 0 XGMI\nGPU2 XGMI XGMI 0\n";
  for (const std::string& text : {weights + hops + types, weights + types, weights}) {
    const NodeTopology node = imported("ROCm System Management Interface\n" + text, "t");
    EXPECT_EQ(node.cell(0, 1), "XGMI");
    EXPECT_EQ(node.cell(0, 2), "XGMI-2");
    EXPECT_EQ(gpu_links(node).at("XGMI"), 4);
    EXPECT_EQ(nvlink_groups(node).front().size(), 3U);
    EXPECT_TRUE(has(node, "sparse-mesh"));
    EXPECT_FALSE(has(node, "full-mesh"));
  }
}

std::string xml(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">" + inside +
         "</cpu></system>";
}

TEST(ImportXml, DualPortCardsCountOnce) {
  const NodeTopology node =
      imported(xml("<pci busid=\"b\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">"
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
      imported(xml("<pci busid=\"g\" class=\"0x030200\" link_speed=\"16 GT/s\"/>"
                   "<pci busid=\"n\" class=\"0x020700\" link_speed=\"8 GT/s\" link_width=\"8\"><nic><net "
                   "name=\"m\" speed=\"180000\" gdr=\"0\"/></nic></pci>"),
               "t");
  EXPECT_EQ(std::count_if(node.findings.begin(), node.findings.end(),
                          [](const Finding& f) { return f.kind == "wrong-speed"; }),
            3);
  EXPECT_TRUE(has(node, "no-gpudirect"));
}

TEST(ImportXml, SlowPciePortsAreReadAfterLineCoding) {
  // 2.5 GT/s x1 with 8b/10b coding is 0.25 GB/s; device 0x2335 is an H200.
  const NodeTopology node =
      imported(xml("<pci busid=\"b\" class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\" link_width=\"1\">"
                   "<pci busid=\"g\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2335\" link_speed=\"32.0 GT/s "
                   "PCIe\"/></pci>"),
               "t");
  const auto finding = std::find_if(node.findings.begin(), node.findings.end(),
                                    [](const Finding& f) { return f.kind == "wrong-speed"; });
  ASSERT_NE(finding, node.findings.end());
  EXPECT_NE(finding->text.find("0.25 GB/s"), std::string::npos) << finding->text;
  EXPECT_EQ(node.facts.at("accelerator"), "H200-SXM-141GB");
  EXPECT_TRUE(has(node, "machine"));
}

TEST(ImportXml, NamesTheMachine) {
  std::string inside;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    inside += "<pci busid=\"b" + n + "\" class=\"0x060400\"><pci busid=\"g" + n +
              "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2335\"/><pci busid=\"n" + n +
              "\" class=\"0x020700\"><nic><net name=\"mlx5_" + n + "\" speed=\"400000\"/></nic></pci></pci>";
  }
  EXPECT_EQ(imported(xml(inside), "t").facts.at("machine"), "dgx-h200");
}

/// Eight GPUs of an AMD node; counts[i] links to the (i + 1)-th next GPU.
std::string xgmi_node(const std::vector<int>& counts) {
  std::string inside;
  for (int g = 0; g < 8; ++g) {
    inside += "<pci busid=\"g" + std::to_string(g) +
              "\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x74a1\"><gpu "
              "dev=\"0\" gcn=\"942\">";
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0)
        inside += "<xgmi target=\"g" + std::to_string((g + static_cast<int>(i) + 1) % 8) + "\" count=\"" +
                  std::to_string(counts[i]) + "\" tclass=\"0x038000\"/>";
    inside += "</gpu></pci>";
  }
  return inside;
}

TEST(ImportXml, XgmiCountsOfAHealthyNode) {
  // Seven links a GPU, one to each peer or several to some: nothing is down.
  for (const std::vector<int>& counts : std::vector<std::vector<int>>{{1, 1, 1, 1, 1, 1, 1}, {2, 1, 0, 1, 0, 1, 2}}) {
    const NodeTopology node = imported(xml(xgmi_node(counts)), "t");
    EXPECT_FALSE(has(node, "missing-nvlink"));
    EXPECT_EQ(node.facts.at("xgmi"), "56");
    EXPECT_EQ(node.facts.at("accelerator"), "MI300X");
  }
  // GPU 0 lists two links to GPU 1 and none to GPU 2: still seven; GPU 2 has lost one.
  std::string one_off = xgmi_node({1, 1, 1, 1, 1, 1, 1});
  const std::string own = "<xgmi target=\"g2\" count=\"1\" tclass=\"0x038000\"/>";
  one_off.replace(one_off.find(own), own.size(), "");
  const std::string other = "<xgmi target=\"g0\" count=\"1\" tclass=\"0x038000\"/>";
  one_off.replace(one_off.find(other, one_off.find("busid=\"g2\"")), other.size(), "");
  EXPECT_TRUE(has(imported(xml(one_off), "t"), "missing-nvlink"));
}

TEST(ImportXml, NumbersOutOfRangeAndDeepNestingAreHarmless) {
  EXPECT_EQ(imported(xml("<pci busid=\"g\" class=\"0x030200\" link_speed=\"1e308 GT/s\" link_width=\"-5\"><gpu><nvlink "
                         "target=\"s\" count=\"99999999999\" tclass=\"0x068000\"/></gpu></pci>"),
                     "t")
                .gpus(),
            1);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<pci class=\"0x060400\">";
  EXPECT_NE(refusal(xml(deep)), "accepted");
}

TEST(ImportXml, NvswitchJoinsGpus) {
  std::string gpus;
  for (const char* bus : {"g0", "g1", "g2"})
    gpus += std::string("<pci busid=\"") + bus +
            "\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"><nvlink target=\"s\" count=\"18\" "
            "tclass=\"0x068000\"/></gpu></pci>";
  const NodeTopology node = imported(xml(gpus), "t");
  EXPECT_EQ(gpu_links(node).at("NV18"), 6);
  EXPECT_TRUE(has(node, "odd-gpu-count"));
}

TEST(ImportXml, RefusesOtherXmlAndKeepsWhatIsBeforeABreak) {
  EXPECT_NE(refusal("<html><body/></html>").find("<html>"), std::string::npos);
  EXPECT_NE(refusal("<graphs version=\"1\"></graphs>").find("GRAPH"), std::string::npos);
  EXPECT_NE(refusal("<system version=\"1\"></system>").find("without GPUs"), std::string::npos);
  EXPECT_TRUE(
      has(imported("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"g\" class=\"0x030200\"/><pci bus", "t"),
          "truncated"));
}

}  // namespace
}  // namespace meshwright::topology
