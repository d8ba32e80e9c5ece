#include "meshwright/hardware/efficiency.hpp"

#include <algorithm>
#include <string>

#include "hardware/efficiency_reader.hpp"
#include "hardware/fields.hpp"
#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::hardware {
namespace {

double fraction(const Reader& object, std::string_view key, double fallback) {
  const auto member = object.find(key);
  return member ? stated_fraction(*member) : fallback;
}

double not_negative(const Reader& object, std::string_view key, double fallback) {
  const auto member = object.find(key);
  if (!member) return fallback;
  const double value = member->number();
  if (value < 0 || value > 1e18) member->fail("expected a number from 0 to 1e18, found " + member->dump());
  return value;
}

/// Factors of at least 1, by falling alignment.
std::array<double, 3> slowdowns(const Reader& object, std::string_view key, std::array<double, 3> values) {
  const auto member = object.find(key);
  if (!member) return values;
  const std::vector<Reader> items = member->items();
  if (items.size() != values.size()) member->fail("expected three numbers, for rows aligned to 8, 4 and 2 bytes");
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = items[i].number();
    if (values[i] < 1 || values[i] > 100) items[i].fail("expected a factor from 1 to 100, found " + items[i].dump());
  }
  return values;
}

Evidence evidence_of(const Reader& object, Evidence fallback) {
  static const std::vector<std::string> names(evidence_names.begin(), evidence_names.end());
  const auto member = object.find("evidence");
  return member ? static_cast<Evidence>(member->one_of(names)) : fallback;
}

void read_gemm(const Reader& r, GemmEfficiency& e) {
  r.allow_only({"ceiling", "sustained", "fade", "floor", "k_half", "k_step", "memory", "cast_floor", "cast_memory",
                "misaligned", "evidence", "source"});
  e.ceiling = fraction(r, "ceiling", e.ceiling);
  e.sustained = fraction(r, "sustained", e.sustained);
  e.fade = not_negative(r, "fade", e.fade);
  e.floor = r.quantity_or("floor", e.floor);
  e.k_half = not_negative(r, "k_half", e.k_half);
  e.k_step = r.quantity_or("k_step", e.k_step);
  e.memory = fraction(r, "memory", e.memory);
  e.cast_floor = r.quantity_or("cast_floor", e.cast_floor);
  e.cast_memory = fraction(r, "cast_memory", e.cast_memory);
  e.misaligned = slowdowns(r, "misaligned", e.misaligned);
  e.evidence = evidence_of(r, e.evidence);
  e.source = r.string_or("source", e.source);
}

void read_attention(const Reader& r, AttentionEfficiency& e) {
  r.allow_only({"forward", "backward", "softmax", "seq_half", "memory", "floor", "seq_step", "evidence", "source"});
  e.forward = fraction(r, "forward", e.forward);
  e.backward = fraction(r, "backward", e.backward);
  e.softmax = not_negative(r, "softmax", e.softmax);
  e.seq_half = not_negative(r, "seq_half", e.seq_half);
  e.memory = fraction(r, "memory", e.memory);
  e.floor = r.quantity_or("floor", e.floor);
  e.seq_step = r.quantity_or("seq_step", e.seq_step);
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
  if (e.gemm_fp8_block.ceiling > 0) mark(e.gemm_fp8_block);
  for (LibraryGemm& g : e.gemm_by_library) mark(g.efficiency);
  for (AttentionEfficiency* a : {&e.attention, &e.attention_v2, &e.prefill, &e.prefill_fp8}) {
    if (a->forward > 0) mark(*a);
  }
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

void read_libraries(const Reader& libraries, std::vector<LibraryGemm>& all) {
  for (const std::string& library : libraries.keys()) {
    const Reader formats = libraries.at(library);
    for (const std::string& format : formats.keys()) {
      const auto same =
          std::ranges::find_if(all, [&](const LibraryGemm& g) { return g.library == library && g.format == format; });
      LibraryGemm& entry = same == all.end() ? all.emplace_back(LibraryGemm{library, format, {}}) : *same;
      read_gemm(formats.at(format), entry.efficiency);
    }
  }
}

void read_device(std::vector<Accelerator>& accelerators, const Reader& r) {
  r.allow_only({"name", "like", "gemm", "attention", "attention_v2", "prefill", "prefill_fp8", "memory",
                "gemm_by_library", "notes"});
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
      read_gemm(gemm->at(key), own_figures(device->efficiency, parse_gemm_format(key, gemm->where())));
    }
  }
  if (const auto attention = r.find("attention")) read_attention(*attention, device->efficiency.attention);
  if (const auto attention = r.find("attention_v2")) read_attention(*attention, device->efficiency.attention_v2);
  if (const auto prefill = r.find("prefill")) read_attention(*prefill, device->efficiency.prefill);
  if (const auto prefill = r.find("prefill_fp8")) read_attention(*prefill, device->efficiency.prefill_fp8);
  if (const auto libraries = r.find("gemm_by_library")) read_libraries(*libraries, device->efficiency.gemm_by_library);
  if (const auto memory = r.find("memory")) read_memory(*memory, device->efficiency.memory);
}

