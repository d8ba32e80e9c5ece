#pragma once
// What a plan promises against the best that was measured of the same job.
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::cli {

/// One job that its vendor tuned: the best step measured of it, and the best that a search finds for it.
struct Promise {
  std::string id;  ///< of the best measured record
  bool moe = false;
  Seconds measured;
  Layout layout;                   ///< that was measured
  std::optional<Seconds> own;      ///< predicted of that layout; nothing where a rule refuses it
  std::optional<Seconds> planned;  ///< nothing where no layout fits
  Layout plan;
};

/// A search for each job of the records whose source publishes tuned layouts (`tuned` of data/recipes), with the
/// release and recipe of its best record. A job is a model on a number of devices, with one batch, sequence and format.
std::vector<Promise> promises(std::span<const RunRecord> runs);

/// {"jobs": [...], "summary": {"dense": {"count", "p10", "median", "p90"}, "moe": {...}}}, planned over measured.
nlohmann::ordered_json promises_json(std::span<const Promise> promises);
std::string promises_text(std::span<const Promise> promises);
std::string promises_markdown(std::span<const Promise> promises);

}  // namespace meshwright::cli
