#include "meshwright/calibrate/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/measured.hpp"
#include "calibrate/record_hardware.hpp"
#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

/// Words between blanks, the same in every locale.
std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\v\f\r\n";
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

bool is_type(const std::string& word) {
  static const std::set<std::string> types = {"int8", "uint8",  "char",   "int32",  "uint32",   "int",     "int64",
                                              "half", "uint64", "float",  "fp16",   "bfloat16", "double",  "fp32",
                                              "fp64", "bf16",   "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};
  return types.contains(word);
}

struct PrintedRow {
  MeasuredRow row;
  double algbw = 0, busbw = 0;
  bool in_rings = false;  ///< of a type that switches don't reduce
};

/// size count type [redop] [root] time algbw busbw: the numbers after the type, a root of -1 or a rank among them.
std::optional<PrintedRow> read_row(const std::vector<std::string>& words) {
  const auto type = std::ranges::find_if(words, is_type);
  if (type == words.end() || type - words.begin() < 2) return std::nullopt;
  const auto size = parse_number(*(type - 2));
  std::vector<double> numbers;
  bool root_column = false;
  for (auto word = type + 1; word != words.end(); ++word) {
    if (const auto value = parse_number(*word)) {
      numbers.push_back(*value);
      root_column = root_column || (numbers.size() == 1 && word->find('.') == std::string::npos);
    }
  }
  // Newer versions print a root (-1 or a rank, never with a point while time has one below 10,000 us).
  const std::size_t first = root_column && numbers.size() >= 4 && numbers[0] == std::floor(numbers[0]) &&
                                    (numbers[0] < 0 || numbers.size() % 4 == 1 || numbers[1] > numbers[2])
                                ? 1
                                : 0;
  if (!size || *size <= 0 || *size > most_message_bytes || numbers.size() < first + 3) return std::nullopt;
  if (!(numbers[first] >= least_message_us && numbers[first] <= most_message_us)) return std::nullopt;
  return PrintedRow{{Bytes::base(*size), Seconds::base(numbers[first] * 1e-6), {}},
                    numbers[first + 1],
                    numbers[first + 2],
                    !nvls_reduces(*type)};
}

/// "all_reduce of 32 ranks on dgx-h100 (...)": the first line of `meshwright collective`.
void read_own_title(const std::vector<std::string>& words, NcclTestsLog& log) {
  if (words.size() < 5 || words[1] != "of" || words[3] != "ranks" || words[4] != "on") return;
  const auto name = std::ranges::find(collective_names, words[0]);
  const auto ranks = parse_number(words[2]);
  if (name == std::end(collective_names) || !ranks || !(*ranks >= 2 && *ranks <= 1 << 24)) return;
  log.collective = static_cast<Collective>(name - std::begin(collective_names));
  log.ranks = static_cast<int>(*ranks);
}

/// size time P10-P90 algbw busbw algorithm [protocol] limit: a row of its table.
std::optional<PrintedRow> read_own_row(const std::vector<std::string>& words) {
  if (words.size() < 6) return std::nullopt;
  const auto size = parse_number(words[0]), time = parse_number(words[1]), algbw = parse_number(words[3]),
             busbw = parse_number(words[4]);
  if (!size || !time || !algbw || !busbw || !(*size > 0 && *size <= most_message_bytes)) return std::nullopt;
  if (!(*time >= least_message_us && *time <= most_message_us)) return std::nullopt;
  return PrintedRow{{Bytes::base(*size), Seconds::base(*time * 1e-6), {}}, *algbw, *busbw};
}

std::optional<Collective> named_in(const std::string& line) {
  for (std::size_t i = 0; i < collective_count; ++i) {
    std::string name(collective_names[i]);
    if (name == "all_to_all") name = "alltoall";
    if (name == "send_recv") name = "sendrecv";
    if (line.find(name + "_perf") != std::string::npos) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

/// "#  Rank  0 Group  0 Pid 4711 on host-1 device  0 [0x1b] NVIDIA H100 80GB HBM3"
void read_rank_line(const std::vector<std::string>& words, const std::string& line, NcclTestsLog& log,
                    std::set<std::string>& hosts) {
  const auto on = std::ranges::find(words, "on");
  if (on == words.end() || on + 1 == words.end()) return;
  ++log.ranks;
  hosts.insert(*(on + 1));
  const std::size_t bracket = line.rfind(']');
  if (bracket != std::string::npos && bracket + 2 < line.size()) log.accelerator = line.substr(bracket + 2);
}

/// Ranks and collective from the ratio busbw / algbw of the largest row: 2(p-1)/p above 1, (p-1)/p below.
void infer_from_ratio(const PrintedRow& row, NcclTestsLog& log) {
  if (row.algbw <= 0 || row.busbw <= 0) return;
  const double ratio = row.busbw / row.algbw;
  const bool reduces = log.collective ? *log.collective == Collective::all_reduce : ratio > 1.01;
  if (!log.collective && reduces) log.collective = Collective::all_reduce;
  const double share = reduces ? ratio / 2 : ratio;
  if (log.ranks == 0 && share < 0.9995) log.ranks = static_cast<int>(std::lround(1 / (1 - share)));
}

}  // namespace

NcclTestsLog read_nccl_tests_log(std::string_view text, std::string name) {
  NcclTestsLog log;
  log.file = std::move(name);
  std::set<std::string> hosts;
  PrintedRow largest;
  bool own = false;  // a table of this program
  log.collective = named_in(log.file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::vector<std::string> words = words_of(line);
    if (const auto found = named_in(line)) log.collective = found;
    const bool rank_line = std::ranges::find(words, "Rank") != words.end() && line.find(" on ") != std::string::npos;
    if (rank_line) read_rank_line(words, line, log, hosts);
    if (line.find("NCCL INFO") != std::string::npos || line.find("NCCL WARN") != std::string::npos) {
      log.remarks.push_back(line);
    }
    if (const std::size_t at = line.find("NCCL version "); at != std::string::npos) {
      log.version = words_of(line.substr(at + 13)).empty() ? "" : words_of(line.substr(at + 13)).front();
    }
    read_own_title(words, log);
    own = own || (line.find("size (B)") != std::string::npos && line.find(" time (us)") != std::string::npos);
    if (const auto row = own ? read_own_row(words) : read_row(words)) {
      log.rows.push_back(row->row);
      log.in_rings = log.in_rings || row->in_rings;
      if (row->row.bytes >= largest.row.bytes) largest = *row;
    }
  }
  if (log.rows.empty()) {
    throw Error(log.file,
                "found no row of nccl-tests, expected lines of 'size count type redop root time algbw busbw'");
  }
  log.nodes = static_cast<int>(hosts.size());
  infer_from_ratio(largest, log);
  return log;
}

CollectiveTable table_of_log(const NcclTestsLog& log, const Cluster& cluster, std::optional<Collective> collective,
                             int ranks) {
  CollectiveTable table;
  table.id = log.file;
  table.source = "nccl-tests log";
  const std::optional<Collective> which = collective ? collective : log.collective;
  if (!which) throw Error(log.file, "which collective? The log names no *_perf program; give it on the command line");
  table.collective = *which;
  table.ranks = ranks > 0 ? ranks : log.ranks > 0 ? log.ranks : cluster.accelerators();
  if (table.ranks < 2 || table.ranks > cluster.accelerators()) {
    throw Error(log.file,
                fmt::format("{} ranks do not fit the cluster's {} accelerators", table.ranks, cluster.accelerators()));
  }
  table.place = place_group(cluster, table.ranks, 1);
  table.platform = platform_of(cluster);
  table.rows = log.rows;
  table.version = nccl_version_number(log.version);
  if (log.in_rings) table.options.nvls = false;
  follow_tuner(table, cluster);
  return table;
}

std::optional<Cluster> cluster_of_log(const NcclTestsLog& log, const Catalog& catalog) {
  if (log.ranks < 1 || log.nodes < 1 || log.ranks % log.nodes != 0) return std::nullopt;
  const auto accelerator = find_accelerator(catalog, log.accelerator);
  if (!accelerator) return std::nullopt;
  ClusterSpec spec{.accelerators = log.ranks, .where = log.file};
  spec.node.accelerator = *accelerator;
  spec.node.accelerators = log.ranks / log.nodes;
  return complete(spec, catalog);
}

}  // namespace meshwright::calibrate