std::string as(DType other) { return "as " + std::string(name(other)); }

/// Where a dtype's ceiling comes from when it was not measured, nearest kin first.
std::vector<DType> kin(DType t) {
  switch (t) {
    case DType::bf16:
      return {DType::fp16, DType::tf32, DType::fp8};
    case DType::fp16:
      return {DType::bf16, DType::tf32, DType::fp8};
    case DType::fp8:
      return {DType::int8, DType::bf16, DType::fp16};
    case DType::int8:
      return {DType::fp8, DType::bf16, DType::fp16};
    case DType::fp6:
      return {DType::fp8, DType::bf16};
    case DType::fp4:
      return {DType::fp8, DType::int8, DType::bf16};
    default:
      return {DType::bf16, DType::fp16, DType::fp8};
  }
}

/// True where a figure was filled in from another dtype of the device, and may be again.
bool derived(const GemmEfficiency& e, DType t) {
  return std::ranges::any_of(kin(t), [&](DType other) { return e.source == as(other); });
}

void fill_dtypes(Accelerator& device) {
  DeviceEfficiency filled = device.efficiency;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    const GemmEfficiency& own = device.efficiency.of(t);
    if (device.peak(t).value() <= 0 || (own.ceiling > 0 && !derived(own, t))) continue;
    for (const DType other : kin(t)) {
      const GemmEfficiency& from = device.efficiency.of(other);
      if (from.ceiling <= 0 || derived(from, other)) continue;
      filled.of(t) = from;
      filled.of(t).evidence = std::max(from.evidence, Evidence::extrapolated);
      filled.of(t).source = as(other);
      break;
    }
  }
  device.efficiency = filled;
}

/// Figures for hardware of which nothing is published: the middle of what is measured elsewhere.
DeviceEfficiency generic() {
  DeviceEfficiency e;
  const std::string source = "no measurement published; the middle of the devices that were measured";
  e.of(DType::bf16) = {.ceiling = 0.7,
                       .sustained = 0.9,
                       .floor = Seconds::base(5e-6),
                       .k_half = 128,
                       .evidence = Evidence::data_sheet,
                       .source = source};
  e.attention = {.forward = 0.45,
                 .backward = 0.38,
                 .seq_half = 500,
                 .floor = Seconds::base(10e-6),
                 .evidence = Evidence::data_sheet,
                 .source = source};
  e.memory = {.fraction = 0.8, .floor = Seconds::base(3e-6), .evidence = Evidence::data_sheet, .source = source};
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
  file.allow_only({"description", "sources", "devices", "media", "frameworks", "fit", "residuals"});
  for (const Reader& entry : file.at("devices").items()) read_device(accelerators, entry);
  fill_missing(accelerators);
}

}  // namespace meshwright::hardware
