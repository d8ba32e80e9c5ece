// meshwright calibrate: parameters fitted from measurements, written as an overlay of the hardware database.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "log_options.hpp"
#include "meshwright/calibrate/collective_bands.hpp"
#include "meshwright/calibrate/fit_runs.hpp"
#include "meshwright/calibrate/kernel_fit.hpp"
#include "meshwright/calibrate/media_fit.hpp"
#include "meshwright/calibrate/nccl_tests.hpp"
#include "meshwright/calibrate/spread_fit.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/reader.hpp"
#include "own_runs.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Where an overlay goes: FILE.json as it stands, anything else is a folder that gets `name`.
std::filesystem::path overlay_path(const std::filesystem::path& output, std::string_view name) {
  if (output.extension() == ".json") return output;
  std::error_code failed;
  std::filesystem::create_directories(output, failed);
  if (failed) throw Error(output.string(), "no folder can be made of that name: " + failed.message());
  return output / name;
}

void write_overlay(const std::filesystem::path& output, std::string_view name, const std::string& content) {
  if (output.empty()) return;
  const std::filesystem::path path = overlay_path(output, name);
  write_file(path, content);
  std::cerr << one_line(fmt::format("wrote {}; use it with --hardware {}", path.string(), output.string())) << "\n";
}

struct GemmOptions {
  std::vector<std::string> tables;
  std::string output, source;
  bool json = false;
};

struct KernelFits {
  std::vector<GemmFit> gemm;
  std::vector<AttentionFit> attention;
};

KernelFits fit_tables(const std::vector<std::string>& tables, const Catalog& catalog) {
  std::vector<GemmGroup> gemm;
  std::vector<AttentionGroup> attention;
  for (const std::string& path : tables) {
    if (kernel_table_kind(path) == KernelTable::gemm) {
      std::ranges::move(read_gemm_points(path, catalog), std::back_inserter(gemm));
    } else {
      std::ranges::move(read_attention_points(path, catalog), std::back_inserter(attention));
    }
  }
  KernelFits fits{fit_gemm(gemm, catalog), fit_attention(attention, catalog)};
  if (fits.gemm.empty() && fits.attention.empty())
    throw Error(tables.front(),
                "no row of a device and format that the hardware database knows; see `meshwright "
                "hardware list accelerators`");
  return fits;
}

Json residuals(const KernelErrors& e) {
  return {{"device", e.device},           {"kernel", e.kernel},
          {"format", e.format},           {"count", e.count},
          {"median_ape", e.median_ape},   {"mean_ape", e.mean_ape},
          {"p90_ape", e.p90_ape},         {"bias", e.bias},
          {"large_count", e.large_count}, {"large_median_ape", e.large_median_ape}};
}

std::vector<std::string> cells(const KernelErrors& e) {
  const auto percent = [](double v) { return fmt::format("{:.1f}", 100 * v); };
  return {e.device,
          e.kernel,
          e.format,
          fmt::format("{}", e.count),
          percent(e.median_ape),
          percent(e.p90_ape),
          percent(e.bias),
          percent(e.large_median_ape)};
}

void calibrate_gemm(const GemmOptions& options, const Globals& globals) {
  const KernelFits fits = fit_tables(options.tables, load_catalog(globals.hardware));
  const std::string source = options.source.empty() ? options.tables.front() : options.source;
  const std::string overlay = efficiency_overlay(fits.gemm, fits.attention, source);
  write_overlay(options.output, "efficiency.json", overlay);
  if (options.json) {
    Json document = {{"overlay", Json::parse(overlay)}, {"residuals", Json::array()}};
    for (const GemmFit& fit : fits.gemm) document["residuals"].push_back(residuals(fit.errors));
    for (const AttentionFit& fit : fits.attention) document["residuals"].push_back(residuals(fit.errors));
    return print_json(document);
  }
  Table table({{"device", Align::left},
               {"kernel", Align::left},
               {"format", Align::left},
               {"points"},
               {"median %"},
               {"p90 %"},
               {"bias %"},
               {"large: median %"}});
  for (const GemmFit& fit : fits.gemm) table.add(cells(fit.errors));
  for (const AttentionFit& fit : fits.attention) table.add(cells(fit.errors));
  std::cout << table.render() << "\n"
            << dim(wrap("Errors of the fit, predicted over measured. Large: m, n and k of at least 1024, or at least "
                        "4096 tokens."))
            << "\n";
}

