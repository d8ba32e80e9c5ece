#pragma once
// Where figures of run_fields() stand in overlays: devices and media by name, stacks by their profile's fields.
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "meshwright/hardware/accelerator.hpp"

namespace meshwright::calibrate {

/// To four digits.
double rounded(double value);
/// "device", "medium" or "framework", and its name.
struct OwnerParts {
  std::string kind, name;
};
OwnerParts owner_parts(const std::string& owner);
/// The entry of a list of objects with that name, added where it is missing.
nlohmann::ordered_json& named(nlohmann::ordered_json& list, std::string_view name);
/// Attention's backward pass and softmax move with its forward pass, 16-bit formats together.
void set_device_field(nlohmann::ordered_json& entry, const std::string& field, double value, const Accelerator& device);
/// Times in microseconds, shares and factors as numbers.
void set_stack_field(nlohmann::ordered_json& entry, const std::string& field, double value);

}  // namespace meshwright::calibrate
