#pragma once
#include <functional>
#include <string>

#include "meshwright/core/error.hpp"

namespace meshwright {

/// What `action` is refused with, or "accepted".
inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace meshwright
