#pragma once
// How records of stacks are read: the rows of data/recipes/record-stacks.json.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/calibrate/validate_runs.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::calibrate {

/// What a stack did where a record does not say. A null is resolved by this row and by nothing else.
struct UsualChoices {
  std::string family;             ///< of stacks whose accuracy is shown together
  bool sequence_parallel = true;  ///< with tp > 1
  bool tp_comm_overlap = false;   ///< with tp > 1 and sequence parallelism
  bool overlap = true;            ///< gradient reduction and parameter gathers
  bool overlap_p2p = true;        ///< sends of an interleaved pipeline
  int zero_stage = 1;
  Recompute recompute = Recompute::none;
  bool recompute_to_fit = false;   ///< everything where what is recomputed else does not fit
  bool one_pass = false;           ///< a replica runs its sequences at once unless told to accumulate
  bool experts_cut_by_tp = false;  ///< etp is tp where ep leaves ranks for it; false: 1
};
/// The task that figures of accuracy and fits count.
inline constexpr std::string_view pretraining = "pretrain";

/// What a record says of the stack that ran and what it ran, as far as rows ask for it.
struct RecordedStack {
  std::string name, task{}, version{}, date{}, precision{}, set{};
  int accelerators = 0;
};
/// The same, and what it means where it says nothing: an unnamed stack that trains from scratch in bf16.
RecordedStack recorded_stack(const Reader& record);

/// The first row that holds for a record's stack, as records spell it, and its release; else that of stacks that no row
/// names.
const UsualChoices& usual_choices(const RecordedStack& run);

/// Name of the profile that a record's stack, version and date stand for; `stack` becomes the name that the version
/// gives it, where it gives one.
std::string profile_of(std::string& stack, const std::string& version, const std::string& date);
/// Recompute as such a stack means it.
Recompute recompute_meant(const RecordedStack& run, Recompute recorded);
/// Whether a source publishes the best layouts that a vendor found for its jobs.
bool tuned_by_vendor(const std::string& set);
/// Whether a source holds what people ran for themselves, on machines and with stacks that nobody tuned for a table.
bool users_runs(const std::string& set);
/// Tokens of a document where a source's fine-tuning packs documents that attend to themselves alone; nothing where its
/// sequences are whole.
std::optional<int> documents_of(const std::string& set, const std::string& task, const std::string& version);

/// Whether a source publishes sick jobs beside sound ones: its accuracy is shown with and without them.
bool has_sick_jobs(const std::string& set);

/// Records that are shown together.
struct RecordGroup {
  std::string name, tier, family;
  std::vector<std::string> devices;  ///< how their names begin
  std::vector<std::string> without;  ///< sources
  bool has(const RunCheck& check) const;
};
const std::vector<RecordGroup>& record_groups();

/// The overlay that describes the machine of a source; "" where the catalogue does.
std::string overlay_of_set(const std::string& set);

}  // namespace meshwright::calibrate
