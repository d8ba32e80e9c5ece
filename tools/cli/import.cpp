// meshwright import launch: what a stack is launched with, as a job file.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "log_options.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "meshwright/parallel/job.hpp"
#include "output.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  std::string file, framework, output;
  LogCompletion completion;
};

/// All that a cluster has, in as many nodes as are said; 0 for a node, of which there may be any number.
int all_of(const LogCompletion& said, const RunLog& launch, const Catalog& catalog) {
  if (said.cluster.empty() || said.cluster == "-" || !said.job.empty()) return 0;  // stdin is read once, by the job
  const double nodes = said.nodes > 0 ? said.nodes : std::min<double>(launch.nodes, largest_count);
  const ClusterSpec spec = narrowed(cluster_spec_of(said.cluster, "--cluster"), static_cast<int>(nodes), 0,
                                    said.nodes > 0 ? "--nodes" : launch.path);
  const Cluster whole = complete(spec, catalog);
  return nodes > 0 || whole.scale_up_domains > 0 || spec.accelerators > 0 ? whole.accelerators() : 0;
}

/// No stack's configuration has all of these.
bool is_job(const std::string& path) {
  if (!is_document_file(path)) return false;
  try {
    const Reader file = Reader::file(path);
    return file.is_object() && file.has("model") && file.has("cluster") && file.has("global_batch");
  } catch (const Error&) {
    return false;  // said where it is read
  }
}

void run(const Options& o, const Globals& globals) {
  if (is_job(o.file))
    throw Error(o.file, fmt::format("is a job file already; explain it with: meshwright predict {0}, or plan it with: "
                                    "meshwright plan {0}",
                                    o.file));
  const Catalog catalog = load_catalog(globals.hardware);
  const RunLog launch = read_launch(o.file, o.framework);
  LogCompletion completion = o.completion;
  completion.all_gpus = all_of(completion, launch, catalog);
  const std::string text = job_of_log(launch, completion) + "\n";
  read_job(Reader::text(text, o.file), catalog);  // refuses what no job can be
  for (const std::string& note : launch.notes) std::cerr << wrap(note);
  if (o.output.empty()) {
    prints_data();
    std::cout << text;
    return;
  }
  write_file(o.output, text);
  std::cerr << fmt::format("wrote {}; explain it with: meshwright predict {}\n", o.output, o.output);
}

}  // namespace

void add_import(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  CLI::App* launch = command.add_subcommand(
      "launch", "Arguments of a script, or YAML, TOML or JSON of a stack, as a job file on stdout");
  const auto o = std::make_shared<Options>();
  launch->add_option("FILE", o->file, "The script or configuration")->required();
  launch->add_option("--framework", o->framework, "Whose it is; by its arguments otherwise")->check(some_text());
  launch->add_option("--output", o->output, "Write the job there")->type_name("JOB.json")->check(output_file());
  add_log_options(*launch, o->completion);
  launch->callback([o, &globals] { run(*o, globals); });
}

}  // namespace meshwright::cli
