#include "meshwright/calibrate/perftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "meshwright/core/error.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::string_view column = "BW average[";

/// All words of a line as numbers; nothing where one isn't.
std::optional<std::vector<double>> numbers_of(const std::string& line) {
  std::istringstream stream(line);
  stream.imbue(std::locale::classic());
  std::vector<double> numbers;
  double value = 0;
  while (stream >> value) numbers.push_back(value);
  if (!stream.eof() || numbers.empty()) return std::nullopt;
  return numbers;
}

/// " Device         : mlx5_0": what follows the colon after `key`, one word.
std::string said(const std::string& line, std::string_view key) {
  const std::size_t at = line.find(key);
  const std::size_t colon = at == std::string::npos ? at : line.find(':', at + key.size());
  if (colon == std::string::npos) return "";
  std::istringstream rest(line.substr(colon + 1));
  std::string word;
  rest >> word;
  return word;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

/// What the lines before the table say.
void read_header(const std::string& line, PerftestLog& log) {
  const auto keep = [](std::string value, std::string& into) {
    if (!value.empty()) into = std::move(value);
  };
  if (line.find("BW Test") != std::string::npos) log.test = trimmed(line);
  keep(said(line, "Device "), log.device);
}

}  // namespace

BytesPerSecond PerftestLog::best() const {
  BytesPerSecond most{};
  for (const PerftestRow& row : rows) most = std::max(most, row.average);
  return most;
}

bool is_perftest_log(std::string_view text) { return text.find(column) != std::string_view::npos; }

PerftestLog read_perftest_log(std::string_view text, std::string name) {
  PerftestLog log;
  log.file = std::move(name);
  std::istringstream lines{std::string(text)};
  double unit = 0;  // bytes a second; 0 = before the header of the columns
  for (std::string line; std::getline(lines, line);) {
    if (line.find(column) != std::string::npos) unit = line.find("Gb/sec") != std::string::npos ? 1e9 / 8 : 1048576;
    if (unit == 0) read_header(line, log);
    const auto numbers = numbers_of(line);
    // #bytes #iterations peak average [message rate]
    if (unit == 0 || !numbers || numbers->size() < 4 || (*numbers)[0] < 1 || !((*numbers)[3] > 0)) continue;
    const double both = log.test.find("idirectional") != std::string::npos ? 2 : 1;
    log.rows.push_back({Bytes::base((*numbers)[0]), BytesPerSecond::base((*numbers)[2] * unit / both),
                        BytesPerSecond::base((*numbers)[3] * unit / both)});
  }
  if (log.rows.empty()) {
    throw Error(
        log.file,
        "found no row of perftest, expected '#bytes #iterations BW peak[...] BW average[...]' and numbers below");
  }
  return log;
}

}  // namespace meshwright::calibrate
