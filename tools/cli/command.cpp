#include "command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>

#include "meshwright/core/document.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "output.hpp"

namespace meshwright::cli {
namespace {

// Every command there is; docs/cli.md and --help are made from these rows.
constexpr std::array table = {
    Command{"plan", "Find the best layout for a model on a cluster", add_plan,
            "  meshwright plan --model llama-3.1-405b --cluster dgx-h100 --gpus 16384 \\\n"
            "      --global-batch 2048 --seq-len 8192 --flags megatron\n"
            "  meshwright plan --model config.json --cluster dgx-b200 --nodes 4 --global-batch 256 --seq-len 4096\n"
            "  meshwright plan --model deepseek-v3 --cluster dgx-h800 --nodes 256 --precision fp8-block \\\n"
            "      --global-batch 15360 --seq-len 4096\n"
            "  meshwright plan --model llama-3.1-70b --cluster dgx-h100 --nodes 8 --global-batch 256 \\\n"
            "      --seq-len 8192 --fix tp=8,recompute=none --exclude cp --max-memory 90%\n"
            "  meshwright plan --model llama-3.1-8b --cluster dgx-h100 --nodes 4 --global-batch 256 \\\n"
            "      --seq-len 8192 --objective gpu-time --pareto time,memory"},
    Command{"predict", "Explain the step time and memory of one layout", add_predict,
            "  meshwright predict job.json\n"
            "  meshwright predict job.json --trace timeline.json\n"
            "  meshwright predict job.json --measured rank0.json.gz rank8.json.gz\n"
            "  meshwright predict job.json --json"},
    Command{"validate", "Compare predictions with measured records", add_validate,
            "  meshwright validate                       # the published records that ship with Meshwright\n"
            "  meshwright validate runs/*.jsonl --json\n"
            "  meshwright validate train.log --cluster dgx-h100\n"
            "  meshwright validate gemm-points.csv.gz\n"
            "  meshwright validate --own-runs            # what own runs would change, by leaving out sites"},
    Command{"collective", "Time a collective as nccl-tests would print it", add_collective,
            "  meshwright collective all_reduce --cluster dgx-h100 --nodes 2 -b 1K -e 8G -f 4\n"
            "  meshwright collective all_to_all --cluster dgx-b200 --nodes 16 --json\n"
            "  meshwright collective all_reduce --cluster dgx-a100 --nodes 4 --policy nccl --max-nchannels 4\n"
            "  meshwright collective all_reduce --cluster dgx-h100 --nodes 2 --measured all_reduce.log \\\n"
            "      --raw-rdma write_bw.txt --one-node-busbw '470 GB/s'"},
    Command{"algorithms", "List the collective algorithms with closed forms", add_algorithms,
            "  meshwright algorithms\n"
            "  meshwright algorithms --json"},
    Command{"topo", "Show, check or import a topology", add_topo,
            "  meshwright topo show dgx-h100 --nodes 64\n"
            "  meshwright topo check cluster.json\n"
            "  meshwright topo check dgx-h100 --nodes 2 --measured ib_write_bw.txt\n"
            "  nvidia-smi topo -m > topo.txt && meshwright topo import topo.txt"},
    Command{"model", "List and show models", add_model,
            "  meshwright model list\n"
            "  meshwright model show llama-3.1-405b\n"
            "  meshwright model show ./config.json --json"},
    Command{"calibrate", "Fit parameters from measurements, written as an overlay", add_calibrate,
            "  meshwright calibrate nccl-tests all_reduce.log --cluster dgx-h100 --output overlay/\n"
            "  meshwright calibrate gemm points.csv --output overlay/\n"
            "  meshwright calibrate runs myruns.jsonl --output overlay/\n"
            "  meshwright calibrate runs train.log --cluster dgx-h100 --output overlay/"},
    Command{
        "import", "Read what a stack is launched with into a job", add_import,
        "  meshwright import launch pretrain.sh --cluster dgx-h100 --gpus 64 --output job.json\n"
        "  meshwright import launch config_llama.yaml --framework nanotron --cluster dgx-h100 --model llama-3.1-8b"},
    Command{"cluster", "Describe a cluster of your own", add_cluster,
            "  meshwright cluster new --node dgx-h100 --nodes 64 --nic '400 Gb/s' --fabric roce --output mine.yaml\n"
            "  meshwright cluster check mine.yaml\n"
            "  meshwright plan --cluster mine.yaml --model llama-3.1-70b --global-batch 512 --seq-len 8k"},
    Command{"whatif", "Compare clusters by time, money and risk", add_whatif,
            "  meshwright whatif examples/whatif/ib-or-roce.json\n"
            "  meshwright whatif scenario.json --html report.html --csv results.csv\n"
            "  meshwright whatif sweep.json --store sweep.db --json"},
    Command{"hardware", "List and show the hardware database", add_hardware,
            "  meshwright hardware list\n"
            "  meshwright hardware show H100-SXM5-80GB\n"
            "  meshwright hardware show dgx-h100 --json > mine.json   # --cluster takes it, edited or as it is"},
    Command{"schema", "JSON Schema of job, cluster, scenario and overlay files", add_schema,
            "  meshwright schema cluster > cluster.schema.json        # then \"$schema\": \"cluster.schema.json\""},
    Command{"completion", "Completion of the command line, for your shell", add_completion,
            "  source <(meshwright completion bash)                   # or in ~/.bashrc\n"
            "  meshwright completion zsh > ~/.zfunc/_meshwright\n"
            "  meshwright completion fish > ~/.config/fish/completions/meshwright.fish"},
    Command{"man", "The manual page, for man(1)", add_man, "  meshwright man > meshwright.1 && man ./meshwright.1"},
};

// The innermost command that the arguments got to.
const CLI::App* reached(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? &app : reached(*used.back());
}

std::vector<std::string> spellings(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (app.get_parent() != nullptr) names.insert(names.end(), {"--hardware", "--color"});
  return names;
}

std::string command_path(const CLI::App& app) {
  std::string path = app.get_name();
  for (const CLI::App* up = app.get_parent(); up != nullptr; up = up->get_parent())
    path.insert(0, up->get_name() + " ");
  return path;
}

namespace fs = std::filesystem;

/// Where `text` leads; an empty path where it leads nowhere.
fs::path output_path(const std::string& text) {
  std::error_code failed;
  return text.empty() ? fs::path() : fs::absolute(text, failed).lexically_normal();
}

/// Why no file can be written there; "" where nothing is known to stand in the way.
std::string unwritable_file(const std::string& text) {
  const fs::path path = output_path(text);
  std::error_code failed;
  if (path.empty()) return "found an empty text, expected a file";
  if (fs::is_directory(path, failed)) return fmt::format("{} is a folder, expected a file", text);
  if (fs::is_directory(path.parent_path(), failed)) return "";
  return fmt::format("{} cannot be written: no folder {}", text, path.parent_path().string());
}

/// Why no folder can be made there.
std::string unmakeable_folder(const std::string& text) {
  fs::path path = output_path(text);
  std::error_code failed;
  if (path.empty()) return "found an empty text, expected a folder or a .json file";
  while (!fs::exists(path, failed) && path.has_relative_path()) path = path.parent_path();
  if (fs::is_directory(path, failed)) return "";
  return fmt::format("no folder can be made of {}: {} is none", text, path.string());
}

}  // namespace

std::span<const Command> commands() { return table; }

CLI::Validator whole_number(long long least, long long most) {
  const auto check = [=](const std::string& text) -> std::string {
    long long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool decimal = error == std::errc{} && end == text.data() + text.size() && std::to_string(value) == text;
    if (decimal && value >= least && value <= most) return "";
    return fmt::format("found '{}', expected a whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

CLI::Validator whole_size(int least, int most) {
  const auto transform = [=](std::string& text) -> std::string {
    try {
      text = std::to_string(parse_size(text, "", least, most));
      return "";
    } catch (const Error& e) {
      return e.what_happened();
    }
  };
  return CLI::Validator(transform, "");
}

CLI::Validator decimal_number(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (whole && value >= least && value <= most) return "";  // NaN compares false
    return fmt::format("found '{}', expected a number from {:g} to {:g}", text, least, most);
  };
  return CLI::Validator(check, "");
}

CLI::Validator some_text() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "found an empty text" : ""; }, "");
}

