#include "meshwright/core/error.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright {
namespace {

// Of what a message quotes and of names that are compared: beyond, a person is not helped, and the work would grow with
// what a hostile file holds.
constexpr std::size_t longest_message = 1000, longest_name = 100;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// On one line, without what a terminal would obey: names come from files that anybody wrote.
std::string one_line(std::string_view text) { return abridged(text, longest_message); }

std::string joined(const std::string& where, const std::string& what) {
  return where.empty() ? one_line(what) : one_line(where) + ": " + one_line(what);
}

}  // namespace

Error::Error(std::string where, std::string what_happened)
    : std::runtime_error(joined(where, what_happened)),
      where_(std::move(where)),
      what_happened_(std::move(what_happened)) {
  where_ = one_line(where_);
  what_happened_ = one_line(what_happened_);
}

std::string nearest(std::string_view found, std::span<const std::string> valid) {
  const std::string wanted = found.size() <= longest_name ? folded_name(found) : "";
  if (wanted.empty()) return "";
  std::string best;
  std::size_t best_distance = wanted.size() / 2 + 1;
  for (const std::string& candidate : valid) {
    if (candidate.size() > longest_name) continue;
    const std::string other = folded_name(candidate);
    std::size_t distance = edit_distance(wanted, other);
    // A beginning or a part of a longer name ("llama3.1-405" of "llama-3.1-405b") counts as near.
    const bool part =
        wanted.size() >= 3 ? other.find(wanted) != std::string::npos : wanted.size() == 2 && other.starts_with(wanted);
    if (part) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view found, std::span<const std::string> valid) {
  if (const std::string near = nearest(found, valid); !near.empty()) return " (did you mean '" + near + "'?)";
  std::string list;
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < valid.size() && i < most; ++i) list += (i == 0 ? "" : ", ") + valid[i];
  if (valid.size() > most) list += ", ... (" + std::to_string(valid.size()) + " in all)";
  return valid.empty() ? "" : "; expected one of " + list;
}

std::string Violation::text() const { return rule + ": needs " + needed + ", has " + available; }

}  // namespace meshwright
