#include "meshwright/core/dtype.hpp"

#include <vector>

#include "meshwright/core/names.hpp"

namespace meshwright {

DType parse_dtype(std::string_view text, const std::string& where) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (dtype_names[i] == text) return static_cast<DType>(i);
  }
  const std::vector<std::string> names(dtype_names.begin(), dtype_names.end());
  throw UnknownName(where, "found the number format '" + std::string(text) + "'" + suggestion(text, names));
}

}  // namespace meshwright
