#include "meshwright/collectives/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/estimate_algorithms.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

constexpr std::array<std::string_view, 7> algorithm_names = {"ring",    "tree",     "nvls",  "nvls_tree",
                                                             "collnet", "pairwise", "direct"};

struct Candidate {
  Cost cost;
  std::string_view algorithm;
  Protocol protocol = Protocol::simple;
};

/// Candidates in a fixed array: estimate() runs hundreds of thousands of times while tables are built.
struct Candidates {
  std::array<Candidate, 12> storage{};
  std::size_t size = 0;

  void add(std::string_view algorithm, Protocol protocol, const std::optional<Cost>& cost) {
    if (cost) storage[size++] = {*cost, algorithm, protocol};
  }
  std::span<Candidate> all() { return {storage.data(), size}; }
};

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_' && c != '-' && c != ' ') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return out;
}

/// What the options allow, as indices; -1 = anything. Throws for names that don't exist.
struct Allowed {
  std::string_view algorithm;
  int protocol = -1;

  explicit Allowed(const CollectiveOptions& options) {
    if (!options.algorithm.empty()) algorithm = find_algorithm(options.algorithm);
    if (!options.protocol.empty()) protocol = find_protocol(options.protocol);
  }
  static std::string_view find_algorithm(const std::string& text) {
    std::string wanted = squeezed(text);
    if (wanted == "collnetdirect" || wanted == "collnetchain" || wanted == "sharp") wanted = "collnet";
    if (wanted == "auto") return {};
    for (const std::string_view name : algorithm_names) {
      if (squeezed(name) == wanted) return name;
    }
    const std::vector<std::string> valid(algorithm_names.begin(), algorithm_names.end());
    throw Error("algorithm", fmt::format("'{}' is not an algorithm{}", text, suggestion(text, valid)));
  }
  static int find_protocol(const std::string& text) {
    for (std::size_t i = 0; i < protocol_count; ++i) {
      if (squeezed(protocol_names[i]) == squeezed(text)) return static_cast<int>(i);
    }
    const std::vector<std::string> valid(protocol_names.begin(), protocol_names.end());
    throw Error("protocol", fmt::format("'{}' is not a protocol{}", text, suggestion(text, valid)));
  }
  bool takes(std::string_view name, Protocol p) const {
    return (algorithm.empty() || algorithm == name) && (protocol < 0 || protocol == static_cast<int>(p));
  }
};

Candidates price(const Question& q, const Platform& platform, const CollectiveOptions& options) {
  const Allowed allowed(options);
  Candidates found;
  for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    if (allowed.takes("ring", p)) found.add("ring", p, ring_cost(q, p));
    if (allowed.takes("tree", p)) found.add("tree", p, tree_cost(q, p));
  }
  const Protocol simple = Protocol::simple;
  const bool nvls = options.nvls || allowed.algorithm.starts_with("nvls");
  const bool collnet = options.collnet || allowed.algorithm == "collnet";
  if (nvls && allowed.takes("nvls", simple)) found.add("nvls", simple, nvls_cost(q));
  if (nvls && allowed.takes("nvls_tree", simple)) found.add("nvls_tree", simple, nvls_tree_cost(q));
  if (collnet && allowed.takes("collnet", simple)) found.add("collnet", simple, collnet_cost(q));
  for (const Protocol p : {Protocol::ll, simple}) {
    if (allowed.takes("pairwise", p)) found.add("pairwise", p, pairwise_cost(q, platform, p));
  }
  if (allowed.takes("direct", simple)) found.add("direct", simple, direct_cost(q));
  if (found.size > 0) return found;
  throw Error("algorithm", fmt::format("{}{}{} does not apply to {} of {} ranks in {} scale-up domain{}",
                                       options.algorithm.empty() ? "any algorithm" : options.algorithm,
                                       options.protocol.empty() ? "" : " with ", options.protocol, name(q.collective),
                                       q.ladder.ranks, q.ladder.domains, q.ladder.domains == 1 ? "" : "s"));
}

CollectiveEstimate told(const Candidate& c) {
  const std::string& link = c.cost.limit->level->link;
  return {.time = Seconds::base(c.cost.time()),
          .algorithm = c.algorithm,
          .protocol = name(c.protocol),
          .limiting_link = link.empty() ? c.cost.limit->medium->name : link,
          .latency = Seconds::base(c.cost.latency),
          .wire = Seconds::base(c.cost.wire)};
}

Question question(Collective collective, Bytes bytes, const Ladder& ladder, const Platform& platform) {
  double base = platform.scale_up.base.value();
  if (ladder.network() != nullptr) base += platform.scale_out.base.value();
  return {collective, bytes.value(), ladder, base};
}

bool faster(const Candidate& a, const Candidate& b) { return a.cost.time() < b.cost.time(); }

}  // namespace

CollectiveEstimate estimate(Collective collective, Bytes bytes, const GroupPlace& place, const Platform& platform,
                            const CollectiveOptions& options) {
  if (place.size() <= 1) return {.algorithm = "none", .protocol = "", .limiting_link = ""};
  const Ladder ladder = make_ladder(place, platform);
  Candidates found = price(question(collective, bytes, ladder, platform), platform, options);
  return told(*std::ranges::min_element(found.all(), faster));
}

bool applies(Collective collective, const GroupPlace& place, const Platform& platform,
             const CollectiveOptions& options) {
  try {
    estimate(collective, Bytes::base(1), place, platform, options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<CollectiveEstimate> candidates(Collective collective, Bytes bytes, const GroupPlace& place,
                                           const Platform& platform, const CollectiveOptions& options) {
  std::vector<CollectiveEstimate> told_all;
  if (place.size() <= 1) return told_all;
  const Ladder ladder = make_ladder(place, platform);
  Candidates found = price(question(collective, bytes, ladder, platform), platform, options);
  std::ranges::stable_sort(found.all(), faster);
  for (const Candidate& c : found.all()) told_all.push_back(told(c));
  return told_all;
}

}  // namespace meshwright::collectives
