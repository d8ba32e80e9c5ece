#include "capacity/fields.hpp"

#include <fmt/format.h>

#include <charconv>

#include "meshwright/capacity/run_time.hpp"

namespace meshwright::capacity {

double read_number(const Reader& reader, double least, double most) {
  const double value = reader.number();
  if (!(value >= least && value <= most))
    reader.fail(fmt::format("found {:g}, expected a number from {:g} to {:g}", value, least, most));
  return value;
}

double read_share(const Reader& reader, double least, double most) {
  if (!reader.is_string()) return read_number(reader, least, most);
  const std::string text = reader.string();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, text.data() + text.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (error != std::errc{} || rest != "%" || !(value / 100 >= least && value / 100 <= most))
    reader.fail(
        fmt::format("found '{}', expected a share such as 0.05 or \"5 %\", from {:g} to {:g}", text, least, most));
  return value / 100;
}

double read_tokens(const Reader& reader) {
  if (reader.is_string()) return parse_tokens(reader.string(), reader.where());
  const double value = reader.number();
  if (!(value >= 1 && value <= 1e18))
    reader.fail(fmt::format("found {}, expected a number of tokens of at least 1, at most 1e18", value));
  return value;
}

hardware::Provenance read_provenance(const Reader& r) {
  static const std::vector<std::string> verifications = {"read", "recalled"};
  static const std::vector<std::string> confidences = {"high", "medium", "low"};
  r.allow_only({"title", "url", "date", "verification", "confidence"});
  return {.title = r.at("title").string(),
          .url = r.string_or("url", ""),
          .date = r.string_or("date", ""),
          .read = r.at("verification").one_of(verifications) == 0,
          .confidence = confidences[r.at("confidence").one_of(confidences)]};
}

Seconds read_time(const Reader& reader) {
  const Seconds time = reader.quantity<Seconds::dimension>();
  if (!(time.value() > 0)) reader.fail("expected a time above zero");
  return time;
}

}  // namespace meshwright::capacity
