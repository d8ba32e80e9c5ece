#include "meshwright/parallel/release.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <compare>
#include <optional>

#include "meshwright/core/names.hpp"

namespace meshwright::parallel {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A number in a text with what stands before it: "Megatron-Bridge v0.4.2" is {"megatronbridge", {0, 4, 2}}.
struct Numbered {
  std::string before;
  std::vector<int> parts;
};

/// Every number with a point or of a year, that no letters or digits touch ("v" and "r" before it, "rc" behind it
/// excepted: they are how versions are written).
std::vector<Numbered> numbers(std::string_view text) {
  std::vector<Numbered> found;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    std::size_t start = i;
    Numbered number;
    bool dated = false;
    while (i < text.size() && is_digit(text[i])) {
      int part = 0;
      const auto end = std::from_chars(text.data() + i, text.data() + text.size(), part).ptr;
      number.parts.push_back(part);
      i = static_cast<std::size_t>(end - text.data());
      const bool dash = i + 1 < text.size() && text[i] == '-' && number.parts.front() > 1990;
      const bool more = i + 1 < text.size() && (text[i] == '.' || dash) && is_digit(text[i + 1]);
      dated = dated || dash;
      if (!more) break;
      ++i;
    }
    if (start > 0 && (text[start - 1] == 'v' || text[start - 1] == 'r')) --start;
    const bool touched = start > 0 && (is_letter(text[start - 1]) || is_digit(text[start - 1]));
    const std::string_view behind = text.substr(i);
    const bool continued = !behind.empty() && is_letter(behind[0]) && !behind.starts_with("rc");
    const bool year = number.parts.size() == 1 && number.parts[0] > 1990 && number.parts[0] < 2100;
    if (touched || continued || (number.parts.size() == 1 && !year)) continue;
    number.before = folded_name(text.substr(0, start));
    found.push_back(std::move(number));
  }
  return found;
}

/// 2025-4 sorts as a date as 2025-04 does; numbers compare part by part, and a shorter one stands for its start.
bool at_most(const std::vector<int>& a, const std::vector<int>& b) {
  const std::size_t common = std::min(a.size(), b.size());
  return std::lexicographical_compare_three_way(a.begin(), a.begin() + static_cast<long>(common), b.begin(),
                                                b.begin() + static_cast<long>(common)) <= 0;
}

/// The last release whose numbers (by `of`) are at most `wanted`, or nothing where none of them has one.
template <class Numbers>
std::optional<ReleaseChoice> last_until(const std::vector<Release>& releases, const std::vector<int>& wanted,
                                        Numbers of) {
  std::optional<ReleaseChoice> choice;
  for (int i = 0; i < static_cast<int>(releases.size()); ++i) {
    const std::optional<std::vector<int>> own = of(releases[static_cast<std::size_t>(i)]);
    if (!own) continue;
    if (!choice) choice = {i, ReleaseFound::oldest};
    if (!at_most(*own, wanted)) continue;
    const bool same = at_most(wanted, *own);
    choice = {i, same ? ReleaseFound::named : ReleaseFound::before};
  }
  return choice;
}

std::optional<std::vector<int>> version_of(const Release& release) {
  const auto own = numbers(release.version);
  return own.empty() ? std::nullopt : std::optional(own.front().parts);
}

/// Whether two numbers may count the same: containers of NeMo are numbered by their year, its library from 2 on.
bool alike(const std::vector<int>& a, const std::vector<int>& b) {
  return std::max(a.front(), b.front()) <= 2 * std::max(1, std::min(a.front(), b.front()));
}

/// The number that a release has as a release of `product`, of those that count as `wanted` does.
std::optional<std::vector<int>> as_product(const Release& release, const std::string& product,
                                           const std::vector<int>& wanted) {
  for (const std::string& alias : release.aliases) {
    const auto own = numbers(alias);
    if (!own.empty() && own.front().before == product && alike(own.front().parts, wanted)) return own.front().parts;
  }
  return std::nullopt;
}

