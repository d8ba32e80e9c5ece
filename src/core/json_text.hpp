#pragma once
// JSON as text, whatever bytes its strings hold: names of files and arguments of a command line need not be UTF-8.
#include <nlohmann/json.hpp>
#include <string>

namespace meshwright {

template <class Json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace meshwright