void add_gemm(CLI::App& command, const Globals& globals) {
  const auto options = std::make_shared<GemmOptions>();
  CLI::App* gemm = command.add_subcommand("gemm", "Kernel efficiencies from GEMM and attention timings (CSV, .gz)");
  gemm->add_option("tables", options->tables, "CSV with gpu, dtype, m, n, k, latency_s (or attention's columns)")
      ->required();
  gemm->add_option("--output", options->output, "Folder or .json file for the overlay")->check(output_overlay());
  gemm->add_option("--source", options->source, "What the overlay gives as source; the first table's path otherwise");
  gemm->add_flag("--json", options->json, "Overlay and residuals as one JSON document");
  gemm->callback([options, &globals] { calibrate_gemm(*options, globals); });
}

struct RunsOptions {
  std::vector<std::string> records;
  LogCompletion log;
  std::string output;
  bool from_benchmarks = false, json = false;
};

std::string described(const RunsOptions& options, int configurations) {
  return fmt::format("Fitted to {} configurations of training runs; reproduced by: meshwright calibrate runs {}{}",
                     configurations, fmt::join(options.records, " "),
                     options.from_benchmarks ? " --from-benchmarks" : "");
}

std::vector<RunRecord> read_runs(const RunsOptions& options, const Catalog& catalog) {
  std::vector<RunRecord> runs;
  for (const std::string& path : options.records)
    std::ranges::move(read_own_runs(path, catalog, options.log), std::back_inserter(runs));
  if (runs.empty()) throw Error(options.records.front(), "no training run (model, cluster, layout, measured) in it");
  return runs;
}

/// What the shipped figures come from: all sites at once, from benchmarks.
void calibrate_published(const RunsOptions& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware, benchmark_catalog());
  const RunFit fit = fit_runs(read_runs(options, catalog));
  const std::string overlay = overlay_json(fit, catalog, described(options, fit.configurations));
  write_overlay(options.output, "fitted.json", overlay);
  if (options.json) return print_json(Json::parse(overlay));
  Table table({{"of", Align::left}, {"parameter", Align::left}, {"before"}, {"fitted"}, {"error %"}, {"runs"}});
  for (const RunParameter& p : fit.parameters) {
    table.add({p.release.empty() ? p.owner : p.owner + " " + p.release, p.field, fmt::format("{:.4g}", p.prior),
               fmt::format("{:.4g}", p.value), fmt::format("{:.1f}", 100 * p.error), fmt::format("{}", p.runs)});
  }
  std::cout
      << table.render() << "\n"
      << fmt::format(
             "{} parameters, {} configurations: mean error {:.1f} % before, {:.1f} % after; each model and "
             "device left out in turn: mean {:.1f} %, median {:.1f} %; each set: mean {:.1f} %, median {:.1f} %\n",
             fit.parameters.size(), fit.configurations, 100 * fit.mean_error_before, 100 * fit.mean_error_after,
             100 * fit.model_and_device.mean, 100 * fit.model_and_device.median, 100 * fit.set.mean,
             100 * fit.set.median);
  if (const UsersLeftOut& users = fit.users; users.records > 0) {
    std::cout << fmt::format(
        "ordinary users' runs, each of their sets left out: {} configurations, mean {:.1f} %, median "
        "{:.1f} %; {} of {} records can't be stated\n",
        users.configurations, 100 * users.errors.mean, 100 * users.errors.median, users.not_stated, users.records);
  }
}

/// Why none of the runs can be predicted.
std::string first_reason(const std::vector<RunRecord>& runs) {
  for (const RunRecord& run : runs) {
    if (run.skipped) return "no run that can be predicted: " + *run.skipped;
  }
  return "no run that can be predicted: expected a measured step of a job that was not sick";
}

