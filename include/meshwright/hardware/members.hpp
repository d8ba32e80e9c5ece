#pragma once
// The members by which nodes and networks of cluster files differ (labels, prices and sources left out).
#include <string_view>
#include <vector>

namespace meshwright::hardware {

const std::vector<std::string_view>& node_members();
const std::vector<std::string_view>& network_members();

}  // namespace meshwright::hardware
