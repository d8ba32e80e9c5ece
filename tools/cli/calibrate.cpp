// meshwright calibrate: parameters fitted from measurements, written as an overlay of the hardware database.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/calibrate/kernel_fit.hpp"
#include "meshwright/core/reader.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Where an overlay goes: FILE.json as it stands, anything else is a folder that gets `name`.
std::filesystem::path overlay_path(const std::filesystem::path& output, std::string_view name) {
  if (output.extension() == ".json") return output;
  std::filesystem::create_directories(output);
  return output / name;
}

void write_overlay(const std::filesystem::path& output, std::string_view name, const std::string& content) {
  if (output.empty()) return;
  const std::filesystem::path path = overlay_path(output, name);
  write_file(path, content);
  std::cerr << fmt::format("wrote {}; use it with --hardware {}\n", path.string(), path.parent_path().string());
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
      std::ranges::move(read_gemm_points(path), std::back_inserter(gemm));
    } else {
      std::ranges::move(read_attention_points(path), std::back_inserter(attention));
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
  gemm->add_option(
          "tables", options->tables,
          "Columns gpu, dtype, m, n, k, latency_s; or system, dtype, batch, seqlen, heads, kv_heads, head_dim, "
          "window, latency_ms")
      ->required();
  gemm->add_option("--output", options->output, "Folder or .json file for the overlay");
  gemm->add_option("--source", options->source, "What the overlay gives as source; the first table's path otherwise");
  gemm->add_flag("--json", options->json, "Overlay and residuals as one JSON document");
  gemm->callback([options, &globals] { calibrate_gemm(*options, globals); });
}

}  // namespace

void add_calibrate(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  add_gemm(command, globals);
}

}  // namespace meshwright::cli
