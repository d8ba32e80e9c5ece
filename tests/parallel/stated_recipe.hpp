#pragma once
// The recipe that a job assumed, as an object that states it.
#include <algorithm>
#include <string>

#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// "recipe kernels: attention vendor, graph_parts attention + router (megatron-core)" as a member of a "recipe" object.
inline std::string stated_again(const std::string& line) {
  const std::size_t name = line.find("recipe ") + 7, colon = line.find(": "), end = line.rfind(" (");
  std::string members;
  for (std::size_t at = colon + 2; at < end;) {
    const std::size_t space = line.find(' ', at), next = std::min(line.find(", ", at), end);
    std::string value = line.substr(space + 1, next - space - 1);
    const std::string key = line.substr(at, space - at);
    const bool plain = value == "true" || value.find_first_not_of("0123456789.") == std::string::npos;
    for (std::size_t plus = value.find(" + "); plus != std::string::npos; plus = value.find(" + "))
      value.replace(plus, 3, "\", \"");
    const bool set = key == "recompute_modules" || key == "graph_parts" || key == "targets";
    members += (members.empty() ? "\"" : ", \"") + key + "\": " +
               (plain ? value
                : set ? "[\"" + value + "\"]"
                      : "\"" + value + "\"");
    at = next + 2;
  }
  return "\"" + line.substr(name, colon - name) + "\": {" + members + "}";
}

/// All of them: {"states": {...}, ...}.
inline std::string stated_recipe(const Job& job) {
  std::string all;
  for (const std::string& line : job.assumptions) {
    if (line.starts_with("recipe ")) all += (all.empty() ? "{" : ", ") + stated_again(line);
  }
  return (all.empty() ? "{" : all) + "}";
}

}  // namespace meshwright::parallel