void calibrate_own(const RunsOptions& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  const std::vector<RunRecord> records = read_runs(options, catalog);
  const std::vector<OwnRun> runs = own_runs(records);
  if (runs.empty()) throw Error(options.records.front(), first_reason(records));
  OwnFit fit = fit_own(runs);
  fit.memory = fit_own_memory(runs);
  const std::vector<NextRun> next = runs_to_make(runs.front().job, fit);
  const std::string overlay = own_overlay_json(fit, runs, catalog, described(options, fit.runs));
  write_overlay(options.output, "own-runs.json", overlay);
  if (!options.json) {
    std::cout << own_fit_text(fit, next);
    return;
  }
  Json document = Json::parse(overlay);
  document["next"] = next_runs_json(next);
  print_json(document);
}

void calibrate_runs(const RunsOptions& options, const Globals& globals) {
  options.from_benchmarks ? calibrate_published(options, globals) : calibrate_own(options, globals);
}

void add_runs(CLI::App& command, const Globals& globals) {
  const auto options = std::make_shared<RunsOptions>();
  CLI::App* runs = command.add_subcommand("runs", "What your own training runs tell of device, links and stack");
  runs->add_option("records", options->records, "Training runs (.jsonl, .gz), job files with 'measured', training logs")
      ->required();
  add_log_options(*runs, options->log);
  runs->add_option("--output", options->output, "Folder or .json file for the overlay")->check(output_overlay());
  runs->add_flag("--from-benchmarks", options->from_benchmarks,
                 "Fit to runs of many sites, from benchmarks and first estimates: how the shipped figures were made");
  runs->add_flag("--json", options->json, "The overlay as one JSON document");
  runs->callback([options, &globals] { calibrate_runs(*options, globals); });
}

struct SpreadOptions {
  std::vector<std::string> records;
  std::string output;
  bool json = false;
};

void calibrate_spread(const SpreadOptions& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware, benchmark_catalog());
  const std::vector<RunRecord> runs = records_or_published(options.records, catalog);
  const Spread spread = fit_spread(runs);
  const std::string document = to_json(
      spread, fmt::format("How far {} runs lie from predictions that have not seen them, in log units; reproduced by: "
                          "meshwright calibrate spread{}{}",
                          runs.size(), options.records.empty() ? "" : " ", fmt::join(options.records, " ")));
  if (!options.output.empty()) write_file(overlay_path(options.output, "spread.json"), document);
  if (options.json) return print_json(Json::parse(document));
  Table figures({{"figure", Align::left}, {"sites differ by %"}});
  for (const FigureSpread& f : spread.figures) figures.add({f.field, fmt::format("{:.0f}", 100 * f.spread)});
  Table traits({{"steps of", Align::left},
                {"without own runs %"},
                {"not explained %"},
                {"the same for a job %"},
                {"figures over others'"}});
  for (std::size_t t = 0; t < trait_count; ++t) {
    const TraitSpread& row = spread.traits[t];
    traits.add({std::string(trait_names[t]), fmt::format("{:.0f}", 100 * row.total),
                fmt::format("{:.0f}", 100 * row.own), fmt::format("{:.0f}", 100 * row.shared),
                fmt::format("{:.2f}", row.stretch)});
  }
  std::cout << figures.render() << "\n" << traits.render();
}

void add_spread(CLI::App& command, const Globals& globals) {
  const auto options = std::make_shared<SpreadOptions>();
  CLI::App* spread =
      command.add_subcommand("spread", "How far measured steps lie from predicted ones: priors and bands");
  spread->add_option("records", options->records, "Training runs (.jsonl, .gz); the published ones otherwise");
  spread->add_option("--output", options->output, "Folder or .json file for the spreads")->check(output_overlay());
  spread->add_flag("--json", options->json, "The spreads as one JSON document");
  spread->callback([options, &globals] { calibrate_spread(*options, globals); });
}

struct TablesOptions {
  std::vector<std::string> files;
  std::string output, start, cluster;
  int nodes = 0;
  bool cross_validate = false, json = false;
};

bool is_records(const std::string& file) {
  return file.ends_with(".jsonl") || file.ends_with(".jsonl.gz") || file.ends_with(".json");
}

