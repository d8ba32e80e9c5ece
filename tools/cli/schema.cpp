// meshwright schema KIND: what a file may hold, as JSON Schema, for editors and validators.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/capacity/schema.hpp"
#include "meshwright/hardware/schema.hpp"
#include "meshwright/parallel/schema.hpp"
#include "meshwright/workload/schema.hpp"

namespace meshwright::cli {
namespace {

struct Kind {
  std::string_view name, title;
  JsonSchema (*shape)();
};
constexpr std::array kinds = {
    Kind{"job", "A Meshwright job: model, cluster, batch, and a layout or none", job_shape},
    Kind{"cluster", "A cluster, for --cluster and the cluster of a job", cluster_shape},
    Kind{"scenario", "A scenario of meshwright whatif", scenario_shape},
    Kind{"overlay", "A file of a hardware overlay, for --hardware", [] { return overlay_shape(stack_shape()); }},
    Kind{"model", "A model's sizes, for --model", model_shape},
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

void run(const std::string& wanted) {
  for (const Kind& kind : kinds) {
    if (kind.name == wanted)
      print_json(nlohmann::ordered_json::parse(shape::document(kind.shape(), kind.title).schema));
  }
}

}  // namespace

void add_schema(CLI::App& command, const Globals&) {
  const auto kind = std::make_shared<std::string>();
  command.add_option("kind", *kind, fmt::format("{}", fmt::join(kind_names(), ", ")))
      ->required()
      ->type_name("KIND")
      ->check(one_of(kind_names()));
  command.callback([kind] { run(*kind); });
}

}  // namespace meshwright::cli
