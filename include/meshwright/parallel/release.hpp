#pragma once
// Dated releases of a stack, and which of them a free text means ("NeMo 25.04", "nemo:25.11", "Megatron-Bridge
// v0.2.0").
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::parallel {

/// One release. What it changed stands in its stack's file; each inherits from the one before.
struct Release {
  std::string version;               ///< "25.11"
  std::string date;                  ///< "2025-11" or "2025-11-28"
  std::vector<std::string> aliases;  ///< other names of it: "bridge 0.2", "core 0.15", a commit "9e159aed7"
};

/// How a release was found.
enum class ReleaseFound {
  named,    ///< the text names it
  before,   ///< the text names a version between two: the earlier one
  dated,    ///< the text or the date beside it says when: the newest until then
  oldest,   ///< older than the first one
  newest,   ///< nothing said when
  unknown,  ///< something is said that names no release and no date: the newest
};

struct ReleaseChoice {
  int index = -1;  ///< of the release; -1 where the stack has none
  ReleaseFound found = ReleaseFound::newest;
};

/// Which of `releases` (oldest first) `version` means, else `date` ("2025-04-17"; any part of it). A version is the
/// name or an alias of a release, in any case and punctuation, or a number behind a product's name that aliases use
/// ("core 0.14" lies between "core 0.13" and "core 0.15"), or a bare number beside the releases' own, or a year (and
/// month).
ReleaseChoice release_choice(const std::vector<Release>& releases, std::string_view version,
                             std::string_view date = {});

/// "framework_version: 26.08 (the newest known of megatron-core)": what a job lists for a choice that was not named; ""
/// for one that was, or where the stack has no releases.
std::string assumption(const ReleaseChoice& choice, const std::vector<Release>& releases, std::string_view framework,
                       std::string_view version);

}  // namespace meshwright::parallel
