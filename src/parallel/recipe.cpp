#include "meshwright/parallel/recipe.hpp"

#include <algorithm>
#include <array>

#include "core/embedded.hpp"
#include "meshwright/core/names.hpp"
#include "parallel/part_reader.hpp"

namespace meshwright::parallel {
namespace {

template <class Row>
struct NamedRow : Row {
  std::vector<std::string> aliases;
};

Reader document(std::string_view file_name) {
  for (const EmbeddedFile& file : embedded_recipes()) {
    if (file.name == file_name) return Reader::text(file.content, "data/recipes/" + std::string(file_name));
  }
  throw Error("data/recipes", "no " + std::string(file_name));
}

template <class Row>
const Row& row_of(const std::vector<NamedRow<Row>>& rows, std::string_view what, std::string_view name,
                  const std::string& where) {
  if (const auto* row = find_named(rows, name)) return *row;
  std::vector<std::string> valid;
  for (const auto& row : rows) valid.push_back(row.name);
  throw UnknownName(where, "unknown " + std::string(what) + " '" + std::string(name) + "'" + suggestion(name, valid));
}

std::vector<NamedRow<AttentionKernel>> read_attention_kernels() {
  std::vector<NamedRow<AttentionKernel>> rows;
  const Reader file = document("attention.json");
  for (const Reader& entry : file.at("attention").items()) {
    entry.allow_only(
        {"name", "aliases", "fused", "flash", "share", "least_capability", "most_capability", "widest_head"});
    NamedRow<AttentionKernel> row;
    row.name = entry.at("name").string(), row.aliases = strings(entry, "aliases");
    row.fused = entry.at("fused").boolean();
    row.flash = entry.integer_or("flash", row.flash, 2, 3);
    row.share = entry.number_or("share", row.share);
    row.least_capability = entry.integer_or("least_capability", row.least_capability);
    row.most_capability = entry.integer_or("most_capability", row.most_capability);
    row.widest_head = entry.integer_or("widest_head", row.widest_head);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<NamedRow<OptimizerRow>> read_optimizers() {
  std::vector<NamedRow<OptimizerRow>> rows;
  const Reader file = document("optimizers.json");
  for (const Reader& entry : file.at("optimizers").items()) {
    entry.allow_only({"name", "aliases", "moments", "moment_format", "orthogonal_steps"});
    NamedRow<OptimizerRow> row;
    row.name = entry.at("name").string(), row.aliases = strings(entry, "aliases");
    row.moments = entry.at("moments").number();
    if (const auto format = entry.find("moment_format")) read_field(*format, row.moment_format);
    row.orthogonal_steps = entry.number_or("orthogonal_steps", 0);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<DispatcherRow> read_dispatchers() {
  std::vector<DispatcherRow> rows(dispatcher_names.size());
  const Reader file = document("dispatchers.json");
  static const std::vector<std::string> valid(dispatcher_names.begin(), dispatcher_names.end());
  for (const Reader& entry : file.at("dispatchers").items()) {
    entry.allow_only({"name", "gathers", "by_node", "launches", "waits", "pads", "proxied", "sms"});
    DispatcherRow& row = rows[entry.at("name").one_of(valid)];
    row.name = entry.at("name").string();
    row.gathers = entry.boolean_or("gathers", false);
    row.by_node = entry.boolean_or("by_node", false);
    row.launches = entry.at("launches").number();
    row.waits = entry.at("waits").boolean();
    row.pads = entry.boolean_or("pads", true);
    row.sms = entry.at("sms").integer();
    if (const auto media = entry.find("proxied")) {
      for (const std::string& medium : media->keys())
        row.proxied.push_back({medium, media->at(medium).quantity<Seconds::dimension>()});
    }
  }
  return rows;
}

const std::vector<DispatcherRow>& dispatchers() {
  static const auto rows = read_dispatchers();
  return rows;
}

}  // namespace

double bytes_of(StateFormat format, DType compute) noexcept {
  if (format == StateFormat::compute) return bytes_per_element(compute);
  constexpr std::array<double, 9> bytes = {0, 0, 0.5 + 0.127 / 8, 1 + 4.0 / 256, 1, 1.5, 2, 2, 4};
  return bytes[static_cast<std::size_t>(format)];
}

double gathered_packed_bytes(const RecipeTrainable& trainable, DType compute) noexcept {
  return unpacks_elementwise(trainable) ? 0 : bytes_of(trainable.base, compute);
}

const AttentionKernel& attention_kernel(std::string_view name, const std::string& where) {
  static const auto rows = read_attention_kernels();
  return row_of<AttentionKernel>(rows, "attention kernel", name, where);
}

const OptimizerRow& optimizer(std::string_view name, const std::string& where) {
  static const auto rows = read_optimizers();
  return row_of<OptimizerRow>(rows, "optimizer", name, where);
}

const DispatcherRow& dispatcher(Dispatcher kind) { return dispatchers()[static_cast<std::size_t>(kind)]; }

StateBytes state_bytes(const RecipeStates& s, DType compute) {
  const auto of = [compute](StateFormat format) { return bytes_of(format, compute); };
  const OptimizerRow& row = optimizer(s.optimizer, "recipe/states/optimizer");
  const double moment = of(row.moment_format == StateFormat::none ? s.moments : row.moment_format);
  const double moments = row.moments * moment;
  StateBytes bytes;
  bytes.weights = of(s.weights);
  bytes.gradients = of(s.gradients) + of(s.accumulation);
  bytes.optimizer = of(s.master) + moments + of(s.optimizer_gradients);
  // Reads the gradient where it is summed, reads and writes the states and what it updates, writes the weights where
  // those are another copy.
  const double gradient = s.accumulation == StateFormat::none ? of(s.gradients) : of(s.accumulation);
  const double updated = s.master == StateFormat::none ? 2 * bytes.weights : 2 * of(s.master) + bytes.weights;
  bytes.traffic = gradient + 2 * of(s.optimizer_gradients) + 2 * moments + updated;
  if (s.foreach_temporaries) bytes.update = std::max(moment, of(s.gradients));
  return bytes;
}

}  // namespace meshwright::parallel
