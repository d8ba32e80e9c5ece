// Meshwright's own model object, read and written over one field list.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/workload/presets.hpp"
#include "meshwright/workload/schema.hpp"
#include "workload/fields.hpp"

namespace meshwright::workload {
namespace {

/// Reads members by key and remembers the keys, so that the rest can be refused.
struct MemberReader {
  const Reader& reader;
  std::vector<std::string_view>& known;

  void operator()(std::string_view key, int& value) const {
    known.push_back(key);
    value = reader.integer_or(key, value);
  }
  void operator()(std::string_view key, bool& value) const {
    known.push_back(key);
    value = reader.boolean_or(key, value);
  }
  void operator()(std::string_view key, double& value) const {
    known.push_back(key);
    value = reader.number_or(key, value);
  }
};

/// The same members as rows of a schema.
struct MemberLister {
  Members<Transformer>& rows;

  void operator()(std::string_view key, int) const { rows.push_back({key, "", shape::whole(0, 2147483647)}); }
  void operator()(std::string_view key, bool) const { rows.push_back({key, "", shape::truth()}); }
  void operator()(std::string_view key, double) const { rows.push_back({key, "", shape::number(-1e300, 1e300)}); }
};

std::vector<std::string> strings(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

const Members<LayerShape>& shape_members() {
  static const Members<LayerShape> rows = {
      choice_member<&LayerShape::mixer>("mixer", strings(mixer_names), ""),
      choice_member<&LayerShape::feed>("feed", strings(feed_names), ""),
      switch_member<&LayerShape::full_attention>("full_attention", "not within a window"),
      whole_member<&LayerShape::kv_heads>("kv_heads", 0, 2147483647, "where they differ from the model's"),
      whole_member<&LayerShape::ffn_hidden>("ffn_hidden", 0, 2147483647, "where it differs from the model's"),
      {"layers", "that are alike", shape::whole(1, largest_layers)}};
  return rows;
}

LayerShape read_shape(const Reader& reader) {
  LayerShape shape;
  read_members(reader, shape_members(), shape);
  return shape;
}

/// Runs of equal blocks: [{"mixer": "mamba2", "feed": "none", "layers": 3}, ...].
std::vector<LayerShape> read_pattern(const Reader& reader) {
  std::vector<LayerShape> pattern;
  for (const Reader& run : reader.items()) {
    pattern.insert(pattern.end(), static_cast<std::size_t>(run.integer_or("layers", 1, 1, largest_layers)),
                   read_shape(run));
    if (pattern.size() > static_cast<std::size_t>(largest_layers))
      run.fail(fmt::format("more than {} layers", largest_layers));
  }
  return pattern;
}

void read_parts(const Reader& reader, Transformer& model) {
  std::vector<std::string_view> known;
  if (const auto part = reader.find("latent")) {
    visit_latent(model.latent, MemberReader{*part, known});
    part->allow_only(known);
    model.attention = AttentionKind::latent;
  }
  known.clear();
  if (const auto part = reader.find("sparse")) {
    visit_sparse(model.sparse, MemberReader{*part, known});
    part->allow_only(known);
  }
  known.clear();
  if (const auto part = reader.find("state_space")) {
    visit_state_space(model.state_space, MemberReader{*part, known});
    part->allow_only(known);
  }
  if (const auto part = reader.find("pattern")) model.pattern = read_pattern(*part);
  if (const auto part = reader.find("aliases")) {
    for (const Reader& alias : part->items()) model.aliases.push_back(alias.string());
  }
}

constexpr std::string_view necessary[] = {"layers", "hidden", "heads", "vocab"};

/// kv_heads = heads, head_dim = hidden / heads, an MoE without dense layers has no dense width.
void fill_defaults(const Reader& reader, Transformer& model) {
  for (const std::string_view key : necessary) reader.at(key).integer(1);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_dim == 0) {
    if (model.hidden % model.heads != 0) reader.fail("head_dim is missing, and hidden is no multiple of heads");
    model.head_dim = model.hidden / model.heads;
  }
  if (model.ffn_hidden == 0 && !model.is_moe() && model.pattern.empty()) reader.at("ffn_hidden");
  if (model.is_moe() && model.moe_ffn_hidden == 0) model.moe_ffn_hidden = model.ffn_hidden;
  if (model.attention == AttentionKind::latent) return;
  model.attention = model.kv_heads == model.heads ? AttentionKind::multi_head : AttentionKind::grouped_query;
}

}  // namespace

JsonSchema model_shape() {
  const Transformer usual;
  Members<Transformer> rows = {{"name", "", shape::text()},
                               {"family", "", shape::text()},
                               {"source", "where it is described", shape::text()},
                               {"aliases", "other names", shape::list(shape::text())}};
  const auto part = [&](std::string_view key, std::string_view doc, auto visit) {
    Members<Transformer> members;
    visit(MemberLister{members});
    rows.push_back({key, doc, shape_of(members)});
  };
  visit_fields(usual, MemberLister{rows});
  for (Member<Transformer>& row : rows) row.needed = std::ranges::find(necessary, row.key) != std::end(necessary);
  part("latent", "multi-head latent attention", [&](auto&& v) { visit_latent(usual.latent, v); });
  part("sparse", "sparse attention", [&](auto&& v) { visit_sparse(usual.sparse, v); });
  part("state_space", "state-space mixers", [&](auto&& v) { visit_state_space(usual.state_space, v); });
  rows.push_back({"pattern", "runs of layers that are alike", shape::list(shape_of(shape_members()))});
  return shape_of(rows);
}

Transformer read_model(const Reader& reader) {
  Transformer model;
  model.name = reader.string_or("name", "model");
  model.family = reader.string_or("family", "");
  model.source = reader.string_or("source", "");
  std::vector<std::string_view> known = {"name",   "family", "source",      "aliases",
                                         "latent", "sparse", "state_space", "pattern"};
  visit_fields(model, MemberReader{reader, known});
  reader.allow_only(known);
  read_parts(reader, model);
  fill_defaults(reader, model);
  check(model, reader.where());
  return model;
}

namespace {

using Json = nlohmann::ordered_json;

/// Members of `part`, all of them or those that differ from a default-constructed one.
template <class Part, class VisitAll>
void write_members(Json& object, const Part& part, Fields fields, VisitAll visit_all) {
  Json standard;
  const Part defaults{};
  visit_all(defaults, [&](const char* key, const auto& value) { standard[key] = value; });
  visit_all(part, [&](const char* key, const auto& value) {
    if (fields == Fields::all || standard[key] != value) object[key] = value;
  });
}

template <class Part, class VisitAll>
void write_part(Json& out, const char* key, const Part& part, VisitAll visit_all) {
  Json object = Json::object();
  write_members(object, part, Fields::changed, visit_all);
  if (!object.empty()) out[key] = object;
}

Json write_pattern(const std::vector<LayerShape>& pattern) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < pattern.size();) {
    const LayerShape& shape = pattern[i];
    std::size_t end = i;
    while (end < pattern.size() && pattern[end] == shape) ++end;
    Json run = {{"mixer", mixer_names[static_cast<std::size_t>(shape.mixer)]},
                {"feed", feed_names[static_cast<std::size_t>(shape.feed)]},
                {"layers", end - i}};
    if (!shape.full_attention) run["full_attention"] = false;
    if (shape.kv_heads > 0) run["kv_heads"] = shape.kv_heads;
    if (shape.ffn_hidden > 0) run["ffn_hidden"] = shape.ffn_hidden;
    runs.push_back(run);
    i = end;
  }
  return runs;
}

}  // namespace

std::string model_json(const Transformer& model, Fields fields) {
  Json out;
  out["name"] = model.name;
  if (!model.family.empty()) out["family"] = model.family;
  if (!model.source.empty()) out["source"] = model.source;
  if (!model.aliases.empty()) out["aliases"] = model.aliases;
  write_members(out, model, fields, [](auto& m, auto&& v) { visit_fields(m, v); });
  write_part(out, "latent", model.latent, [](auto& m, auto&& v) { visit_latent(m, v); });
  write_part(out, "sparse", model.sparse, [](auto& m, auto&& v) { visit_sparse(m, v); });
  write_part(out, "state_space", model.state_space, [](auto& m, auto&& v) { visit_state_space(m, v); });
  if (!model.pattern.empty()) out["pattern"] = write_pattern(model.pattern);
  return json_text(out);
}

}  // namespace meshwright::workload
