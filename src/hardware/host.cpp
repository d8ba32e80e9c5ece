#include "meshwright/hardware/host.hpp"

#include "core/embedded.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::hardware {
namespace {

Reader document() { return Reader::text(embedded_hosts().front().content, "data/hardware/platforms/hosts.json"); }

std::vector<SocketLink> read_socket_links(const Reader& list) {
  std::vector<SocketLink> links;
  for (const Reader& row : list.items()) {
    row.allow_only({"slot_below", "link"});
    links.push_back(
        {row.quantity_or("slot_below", BytesPerSecond{}), row.at("link").quantity<BytesPerSecond::dimension>()});
  }
  return links;
}

std::vector<HostKind> read_hosts() {
  std::vector<HostKind> kinds;
  const Reader file = document();
  for (const Reader& entry : file.at("hosts").items()) {
    entry.allow_only({"name", "aliases", "time", "link", "vendor", "socket_link", "socket_links", "socket_latency",
                      "x86", "nccl_vendor"});
    HostKind kind{.name = entry.at("name").string(),
                  .aliases = {},
                  .time = entry.at("time").number(),
                  .link = entry.quantity_or("link", BytesPerSecond{}),
                  .vendor = entry.string_or("vendor", ""),
                  .socket_link = entry.quantity_or("socket_link", BytesPerSecond{}),
                  .socket_links = {},
                  .socket_latency = entry.at("socket_latency").quantity<Seconds::dimension>(),
                  .x86 = entry.boolean_or("x86", true),
                  .nccl_vendor = entry.string_or("nccl_vendor", "")};
    for (const Reader& alias : entry.at("aliases").items()) kind.aliases.push_back(alias.string());
    if (kind.socket_link <= BytesPerSecond{}) kind.socket_links = read_socket_links(entry.at("socket_links"));
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

const std::vector<HostKind>& kinds() {
  static const std::vector<HostKind> all = read_hosts();
  return all;
}

HostMemory read_memory() {
  const Reader file = document(), memory = file.at("memory");
  memory.allow_only({"reached", "update", "buffers", "left_to_others"});
  return {memory.at("reached").number(), memory.at("update").quantity<Seconds::dimension>(),
          memory.at("buffers").number(), memory.at("left_to_others").number()};
}

}  // namespace

const HostKind& host_kind(std::string_view name, const std::string& where) {
  if (name.empty()) return kinds().front();
  if (const HostKind* kind = find_named(kinds(), name)) return *kind;
  std::vector<std::string> valid;
  for (const HostKind& kind : kinds()) valid.push_back(kind.name);
  throw UnknownName(where, "unknown host processor '" + std::string(name) + "'" + suggestion(name, valid));
}

const HostMemory& host_memory() {
  static const HostMemory memory = read_memory();
  return memory;
}

BytesPerSecond host_ethernet() {
  static const BytesPerSecond rate = document().at("ethernet").quantity<BytesPerSecond::dimension>();
  return rate;
}

}  // namespace meshwright::hardware
