#pragma once

namespace meshwright {

inline constexpr const char* version = "0.1.0";

}  // namespace meshwright
