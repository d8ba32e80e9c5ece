#pragma once
// What a record says of its recipe, as a job file would say it (data/recipes/record-flags.json).
#include <optional>

#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {

struct RecordFlags {
  std::optional<Reader> recipe;  ///< a "recipe" object; nothing where the record says nothing of it
  std::optional<Reader> layout;  ///< members of a "layout" object
};
RecordFlags flags_of_record(const Reader& record);

}  // namespace meshwright::calibrate