/// The product of any alias that stands last before the number.
std::string product_before(const std::vector<Release>& releases, const std::string& before) {
  std::string product;
  std::size_t last = 0;
  for (const Release& release : releases) {
    for (const std::string& alias : release.aliases) {
      for (const Numbered& number : numbers(alias)) {
        const std::size_t at = number.before.empty() ? std::string::npos : before.rfind(number.before);
        if (at != std::string::npos && at + number.before.size() > last) {
          product = number.before, last = at + number.before.size();
        }
      }
    }
  }
  return product;
}

bool is_date(const std::vector<int>& parts) { return parts.front() > 1990 && parts.front() < 2100; }

std::optional<ReleaseChoice> by_date(const std::vector<Release>& releases, const std::vector<int>& wanted) {
  auto choice = last_until(releases, wanted, [](const Release& r) {
    const auto own = numbers(r.date);
    return own.empty() ? std::nullopt : std::optional(own.front().parts);
  });
  if (choice && choice->found != ReleaseFound::oldest) choice->found = ReleaseFound::dated;
  return choice;
}

std::optional<ReleaseChoice> by_name(const std::vector<Release>& releases, std::string_view version) {
  const std::string text = folded_name(version);
  for (int i = static_cast<int>(releases.size()) - 1; i >= 0; --i) {
    const Release& release = releases[static_cast<std::size_t>(i)];
    const auto names_it = [&](const std::string& name) {
      const bool without_number = numbers(name).empty();
      return folded_name(name) == text || (without_number && text.find(folded_name(name)) != std::string::npos);
    };
    if (names_it(release.version) || std::ranges::any_of(release.aliases, names_it)) {
      return ReleaseChoice{i, ReleaseFound::named};
    }
  }
  return std::nullopt;
}

std::optional<ReleaseChoice> by_number(const std::vector<Release>& releases, const Numbered& number) {
  const std::string product = product_before(releases, number.before);
  if (!product.empty()) {
    const auto of_product = [&](const Release& r) { return as_product(r, product, number.parts); };
    if (const auto choice = last_until(releases, number.parts, of_product)) return choice;
  }
  if (is_date(number.parts)) return by_date(releases, number.parts);
  // A bare number counts beside the releases' own only where it could be one of them: "MLPerf v5.0" is no "24.09".
  const auto first = version_of(releases.front());
  if (!first || 2 * number.parts.front() < first->front()) return std::nullopt;
  return last_until(releases, number.parts, version_of);
}

}  // namespace

ReleaseChoice release_choice(const std::vector<Release>& releases, std::string_view version, std::string_view date) {
  if (releases.empty()) return {};
  if (const auto choice = version.empty() ? std::nullopt : by_name(releases, version)) return *choice;
  for (const Numbered& number : numbers(version)) {
    if (const auto choice = by_number(releases, number)) return *choice;
  }
  for (const Numbered& number : numbers(date)) {
    if (const auto choice = by_date(releases, number.parts)) return *choice;
  }
  return {static_cast<int>(releases.size()) - 1, version.empty() ? ReleaseFound::newest : ReleaseFound::unknown};
}

std::string assumption(const ReleaseChoice& choice, const std::vector<Release>& releases, std::string_view framework,
                       std::string_view version) {
  if (choice.index < 0 || choice.found == ReleaseFound::named) return "";
  const Release& release = releases[static_cast<std::size_t>(choice.index)];
  const std::string text = fmt::format("framework_version: {}", release.version);
  switch (choice.found) {
    case ReleaseFound::named:
    case ReleaseFound::newest:
      break;
    case ReleaseFound::before:
      return fmt::format("{} (the release of {} before '{}')", text, framework, version);
    case ReleaseFound::dated:
      return fmt::format("{} (the newest known of {} at the time)", text, framework);
    case ReleaseFound::oldest:
      return fmt::format("{} (the oldest of {})", text, framework);
    case ReleaseFound::unknown:
      return fmt::format("{} (the newest known of {}; '{}' names none)", text, framework, version);
  }
  return fmt::format("{} (the newest known of {})", text, framework);
}

}  // namespace meshwright::parallel
