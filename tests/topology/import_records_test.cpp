// Reads every topology dump among the user cases, where MESHWRIGHT_RECORDS says where they lie.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "meshwright/core/reader.hpp"
#include "meshwright/topology/import.hpp"

namespace meshwright::topology {
namespace {

void expect_matrix(const NodeTopology& node, const Reader& want, const std::string& id) {
  EXPECT_EQ(node.vendor, want.at("vendor").string()) << id;
  EXPECT_EQ(node.gpus(), want.at("gpus").integer()) << id;
  if (!want.has("nics")) {  // ROCm
    EXPECT_EQ(node.facts.at("link"), want.at("link").string()) << id;
    for (const char* key : {"weight", "hops", "links_per_gpu"})
      if (want.has(key)) {
        EXPECT_EQ(node.facts.at(key), std::to_string(want.at(key).integer())) << id;
      }
    return;
  }
  EXPECT_EQ(node.nics(), want.at("nics").integer()) << id;
  EXPECT_EQ(node.rows_present, want.at("rows_present").integer()) << id;
  EXPECT_EQ(node.rows_usable, want.at("rows_usable").integer()) << id;
  std::map<std::string, int> links;
  for (const std::string& key : want.at("gpu_gpu_links").keys())
    links[key] = want.at("gpu_gpu_links").at(key).integer();
  EXPECT_EQ(gpu_links(node), links) << id;
  std::vector<std::vector<std::string>> groups;
  for (const Reader& group : want.at("nvlink_groups").items()) {
    groups.emplace_back();
    for (const Reader& gpu : group.items()) groups.back().push_back(gpu.string());
  }
  EXPECT_EQ(nvlink_groups(node), groups) << id;
  const std::map<std::string, NearNics> near = nearest_nics(node);
  EXPECT_EQ(near.size(), want.at("nearest_nics").keys().size()) << id;
  for (const std::string& gpu : want.at("nearest_nics").keys()) {
    const std::vector<Reader> pair = want.at("nearest_nics").at(gpu).items();
    ASSERT_TRUE(near.count(gpu)) << id << " " << gpu;
    EXPECT_EQ(near.at(gpu).link, pair[0].string()) << id << " " << gpu;
    std::vector<std::string> nics;
    for (const Reader& nic : pair[1].items()) nics.push_back(nic.string());
    EXPECT_EQ(near.at(gpu).nics, nics) << id << " " << gpu;
  }
  if (node.rows_usable < node.gpus() + node.nics()) {
    EXPECT_FALSE(node.findings.empty()) << id << ": missing rows must be said";
  }
}

void expect_xml(const NodeTopology& node, const Reader& want, const std::string& id) {
  for (const char* key : {"cpus", "gpu_nodes", "pci_gpu_class", "pci_nic_class", "net_nodes", "nvlink", "xgmi"})
    EXPECT_EQ(node.facts.at(key), std::to_string(want.at(key).integer())) << id << " " << key;
  EXPECT_EQ(node.facts.at("version"), want.at("version").string()) << id;
  for (const char* key : {"net_speeds_mbps", "link_speeds", "numa"}) {
    std::string all;
    for (const Reader& item : want.at(key).items()) all += (all.empty() ? "" : ",") + item.string();
    EXPECT_EQ(node.facts.at(key), all) << id << " " << key;
  }
}

TEST(ImportRecords, EveryCase) {
  const char* records = std::getenv("MESHWRIGHT_RECORDS");
  if (records == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is unset: the user cases were left out";
  const std::filesystem::path cases = std::filesystem::path(records) / "cases";
  int read = 0;
  for (const Reader& record : Reader::lines(cases / "cases.jsonl")) {
    if (record.at("group").string() != "c") continue;
    const std::string id = record.at("id").string(), file = record.at("input").at("file").string();
    const std::filesystem::path path = cases / file.substr(file.find('/') + 1);
    const Reader want = record.at("observed");
    if (want.has("parse")) {
      try {
        import_topology_file(path, builtin_catalog());
        ADD_FAILURE() << id << " must be refused";
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("topo -m"), std::string::npos) << e.what();
      }
    } else if (want.has("root")) {
      expect_xml(import_topology_file(path, builtin_catalog()), want, id);
    } else {
      expect_matrix(import_topology_file(path, builtin_catalog()), want, id);
    }
    ++read;
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace meshwright::topology
