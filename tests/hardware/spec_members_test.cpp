// What is said of a cluster is read, written back and laid over what was said before, member by member.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/hardware/members.hpp"

namespace meshwright::hardware {
namespace {

using Json = nlohmann::json;

const char* const every_member = R"({
  "node": {"name": "box", "accelerator": "H100-SXM5-80GB", "accelerators": 4, "scale_up": "switched",
           "scale_up_domain": 8, "scale_up_bandwidth": "450000000000 B/s", "scale_up_switch": "nvswitch3", "nics": 4,
           "nic": "ConnectX-7", "nic_bandwidth": "50000000000 B/s", "fabric": "roce", "dcn_bandwidth": "1000000000 B/s",
           "pcie": "pcie-gen5", "sockets": 1, "cpu": "amd", "host_memory": "512000000000 B", "power": "9000 W", "title": "A box", "aliases": ["crate"],
           "announced": true, "notes": "one of a kind",
           "prices": [{"amount": "100000 $", "kind": "list", "date": "2026", "confidence": "low", "url": "https://x"},
                      {"rate": "20 $/h", "kind": "rent", "date": "2026", "confidence": "high", "provider": "us"}]},
  "nodes": 8,
  "network": {"topology": "fat-tree", "tiers": 2, "oversubscription": [2.0, 1.0], "reach": [16, 32], "planes": 2,
              "nodes": 16, "switch": "Quantum-2", "routing": "ecmp", "efficiency": 0.9,
              "dcn_bandwidth": "1000000000 B/s"}})";

ClusterSpec said(const Json& object) { return read_cluster_spec(Reader::text(object.dump(), "test")); }

TEST(SpecMembers, AreWrittenAsTheyAreRead) {
  const Json object = Json::parse(every_member);
  EXPECT_EQ(Json::parse(to_json(said(object))), object);
  for (const std::string_view member : node_members()) EXPECT_TRUE(object["node"].contains(member)) << member;
  for (const std::string_view member : network_members()) EXPECT_TRUE(object["network"].contains(member)) << member;
}

TEST(SpecMembers, EachTellsTwoClustersApart) {
  const Json object = Json::parse(every_member);
  for (const char* part : {"node", "network"}) {
    for (const auto& [key, value] : object[part].items()) {
      Json other = object;
      other[part].erase(key);
      EXPECT_FALSE(said(object) == said(other)) << key;
    }
  }
}

}  // namespace
}  // namespace meshwright::hardware
