#include "meshwright/hardware/efficiency.hpp"

#include <algorithm>
#include <string>

#include "hardware/efficiency_reader.hpp"

namespace meshwright {
namespace {

double fraction(const Reader& object, std::string_view key, double fallback) {
  const auto member = object.find(key);
  if (!member) return fallback;
  const double value = member->number();
  if (value <= 0 || value > 1) member->fail("expected a fraction above 0 and at most 1, found " + member->dump());
  return value;
}

double positive(const Reader& object, std::string_view key, double fallback) {
  const auto member = object.find(key);
  if (!member) return fallback;
  const double value = member->number();
  if (value < 0) member->fail("expected a number of at least 0, found " + member->dump());
  return value;
}

Evidence evidence_of(const Reader& object, Evidence fallback) {
  static const std::vector<std::string> names = {"measured", "calibrated", "extrapolated", "data_sheet"};
  const auto member = object.find("evidence");
  return member ? static_cast<Evidence>(member->one_of(names)) : fallback;
}

void read_gemm(const Reader& r, GemmEfficiency& e) {
  r.allow_only({"ceiling", "sustained", "floor", "tile_m", "tile_n", "k_half", "evidence", "source"});
  e.ceiling = fraction(r, "ceiling", e.ceiling);
  e.sustained = fraction(r, "sustained", e.sustained);
  e.floor = r.quantity_or("floor", e.floor);
  e.tile_m = std::max(1.0, positive(r, "tile_m", e.tile_m));
  e.tile_n = std::max(1.0, positive(r, "tile_n", e.tile_n));
  e.k_half = positive(r, "k_half", e.k_half);
  e.evidence = evidence_of(r, e.evidence);
  e.source = r.string_or("source", e.source);
}

void read_attention(const Reader& r, AttentionEfficiency& e) {
  r.allow_only({"forward", "backward", "forward_d64", "backward_d64", "seq_half", "floor", "evidence", "source"});
  e.forward = fraction(r, "forward", e.forward);
  e.backward = fraction(r, "backward", e.backward);
  e.forward_d64 = fraction(r, "forward_d64", e.forward_d64);
  e.backward_d64 = fraction(r, "backward_d64", e.backward_d64);
  e.seq_half = positive(r, "seq_half", e.seq_half);
  e.floor = r.quantity_or("floor", e.floor);
  e.evidence = evidence_of(r, e.evidence);
  e.source = r.string_or("source", e.source);
}

void read_memory(const Reader& r, MemoryEfficiency& e) {
  r.allow_only({"fraction", "floor", "evidence", "source"});
  e.fraction = fraction(r, "fraction", e.fraction);
  e.floor = r.quantity_or("floor", e.floor);
  e.evidence = evidence_of(r, e.evidence);
  e.source = r.string_or("source", e.source);
}

/// The same figures on another device: what was measured there is an extrapolation here.
DeviceEfficiency borrowed(const Accelerator& from) {
  DeviceEfficiency e = from.efficiency;
  const std::string source = "as " + from.name;
  const auto mark = [&](auto& part) {
    part.evidence = std::max(part.evidence, Evidence::extrapolated);
    part.source = source;
  };
  for (GemmEfficiency& g : e.gemm) {
    if (g.ceiling > 0) mark(g);
  }
  mark(e.attention);
  mark(e.memory);
  return e;
}

bool known(const DeviceEfficiency& e) {
  return std::any_of(e.gemm.begin(), e.gemm.end(), [](const GemmEfficiency& g) { return g.ceiling > 0; });
}

Accelerator* named(std::vector<Accelerator>& accelerators, std::string_view name) {
  const auto found = std::find_if(accelerators.begin(), accelerators.end(), [&](auto& a) { return a.name == name; });
  return found == accelerators.end() ? nullptr : &*found;
}

void read_device(std::vector<Accelerator>& accelerators, const Reader& r) {
  r.allow_only({"name", "like", "gemm", "attention", "memory", "notes"});
  Accelerator* device = named(accelerators, r.at("name").string());
  if (device == nullptr) return;
  if (const auto like = r.find("like")) {
    const Accelerator* sibling = named(accelerators, like->string());
    if (sibling == nullptr || !known(sibling->efficiency)) {
      like->fail("no efficiency known for '" + like->string() + "'; expected a device that stands above this one");
    }
    device->efficiency = borrowed(*sibling);
  }
  if (const auto gemm = r.find("gemm")) {
    for (const std::string& key : gemm->keys()) {
      const DType t = parse_dtype(key, gemm->where());
      read_gemm(gemm->at(key), device->efficiency.of(t));
    }
  }
  if (const auto attention = r.find("attention")) read_attention(*attention, device->efficiency.attention);
  if (const auto memory = r.find("memory")) read_memory(*memory, device->efficiency.memory);
}

/// Where a dtype's ceiling comes from when it was not measured, nearest kin first.
std::vector<DType> kin(DType t) {
  switch (t) {
    case DType::bf16:
      return {DType::fp16, DType::tf32, DType::fp8};
    case DType::fp16:
      return {DType::bf16, DType::tf32, DType::fp8};
    case DType::fp8:
    case DType::int8:
      return {DType::fp8, DType::int8, DType::bf16, DType::fp16};
    case DType::fp6:
      return {DType::fp8, DType::bf16};
    case DType::fp4:
      return {DType::fp8, DType::int8, DType::bf16};
    default:
      return {DType::tf32, DType::bf16, DType::fp16, DType::fp8};
  }
}

void fill_dtypes(Accelerator& device) {
  DeviceEfficiency filled = device.efficiency;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    if (device.peak(t).value() <= 0 || filled.of(t).ceiling > 0) continue;
    for (const DType other : kin(t)) {
      const GemmEfficiency& from = device.efficiency.of(other);
      if (from.ceiling <= 0) continue;
      filled.of(t) = from;
      filled.of(t).evidence = std::max(from.evidence, Evidence::extrapolated);
      filled.of(t).source = "as " + std::string(name(other));
      break;
    }
  }
  device.efficiency = filled;
}

/// Generic figures for hardware of which nothing is published: 0.7 of peak, the middle of what is measured elsewhere.
DeviceEfficiency generic() {
  DeviceEfficiency e;
  e.of(DType::bf16) = {.ceiling = 0.7,
                       .floor = Seconds::base(8e-6),
                       .tile_m = 128,
                       .tile_n = 128,
                       .k_half = 256,
                       .evidence = Evidence::data_sheet,
                       .source = "no measurement published; 0.7 of peak assumed"};
  e.attention = {.forward = 0.4,
                 .backward = 0.33,
                 .forward_d64 = 0.3,
                 .backward_d64 = 0.25,
                 .seq_half = 512,
                 .floor = Seconds::base(10e-6),
                 .evidence = Evidence::data_sheet,
                 .source = "assumed"};
  e.memory = {.fraction = 0.8, .floor = Seconds::base(3e-6), .evidence = Evidence::data_sheet, .source = "assumed"};
  return e;
}

void fill_missing(std::vector<Accelerator>& accelerators) {
  const std::vector<Accelerator> before = accelerators;
  for (Accelerator& device : accelerators) {
    if (!known(device.efficiency)) {
      const auto sibling = std::find_if(before.begin(), before.end(), [&](const Accelerator& a) {
        return !device.architecture.empty() && a.architecture == device.architecture && known(a.efficiency);
      });
      device.efficiency = sibling != before.end() ? borrowed(*sibling) : generic();
    }
    fill_dtypes(device);
  }
}

}  // namespace

void attach_efficiency(std::vector<Accelerator>& accelerators, const Reader& file) {
  file.allow_only({"description", "sources", "devices", "residuals"});
  for (const Reader& entry : file.at("devices").items()) read_device(accelerators, entry);
  fill_missing(accelerators);
}

}  // namespace meshwright
