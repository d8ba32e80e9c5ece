#include "meshwright/hardware/efficiency.hpp"

#include <algorithm>
#include <string>

#include "hardware/efficiency_reader.hpp"
#include "hardware/fields.hpp"
#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::hardware {
namespace {

template <auto Field>
Member<OwnerOf<Field>> fraction_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::number(1e-6, 1), [](const Reader& r, auto& e) { e.*Field = stated_fraction(r); }};
}

template <auto Field>
Member<OwnerOf<Field>> positive_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::number(0, 1e18), [](const Reader& r, auto& e) {
            const double value = r.number();
            if (value < 0 || value > 1e18) r.fail("expected a number from 0 to 1e18, found " + r.dump());
            e.*Field = value;
          }};
}

/// Factors of at least 1, by falling alignment.
std::array<double, 3> read_slowdowns(const Reader& list) {
  std::array<double, 3> values{};
  const std::vector<Reader> items = list.items();
  if (items.size() != values.size()) list.fail("expected three numbers, for rows aligned to 8, 4 and 2 bytes");
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = items[i].number();
    if (values[i] < 1 || values[i] > 100) items[i].fail("expected a factor from 1 to 100, found " + items[i].dump());
  }
  return values;
}

/// Rows of every kind of figures: how well they are known.
template <class T>
Members<T> with_evidence(Members<T> rows) {
  rows.push_back(choice_member<&T::evidence>("evidence", {evidence_names.begin(), evidence_names.end()}, ""));
  rows.push_back(text_member<&T::source>("source", "where the figures come from"));
  return rows;
}

const Members<GemmEfficiency>& gemm_members() {
  using G = GemmEfficiency;
  static const Members<G> rows = with_evidence<G>(
      {fraction_member<&G::ceiling>("ceiling", "of the dense peak, large products in short bursts"),
       fraction_member<&G::sustained>("sustained", "of that, in a training step"),
       positive_member<&G::fade>("fade", "of a loop over one long kernel"),
       quantity_member<&G::floor>("floor", "the smallest launch"),
       positive_member<&G::k_half>("k_half", "k at which half of the ceiling is reached"),
       quantity_member<&G::k_step>("k_step", "serial time of an element of k"),
       fraction_member<&G::memory>("memory", "of the memory bandwidth, operands"),
       quantity_member<&G::cast_floor>("cast_floor", "launches that quantise activations"),
       fraction_member<&G::cast_memory>("cast_memory", "of the memory bandwidth, quantising them"),
       {"misaligned", "compute time over that of aligned rows, at 8, 4 and 2 bytes",
        shape::list(shape::number(1, 100), 3), [](const Reader& r, G& e) { e.misaligned = read_slowdowns(r); }}});
  return rows;
}

const Members<AttentionEfficiency>& attention_members() {
  using A = AttentionEfficiency;
  static const Members<A> rows =
      with_evidence<A>({fraction_member<&A::forward>("forward", "of the dense peak"),
                        fraction_member<&A::backward>("backward", "of the dense peak"),
                        positive_member<&A::softmax>("softmax", "query-key pairs a second"),
                        positive_member<&A::seq_half>("seq_half", "sequence at which half of the rate is reached"),
                        fraction_member<&A::memory>("memory", "of the memory bandwidth"),
                        quantity_member<&A::floor>("floor", "the smallest launch"),
                        quantity_member<&A::seq_step>("seq_step", "serial time of a key")});
  return rows;
}

const Members<MemoryEfficiency>& memory_members() {
  using M = MemoryEfficiency;
  static const Members<M> rows = with_evidence<M>({fraction_member<&M::fraction>("fraction", "of the memory bandwidth"),
                                                   quantity_member<&M::floor>("floor", "the smallest kernel")});
  return rows;
}

/// Figures of a format that took another's are its own once an entry states what they rest on.
void read_gemm(const Reader& r, GemmEfficiency& e) {
  if (r.has("ceiling") || r.has("source")) e.taken_from.reset();
  read_members(r, gemm_members(), e);
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
    if (g.ceiling > 0) mark(g), g.taken_from.reset();
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

/// An entry of "devices": the device that it speaks of, which the catalogue may lack, and its figures.
struct Entry {
  std::vector<Accelerator>* accelerators;
  Accelerator* device = nullptr;
};

void borrow(const Reader& like, Entry& entry) {
  const Accelerator* sibling = named(*entry.accelerators, like.string());
  if (sibling == nullptr || !known(sibling->efficiency)) {
    like.fail("no efficiency known for '" + like.string() + "'; expected a device that stands above this one");
  }
  entry.device->efficiency = borrowed(*sibling);
}

void read_formats(const Reader& formats, Entry& entry) {
  for (const std::string& key : formats.keys()) {
    read_gemm(formats.at(key), own_figures(entry.device->efficiency, parse_gemm_format(key, formats.where())));
  }
}

template <auto Part, class T>
Member<Entry> part(std::string_view key, std::string_view doc, const Members<T>& rows) {
  return {key, doc, shape_of(rows),
          [&rows](const Reader& r, Entry& entry) { read_members(r, rows, entry.device->efficiency.*Part); }};
}

const Members<Entry>& entry_members() {
  using D = DeviceEfficiency;
  static const Members<Entry> rows = {
      needed<Entry>({"name", "a device of the catalogue", shape::text()}),
      {"like", "another device whose figures it takes first", shape::text(), borrow},
      {"gemm", "by format", shape::map(shape_of(gemm_members())), read_formats},
      part<&D::attention>("attention", "the best kernels of training stacks", attention_members()),
      part<&D::attention_v2>("attention_v2", "FlashAttention-2, where it is slower", attention_members()),
      part<&D::prefill>("prefill", "kernels of inference stacks", attention_members()),
      part<&D::prefill_fp8>("prefill_fp8", "the same with an fp8 cache", attention_members()),
      {"gemm_by_library", "by library, then by format", shape::map(shape::map(shape_of(gemm_members()))),
       [](const Reader& r, Entry& entry) { read_libraries(r, entry.device->efficiency.gemm_by_library); }},
      part<&D::memory>("memory", "streaming kernels", memory_members()),
      {"notes", "", shape::anything()}};
  return rows;
}

void read_device(std::vector<Accelerator>& accelerators, const Reader& r) {
  Entry entry{&accelerators, named(accelerators, r.at("name").string())};
  if (entry.device != nullptr) return read_members(r, entry_members(), entry);
  r.allow_only(keys_of(entry_members()));
}

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

void fill_dtypes(Accelerator& device) {
  DeviceEfficiency filled = device.efficiency;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    const GemmEfficiency& own = device.efficiency.of(t);
    if (device.peak(t).value() <= 0 || (own.ceiling > 0 && !own.taken_from)) continue;
    for (const DType other : kin(t)) {
      const GemmEfficiency& from = device.efficiency.of(other);
      if (from.ceiling <= 0 || from.taken_from) continue;
      filled.of(t) = from;
      filled.of(t).evidence = std::max(from.evidence, Evidence::extrapolated);
      filled.of(t).source = "as " + std::string(name(other));
      filled.of(t).taken_from = other;
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

JsonSchema device_efficiency_shape() { return shape_of(entry_members()); }

void attach_efficiency(std::vector<Accelerator>& accelerators, const Reader& file) {
  file.allow_only({"description", "sources", "devices", "media", "frameworks", "fit", "residuals"});
  for (const Reader& entry : file.at("devices").items()) read_device(accelerators, entry);
  fill_missing(accelerators);
}

}  // namespace meshwright::hardware
