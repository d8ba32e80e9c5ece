#pragma once
// How far measured steps lie from predicted ones: what `meshwright calibrate spread` found over published runs, each
// source, system, model and release predicted by a fit that had not seen it (data/fitted/spread.json).
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/discrepancy.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// What makes predictions of some jobs worse than those of others.
enum class Trait { any, experts, adapters, fine_tuning, long_context, unknown_stack, new_stack, new_device };
inline constexpr std::array<std::string_view, 8> trait_names = {
    "any", "experts", "adapters", "fine_tuning", "long_context", "unknown_stack", "new_stack", "new_device"};
inline constexpr std::size_t trait_count = trait_names.size();
using Traits = std::array<bool, trait_count>;

/// What a trait adds, as standard deviations of log(measured / predicted): they add as squares.
struct TraitSpread {
  double total = 0;    ///< to the error of a step without own runs
  double own = 0;      ///< to what figures of stack and machine don't explain of a configuration (Likeness)
  double shared = 0;   ///< the same, common to all layouts of one job
  double stretch = 0;  ///< to how far figures of a site lie from the shipped ones, over FigureSpread::spread
  double memory = 0;   ///< to the error of a peak of device memory
};

/// A figure of run_fields(), and how far the sites' own lie from the shipped one, in log units.
struct FigureSpread {
  std::string field;
  double spread = 0;
};

/// Where 10 % and 90 % of the errors lie, in standard deviations.
struct Tails {
  double low = 0, high = 0;
};

struct Spread {
  std::vector<FigureSpread> figures;
  std::array<TraitSpread, trait_count> traits;
  Tails without_own_runs, with_own_runs, of_memory;
  double memory_common = 0;  ///< of a peak's variance, what all runs of one model, sequence, format and kind share
  std::vector<std::string> devices, stacks;  ///< of which runs are published
  Likeness likeness{};                       ///< how far layouts alike share what no figure explains
  /// Standard errors of the logs of what was fitted to published runs, by owner and field (data/fitted/runs.json).
  std::map<std::string, double> errors{};

  /// Of a figure; of one that isn't listed, what its row in run_fields() says.
  double of(std::string_view field) const;
  /// Root of the sum of the squares of one member over the traits that hold.
  double sum(const Traits& traits, double TraitSpread::*member) const;
};

/// {"description", "figures" {field: spread}, "traits" {name: {"total", "own", "shared", "stretch", "memory"}},
/// "tails" {"without_own_runs": [low, high], "with_own_runs": ..., "of_memory": ...}, "memory_common",
/// "likeness" (read_likeness(); without it layouts share nothing), "devices", "stacks"}.
Spread read_spread(const Reader& document);
std::string to_json(const Spread& spread, std::string_view description);
/// The one that ships.
const Spread& published_spread();

/// What holds of a job; fine tuning never, which a job does not say.
Traits traits_of(const Job& job, const Spread& spread = published_spread());

}  // namespace meshwright::parallel
