// meshwright algorithms: the table of collective algorithms with closed forms and citations.
#include "meshwright/collectives/algorithm.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "output.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  bool markdown = false, json = false;
};

void print_table() {
  Table table({{"algorithm", Align::left}, {"time", Align::left}});
  Collective last{};
  for (const Algorithm& row : algorithms()) {
    if (table.empty() || row.collective != last) table.add_heading(std::string(name(row.collective)));
    last = row.collective;
    table.add({std::string(row.name), std::string(row.closed_form)});
  }
  std::cout << table.render();
}

void print_rows() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Algorithm& row : algorithms()) {
    rows.push_back({{"collective", name(row.collective)},
                    {"algorithm", row.name},
                    {"closed_form", row.closed_form},
                    {"citation", row.citation}});
  }
  print_json({{"algorithms", rows}});
}

void run(const Options& options) {
  if (options.json) return print_rows();
  if (options.markdown) {
    prints_data();
    std::cout << algorithms_markdown();
  } else {
    print_table();
  }
}

}  // namespace

void add_algorithms(CLI::App& command, const Globals&) {
  auto options = std::make_shared<Options>();
  command.add_flag("--markdown", options->markdown, "The page docs/algorithms.md");
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.callback([options] { run(*options); });
}

}  // namespace meshwright::cli
