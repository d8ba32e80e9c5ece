#include "source_dir.hpp"

namespace meshwright {

std::filesystem::path source_dir() { return MESHWRIGHT_SOURCE_DIR; }

}  // namespace meshwright