/// Records as they stand; a raw log on --cluster, or on what its "Rank" lines show.
std::vector<CollectiveTable> read_tables(const TablesOptions& options, const Catalog& catalog) {
  std::vector<CollectiveTable> tables;
  for (const std::string& file : options.files) {
    if (is_records(file)) {
      for (const Reader& record : Reader::lines(file)) {
        if (record.has("collective")) tables.push_back(read_collective_table(record, catalog));
      }
      continue;
    }
    const NcclTestsLog log = read_nccl_tests_log(read_file(file), file);
    const std::optional<Cluster> cluster = options.cluster.empty()
                                               ? cluster_of_log(log, catalog)
                                               : make_cluster(catalog, options.cluster, options.nodes, 0);
    if (!cluster) throw Error(file, "the log does not show its GPUs and hosts; say the machine with --cluster");
    tables.push_back(table_of_log(log, *cluster));
  }
  return tables;
}

void calibrate_tables(const TablesOptions& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  const std::vector<Medium> start = options.start.empty() ? catalog.media : read_media(Reader::file(options.start));
  const std::vector<CollectiveTable> tables = read_tables(options, catalog);
  const MediaFit fit = fit_media(tables, start);
  Json document = Json::parse(
      to_json(fit.media, fmt::format("Fitted to {} by meshwright calibrate nccl-tests", options.files.front())));
  if (options.cross_validate) {
    const MediaLeftOut out = cross_validate(tables, start);
    document["fit"]["sources_left_out"] = {{"parts", out.folds},
                                           {"large_median_ape", out.large.median},
                                           {"large_p90_ape", out.large.p90},
                                           {"small_median_ape", out.small.median},
                                           {"small_p90_ape", out.small.p90},
                                           {"bands", Json::parse(to_json(collective_bands(out.checks)))},
                                           {"coverage", Json::object()}};
    for (const CollectiveCoverage& c : collective_coverage(out.checks))
      document["fit"]["sources_left_out"]["coverage"][c.left_out] = {{"rows", c.rows}, {"inside", c.inside}};
  }
  const std::string overlay = json_text(document, 1) + "\n";
  write_overlay(options.output, "media.json", overlay);
  if (options.json) {
    Json answer = {{"overlay", document},
                   {"median_ape_before", fit.before},
                   {"median_ape", fit.after},
                   {"residuals", Json::array()}};
    for (const MediumResidual& r : fit.residuals) {
      answer["residuals"].push_back(
          {{"medium", r.medium}, {"tables", r.tables}, {"rows", r.rows}, {"median_ape", r.median}, {"p90_ape", r.p90}});
    }
    return print_json(answer);
  }
  Table table({{"medium", Align::left}, {"tables"}, {"rows"}, {"median %"}, {"p90 %"}});
  for (const MediumResidual& r : fit.residuals) {
    table.add({r.medium, fmt::format("{}", r.tables), fmt::format("{}", r.rows), fmt::format("{:.1f}", 100 * r.median),
               fmt::format("{:.1f}", 100 * r.p90)});
  }
  std::cout << table.render() << "\n"
            << dim(wrap(fmt::format("Median error over all rows: {:.1f} % before, {:.1f} % after the fit.",
                                    100 * fit.before, 100 * fit.after)))
            << "\n";
}

void add_tables(CLI::App& command, const Globals& globals) {
  const auto options = std::make_shared<TablesOptions>();
  CLI::App* tables = command.add_subcommand("nccl-tests", "Media of a platform from nccl-tests logs or records");
  tables->add_option("files", options->files, "Logs as nccl-tests prints them, or records (.jsonl, .jsonl.gz)")
      ->required();
  tables->add_flag("--cross-validate", options->cross_validate,
                   "Fit to two thirds of the sources at a time, and predict the third");
  tables->add_option("--cluster", options->cluster, "The machine of raw logs; their Rank lines otherwise");
  tables->add_option("--nodes", options->nodes, "Nodes, where --cluster names a node")
      ->check(whole_number(1, largest_count));
  tables->add_option("--start", options->start,
                     "Media to start from, as priors (.json); the compiled-in ones otherwise");
  tables->add_option("--output", options->output, "Folder or .json file for the overlay")->check(output_overlay());
  tables->add_flag("--json", options->json, "Overlay and residuals as one JSON document");
  tables->callback([options, &globals] { calibrate_tables(*options, globals); });
}

}  // namespace

void add_calibrate(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  add_gemm(command, globals);
  add_tables(command, globals);
  add_runs(command, globals);
  add_spread(command, globals);
}

}  // namespace meshwright::cli
