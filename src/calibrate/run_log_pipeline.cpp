#include "calibrate/run_log_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/schedule.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

/// A whole number within what a layout takes, or 0.
int count(const Json& object, const char* key) {
  constexpr double most = 1 << 20;
  if (!object.contains(key) || !object[key].is_number()) return 0;
  const double value = object[key].get<double>();
  return value >= 1 && value <= most ? static_cast<int>(value) : 0;
}

bool flag(const Json& object, const char* key) { return object.contains(key) && object[key] == true; }

/// Schedules that fix how many parts a stage has leave no virtual stages to state.
bool has_virtual_stages(const Json& layout) {
  if (!layout.contains("schedule") || !layout["schedule"].is_string()) return true;
  const auto& rows = parallel::pipeline_schedules();
  const auto row = std::ranges::find_if(rows, [&](const auto& s) { return layout["schedule"] == s->name; });
  return row == rows.end() || (*row)->chunks == 0 || (*row)->with_virtual_stages != nullptr;
}

class Pipeline {
 public:
  Pipeline(Json& layout, const Json& said, int layers, const std::string& where)
      : layout_(layout), said_(said), layers_(layers), where_(where), pp_(count(layout, "pp")) {}

  void complete() {
    if (pp_ <= 1) return;
    if (layout_.contains("stages")) return virtual_stages(static_cast<int>(layout_["stages"].size()));
    if (has_virtual_stages(layout_) && !layout_.contains("vp")) read_chunks();
    read_split();
  }

 private:
  /// As many parts as there are in all.
  void virtual_stages(int parts) {
    const bool stated = layout_.contains("vp") || !has_virtual_stages(layout_);
    if (!stated && parts % pp_ == 0 && parts > pp_) layout_["vp"] = parts / pp_;
  }

  int ends() const { return (flag(said_, "embedding") ? 1 : 0) + (flag(said_, "loss") ? 1 : 0); }

  int needed_layers(const char* what) const {
    if (layers_ < 1)
      throw Error(where_, fmt::format("found {}, but not the layers of the model, which it divides (--model)", what));
    return layers_;
  }

  void read_chunks() {
    if (const int each = count(said_, "layers_per_chunk"); each > 0) {
      const int all = needed_layers("the layers of a virtual stage") + ends();
      if (all % (pp_ * each) != 0)
        throw Error(where_, fmt::format("found {} layers a virtual stage, expected a divisor of the {} layers on each "
                                        "of {} stages",
                                        each, static_cast<double>(all) / pp_, pp_));
      virtual_stages(all / each);
    } else if (const int modules = count(said_, "modules_per_chunk"); modules > 0) {
      const int all = needed_layers("the modules of a virtual stage") + 2;
      virtual_stages((all + modules - 1) / modules);
    } else if (const int chunks = count(said_, "chunks"); chunks > 0) {
      virtual_stages(chunks * pp_);
    }
  }

  void read_split() {
    const int first = count(said_, "first_layers"), last = count(said_, "last_layers");
    if (first > 0 || last > 0) return uneven_ends(first, last);
    if (ends() == 2) layout_["stage_split"] = "embedding";
    if (ends() == 1) relieved_end();
  }

  /// The first and the last stage as stated, the others alike.
  void uneven_ends(int first, int last) {
    const int others = pp_ - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const int rest = needed_layers("the layers of a stage") - first - last;
    if (rest < 0 || (others == 0 ? rest != 0 : rest % others != 0))
      throw Error(where_, fmt::format("found {} layers on the first stage and {} on the last of {}, which leaves {} of "
                                      "the model's {} for {} stages; expected equal parts",
                                      first, last, pp_, rest, layers_, others));
    std::vector<int> stages(static_cast<std::size_t>(pp_), others == 0 ? 0 : rest / others);
    if (first > 0) stages.front() = first;
    if (last > 0) stages.back() = last;
    layout_["stages"] = stages;
  }

  /// One of embedding and loss stands in place of a layer.
  void relieved_end() {
    const int parts = pp_ * std::max(1, count(layout_, "vp"));
    const int all = needed_layers("that an end of the model counts as a layer") + 1;
    if (parts > all || all % parts != 0)
      throw Error(
          where_,
          fmt::format("found {} layers with the end that counts as one, expected a multiple of {} parts", all, parts));
    std::vector<int> stages(static_cast<std::size_t>(parts), all / parts);
    --(flag(said_, "embedding") ? stages.front() : stages.back());
    layout_["stages"] = stages;
  }

  Json& layout_;
  const Json& said_;
  const int layers_;
  const std::string& where_;
  const int pp_;
};

}  // namespace

void complete_pipeline(Json& layout, const Json& said, int layers, const std::string& where) {
  Pipeline(layout, said, layers, where).complete();
}

}  // namespace meshwright::calibrate
