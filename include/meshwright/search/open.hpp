#pragma once
// What a job states and a caller leaves open all the same: the precision, the stack, states on the host, and what
// stacks do in one way unless told: the order of ranks, the exchange among context ranks, which layers and modules are
// computed again.
#include <string>
#include <vector>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// The job with one choice of everything that is open, and the best that it reaches.
struct Variant {
  std::string words;  ///< "precision fp8, framework torchtitan"
  Job job;
  Limits space;  ///< with what the choice says of layouts
  SearchResult result;
};

/// Names of what can be left open: "precision", "framework", "offload", "order", "cp_kind",
/// "recompute_layers", "recompute_modules".
const std::vector<std::string>& open_choices();

/// A search of every combination of the choices in `open` that the device and the stack have, best first, those in
/// which nothing runs last; ties in the order of the tables. The job's own choice is among them. Error(where, ...) for
/// a name that is none of open_choices(). An interrupted search ends the list.
std::vector<Variant> search_open(const Job& job, const SearchOptions& options, const std::vector<std::string>& open,
                                 const std::string& where);

}  // namespace meshwright::search