CLI::Validator one_of(std::vector<std::string> names) {
  std::string shown = fmt::format("{{{}}}", fmt::join(names, ","));
  const auto check = [names = std::move(names)](const std::string& text) -> std::string {
    if (std::ranges::find(names, text) != names.end()) return "";
    return fmt::format("found '{}', expected one of {}", text, fmt::join(names, ", "));
  };
  return CLI::Validator(check, std::move(shown));
}

CLI::Validator overlay_folder() {
  const auto check = [](const std::string& text) -> std::string {
    std::error_code failed;
    if (is_document_file(text) && std::filesystem::is_regular_file(text, failed)) return "";
    for (const auto& entry : std::filesystem::directory_iterator(text, failed)) {
      if (is_document_file(entry.path())) return "";
    }
    if (!text.empty() && !std::filesystem::exists(text, failed)) {  // or an overlay that ships
      try {
        overlay(benchmark_catalog(), text);
        return "";
      } catch (const Error&) {
      }
    }
    return fmt::format("found '{}', expected a *.json or *.yaml file, or a folder with some", text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator output_file() { return CLI::Validator(unwritable_file, ""); }

CLI::Validator output_overlay() {
  const auto check = [](const std::string& text) {
    return std::filesystem::path(text).extension() == ".json" ? unwritable_file(text) : unmakeable_folder(text);
  };
  return CLI::Validator(check, "");
}

std::string one_line(std::string_view text) {
  // A string's JSON form is one line and valid UTF-8; what a person need not see escaped is put back.
  std::string quoted = json_text(std::string(text));
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    const bool plain = quoted[i] == '\\' && i + 1 < quoted.size() && (quoted[i + 1] == '"' || quoted[i + 1] == '\\');
    out += plain ? quoted[++i] : quoted[i];
  }
  return out;
}

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_json(const nlohmann::ordered_json& document) {
  prints_data();
  std::cout << json_text(document, 2) << "\n";
}

std::string explain_parse_error(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = reached(root);
  const std::vector<std::string> left = root.remaining(true);  // what a command doesn't know falls through to here
  std::string text;
  if (!left.empty()) {
    const std::vector<std::string> names = spellings(*app);
    const bool option = left.front().starts_with("-");
    const std::string near = nearest(left.front(), names);
    text = fmt::format("unknown {} '{}'{}",
                       option         ? "option"
                       : app == &root ? "command"
                                      : "argument",
                       left.front(), near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  } else {
    text = error.what();
    constexpr std::string_view override = " was given a disallowed flag override";
    if (text.ends_with(override)) text = "--" + text.substr(0, text.size() - override.size()) + ": takes no value";
    if (const auto of = text.find(": At Most 1 required but received"); of != std::string::npos)
      text = text.substr(0, of) + ": stands more than once, expected one value";
    if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  }
  return fmt::format("{}; see '{} --help'", text, command_path(*app));
}

}  // namespace meshwright::cli
