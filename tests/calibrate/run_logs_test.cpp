#include "meshwright/calibrate/run_logs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "calibrate/run_log_dialect.hpp"
#include "meshwright/parallel/framework.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/layout.hpp"
#include "parallel/jobs.hpp"
#include "source_dir.hpp"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

std::string sample(const std::string& name) {
  return (source_dir() / "tests/calibrate/logs" / (name + ".log")).string();
}

/// A file of the test's own that goes when it does.
struct Scratch {
  std::filesystem::path path;
  /// Of this process: tests run beside one another.
  explicit Scratch(const std::string& name)
      : path(std::filesystem::temp_directory_path() / fmt::format("meshwright_{}_{}", ::getpid(), name)) {}
  ~Scratch() { std::filesystem::remove(path); }
  void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }
};

struct Case {
  std::string log, dialect, layout;
  LogCompletion completion;
  int gpus, seq_len, global_batch;
  std::string precision;
  int layers;
  double step_s, peak_gib;  ///< what the sample was written with; 0 = it shows no memory
};

class SampleLogs : public ::testing::TestWithParam<Case> {};

// Steps scatter by 1 % around the values that the samples were written with; the median of 30 is within 1 %.
TEST_P(SampleLogs, AreReadAsTheJobThatPrintedThem) {
  const Case& c = GetParam();
  const auto runs = read_own_runs(sample(c.log), builtin_catalog(), c.completion);
  ASSERT_EQ(runs.size(), 1U);
  const RunRecord& run = runs.front();
  EXPECT_EQ(read_run_log(sample(c.log)).dialect, c.dialect);
  EXPECT_EQ(describe_layout(run.layout), c.layout);
  EXPECT_EQ(run.job.accelerators, c.gpus);
  EXPECT_EQ(run.job.seq_len, c.seq_len);
  EXPECT_EQ(run.job.global_batch, c.global_batch);
  EXPECT_EQ(run.job.precision.name, c.precision);
  EXPECT_EQ(run.job.model.layers, c.layers);
  EXPECT_NEAR(run.measured.step_time->value(), c.step_s, 0.01 * c.step_s);
  EXPECT_EQ(run.measured.peak_memory.has_value(), c.peak_gib > 0);
  if (c.peak_gib > 0) {
    EXPECT_NEAR(run.measured.peak_memory->value() / 1073741824.0, c.peak_gib, 0.001 * c.peak_gib);
  }
}

const std::string part = (source_dir() / "tests/calibrate/logs/").string();

INSTANTIATE_TEST_SUITE_P(
    Stacks, SampleLogs,
    ::testing::Values(
        Case{"megatron-core",
             "megatron-core",
             "tp4 pp2 dp8 mb1 z1",
             {.cluster = "dgx-h100"},
             64,
             8192,
             256,
             "bf16",
             32,
             4.21,
             56.0},
        Case{"megatron-bridge",
             "megatron-bridge",
             "tp2 dp4 mb1 z1",
             {.cluster = "dgx-h100"},
             8,
             8192,
             128,
             "fp8-cs",
             32,
             9.35,
             61.93},
        Case{"nemo",
             "nemo",
             "tp4 pp4 dp2 mb1 z1",
             {.model = "llama-3.1-70b", .cluster = "dgx-h100", .job = part + "nemo-job.json"},
             32,
             8192,
             128,
             "bf16",
             80,
             11.42,
             66.5},
        Case{"torchtitan",
             "torchtitan",
             "dp8 mb2 z3 recompute-selective",
             {.cluster = "dgx-h100"},
             8,
             8192,
             16,
             "bf16",
             32,
             16 * 8192 / (7050.0 * 8),
             51.27},
        Case{"deepspeed",
             "deepspeed",
             "dp16 mb4 z3",
             {.model = "llama-3.1-8b", .cluster = "dgx-h100", .job = part + "deepspeed-job.json"},
             16,
             2048,
             256,
             "bf16",
             32,
             256 / 41.5,
             52.4},
        Case{"deepspeed-pipeline",
             "deepspeed-pipeline",
             "pp4 dp16 mb4 z1",
             {.model = "llama-3.1-8b", .cluster = "dgx-h100", .job = part + "deepspeed-pipeline-job.json"},
             64,
             2048,
             256,
             "bf16",
             32,
             6.2,
             0},
        Case{"megatron-deepspeed",
             "megatron-deepspeed",
             "tp4 pp2 dp2 mb4 z1 recompute-full",
             {.cluster = "dgx-a100"},
             16,
             2048,
             256,
             "bf16",
             24,
             5.31,
             0},
        Case{"nanotron",
             "nanotron",
             "tp2 pp2 dp4 mb4 z1",
             {.cluster = "dgx-h100"},
             16,
             4096,
             128,
             "bf16",
             16,
             3.18,
             32.35},
        Case{"maxtext", "maxtext", "tp2 dp16 mb4 z3", {.cluster = "dgx-h100"}, 32, 8192, 64, "bf16", 32, 4.05, 61.2},
        Case{"hf-trainer",
             "hf-trainer",
             "dp8 mb2 z3 recompute-full",
             {.cluster = "dgx-h100"},
             8,
             4096,
             64,
             "bf16",
             32,
             7.9,
             0}),
    [](const auto& one) {
      std::string name = one.param.log;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(RunLogs, SaysWhatIsMissingAndHowToGiveIt) {
  try {
    read_own_runs(sample("nemo"), builtin_catalog());
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), sample("nemo"));
    EXPECT_THAT(error.what_happened(), HasSubstr("the model (--model)"));
    EXPECT_THAT(error.what_happened(), HasSubstr("the cluster (--cluster"));
    EXPECT_THAT(error.what_happened(), HasSubstr("(--seq-len)"));
  }
  try {
    read_own_runs(sample("torchtitan"), builtin_catalog());
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what_happened(), HasSubstr("its device is NVIDIA H100 80GB HBM3"));
  }
}

TEST(RunLogs, DropsWarmUpAndNamesSickSteps) {
  const RunLog log = read_run_log(sample("megatron-core"));
  EXPECT_EQ(log.steps.read, 40);
  EXPECT_EQ(log.steps.warm_up, 2);                          // 31.2 s, 6.1 s
  EXPECT_THAT(log.steps.sick, ::testing::ElementsAre(30));  // 14.8 s
  EXPECT_LT(log.steps.spread, 0.02);
  EXPECT_THAT(log.notes, ::testing::Contains(HasSubstr("left out")));
}

TEST(RunLogs, CountsOnlyTheLastBatchOfARamp) {
  const RunLog log = read_run_log(sample("megatron-deepspeed"));
  EXPECT_EQ(log.steps.read, 21);
  EXPECT_EQ(log.global_batch, 256);
  EXPECT_THAT(log.notes, ::testing::Contains(HasSubstr("batch grew")));
}

TEST(RunLogs, TakesTheTrainersSummaryWhereNoBarWasPrinted) {
  const Scratch file("summary.log");
  file.write(
      "***** Running training *****\n  Total optimization steps = 1,000\n"
      "{'train_runtime': 2500.0, 'train_steps_per_second': 0.4}\n");
  const RunLog log = read_run_log(file.path);
  EXPECT_DOUBLE_EQ(log.steps.median, 2.5);
  EXPECT_THAT(log.notes, ::testing::Contains(HasSubstr("start-up included")));
}

TEST(RunLogs, AJobFileFillsInAndWins) {
  const Scratch job("job.json");
  job.write(R"({"seq_len": 4096, "layout": {"recompute": "full"}, "recipe": {"offload": {"optimizer": true}}})");
  const auto runs =
      read_own_runs(sample("megatron-core"), builtin_catalog(), {.cluster = "dgx-h100", .job = job.path.string()});
  EXPECT_EQ(runs[0].job.seq_len, 4096);
  EXPECT_EQ(runs[0].layout.recompute, Recompute::full);
  EXPECT_EQ(runs[0].layout.tp, 4);
  EXPECT_TRUE(runs[0].job.recipe.offload.optimizer) << "over the log's optimizer_cpu_offload False";
  const auto alone = read_own_runs(sample("megatron-core"), builtin_catalog(), {.cluster = "dgx-h100"});
  EXPECT_FALSE(alone[0].job.recipe.offload.optimizer);
}

// Megatron-LM, training/arguments.py: a GELU is fused with its biases, and not where there are none; both fusions are
// printed whatever the nonlinearity.
TEST(RunLogs, FusionsAreThoseOfTheNonlinearityThatRuns) {
  const auto unfused = [](const char* swiglu, const char* biases, const char* swiglu_fusion, const char* gelu_fusion) {
    std::string text = read_file(sample("megatron-core"));
    const auto put = [&](const std::string& line, const std::string& lines) {
      text.replace(text.find(line), line.size(), lines);
    };
    put("swiglu .......................................... True",
        fmt::format("swiglu .... {}\n  bias_swiglu_fusion .... {}\n  bias_gelu_fusion .... {}", swiglu, swiglu_fusion,
                    gelu_fusion));
    put("add_bias_linear ................................. False", fmt::format("add_bias_linear .... {}", biases));
    const Scratch file("fusions.log");
    file.write(text);
    const auto runs = read_own_runs(file.path, builtin_catalog(), {.cluster = "dgx-h100"});
    return runs.at(0).job.recipe.kernels.unfused;
  };
  EXPECT_FALSE(unfused("True", "False", "True", "False")) << "as every Llama prints it";
  EXPECT_TRUE(unfused("True", "False", "False", "False"));
  EXPECT_TRUE(unfused("False", "True", "True", "False"));
  EXPECT_FALSE(unfused("False", "True", "False", "True"));
  EXPECT_FALSE(unfused("False", "False", "True", "False")) << "no biases to fuse";
}

TEST(RunLogs, RefusesWhatIsNoTrainingLog) {
  const Scratch file("other.log");
  file.write("hello\nworld\n");
  EXPECT_THROW(read_run_log(file.path), Error);
  file.write("");
  EXPECT_THROW(read_run_log(file.path), Error);
  EXPECT_THROW(read_run_log("/no/such.log"), Error);
  EXPECT_THROW(read_run_log(std::filesystem::temp_directory_path()), Error);
  file.write("\x1f\x8b\x08 not gzip at all");
  EXPECT_THROW(read_run_log(file.path), Error);
}

// A line without an end and a run of a million steps: the figures stay, memory does not follow the file's size.
TEST(RunLogs, ReadsHugeLogsInBoundedMemory) {
  const Scratch file("huge.log");
  {
    std::ofstream out(file.path, std::ios::binary);
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 48; ++i) out << block;
    for (int i = 0; i < 200'000; ++i)
      out << "\n iteration " << i << "/ 9 | elapsed time per iteration (ms): " << 1000 + i % 7
          << " | global batch size: 8 |";
  }
  struct rusage before {
  }, after{};
  getrusage(RUSAGE_SELF, &before);
  const RunLog log = read_run_log(file.path);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(log.steps.read, 200'000);
  EXPECT_NEAR(log.steps.median, 1.003, 1e-9);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 24 * 1024)
      << "kB more at the peak";  // of 62 MB; sanitizers keep freed memory
  EXPECT_THAT(log.notes, ::testing::Contains(HasSubstr("too long")));
}

TEST(RunLogs, ReadsAGzippedLogThatBreaksOff) {
  const Scratch plain("whole.log"), packed("broken.log.gz");
  std::string text;
  for (int i = 1; i < 20000; ++i)
    text += "completed step: " + std::to_string(i) + ", seconds: 4." + std::to_string(100 + i * 7919 % 900) + "\n";
  plain.write(text);
  const std::string command = "gzip -c " + plain.path.string() + " > " + packed.path.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::filesystem::resize_file(packed.path, std::filesystem::file_size(packed.path) / 2);
  const RunLog log = read_run_log(packed.path);
  EXPECT_GT(log.steps.read, 5000);
  EXPECT_LT(log.steps.read, 15000);
  EXPECT_THAT(log.notes, ::testing::Contains(HasSubstr("truncated")));
}

/// The job that a file of these flags gives.
Reader read_back(const std::vector<std::string>& flags, const std::string& dialect) {
  const Scratch file("flags.sh");
  std::string text;
  for (const std::string& flag : flags) text += flag + "\n";
  file.write(text);
  const std::map<std::string, std::string> readers = {{"megatron", "megatron-core"},
                                                      {"bridge", "megatron-bridge"},
                                                      {"accelerate", "hf-trainer"},
                                                      {"fsdp", "llm-foundry"}};
  const auto reader = readers.find(dialect);
  const RunLog launch = read_launch(file.path, reader == readers.end() ? dialect : reader->second);
  const LogCompletion completion{.model = "llama-3.1-8b", .cluster = "dgx-h100", .gpus = 8, .seq_len = 4096};
  return Reader::text(job_of_log(launch, completion), "read back");
}

/// A job of eight devices that have the format; nothing where none has.
std::optional<parallel::Job> job_in(const std::string& stack, const std::string& format) {
  for (const char* cluster : {"dgx-h100", "dgx-b200", "dgx-a100-80gb"}) {
    parallel::JobSpec spec{
        .shape = parallel::llama_8b(), .seq_len = 4096, .global_batch = 64, .precision = format, .framework = stack};
    spec.cluster = {.of = cluster, .accelerators = 8};
    try {
      return make_job(spec, builtin_catalog());
    } catch (const Error&) {
      // the device lacks the format
    }
  }
  return std::nullopt;
}

// What is written is read as the format that was planned with; what has no name is refused, never left out.
TEST(Launch, FormatsComeBackOrAreRefused) {
  int back = 0;
  for (const parallel::Framework& stack : parallel::frameworks()) {
    for (const std::string& dialect : stack.flags) {
      for (const std::string& format : stack.rules.precisions) {
        const auto job = job_in(stack.name, format);
        if (!job) continue;
        const bool fsdp = dialect == "accelerate" || dialect == "fsdp" || dialect == "torchtitan";
        parallel::Layout layout{.dp = 8, .zero_stage = fsdp ? 3 : 1};
        layout.overlap_grad_reduce = parallel::usual_grad_reduce(stack, layout.zero_stage);
        layout.overlap_param_gather =
            parallel::usual_param_gather(stack, layout.zero_stage, layout.overlap_grad_reduce);
        std::vector<std::string> flags;
        try {
          flags = launcher_flags(*job, layout, dialect);
        } catch (const Error& refused) {
          EXPECT_THAT(refused.what(), HasSubstr("cannot configure " + format)) << stack.name << " " << dialect;
          EXPECT_NE(format, "bf16") << stack.name << " " << dialect;
          continue;
        }
        EXPECT_EQ(read_back(flags, dialect).string_or("precision", "bf16"), format) << stack.name << " " << dialect;
        ++back;
      }
    }
  }
  EXPECT_GT(back, 40);
}

TEST(Launch, ChoicesComeBack) {
  const auto cp_kind = [](const char* stack, const std::string& dialect, const parallel::ContextKind kind) {
    const auto flags =
        launcher_flags(*job_in(stack, "bf16"), {.cp = 2, .dp = 4, .zero_stage = 1, .cp_kind = kind}, dialect);
    return read_back(flags, dialect).at("layout").string_or("cp_kind", "");
  };
  for (const parallel::ContextKind kind : parallel::context_kinds()) {
    EXPECT_EQ(cp_kind("megatron-core", "megatron", kind), kind.name());
    EXPECT_EQ(cp_kind("megatron-core", "bridge", kind), kind.name());
    EXPECT_EQ(cp_kind("maxtext", "maxtext", kind), kind.name());
  }
  for (const int shard : {2, 4}) {  // of 4 x cp 2 ranks
    const parallel::Layout layout{.cp = 2, .dp = 4, .zero_stage = 3, .hsdp_shard = shard};
    EXPECT_EQ(read_back(launcher_flags(*job_in("torchtitan", "bf16"), layout), "torchtitan")
                  .at("layout")
                  .integer_or("hsdp_shard", 0),
              shard);
    EXPECT_EQ(read_back(launcher_flags(*job_in("pytorch-fsdp", "bf16"), layout, "accelerate"), "accelerate")
                  .at("layout")
                  .integer_or("hsdp_shard", 0),
              shard);
  }
  const parallel::Job moe = parallel::test_job(parallel::mixture(48, 128, 8), 8, 4096, 64);
  for (const char* dispatcher : {"all-gather", "all-to-all", "deepep", "hybridep"}) {
    const std::string recipe = fmt::format(R"({{"kernels": {{"dispatcher": "{}"}}}})", dispatcher);
    for (const char* dialect : {"megatron", "bridge", "nemo"}) {
      const auto flags = launcher_flags(parallel::with_recipe(moe, recipe.c_str()), {.dp = 8, .ep = 8}, dialect);
      const auto read = read_back(flags, dialect).find("recipe");
      const std::string kind = read ? read->at("kernels").at("dispatcher").string() : "hybridep";
      EXPECT_EQ(kind, dispatcher) << dialect;
    }
  }
}

// Formats of these stacks' logs are formats that their rules know.
TEST(RunLogs, FormatsAreThoseOfTheStack) {
  for (const LogDialect& dialect : log_dialect_table()) {
    if (!std::set<std::string>{"torchtitan", "llm-foundry", "maxtext", "megatron-core", "nemo"}.contains(dialect.name))
      continue;
    const parallel::Framework& stack = parallel::framework(dialect.framework, "test");
    for (const LogSetting& row : dialect.settings) {
      if (row.to != "precision") continue;
      for (const auto& [printed, json] : row.values) {
        const std::string format = Reader::text(json, "value").string();
        if (format == "fp8" && dialect.name != "maxtext") continue;  // a recipe that is not said
        EXPECT_TRUE(trains_with(stack, precision(format, "test"))) << dialect.name << " " << printed;
      }
    }
  }
}

TEST(MeasuredJobs, AreReadAsRuns) {
  const Reader job = Reader::text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq_len": 8192,
    "global_batch": 16, "layout": {"tp": 1, "zero_stage": 1}, "measured": {"tokens_per_s_per_gpu": 8192}})",
                                  "own.json");
  ASSERT_TRUE(is_measured_job(job));
  const RunRecord run = read_measured_job(job, builtin_catalog());
  EXPECT_EQ(run.set, "own");
  EXPECT_DOUBLE_EQ(run.measured.step_time->value(), 2.0);
  const Reader nothing = Reader::text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq_len": 8192,
    "global_batch": 16, "layout": {"tp": 1}, "measured": {"peak_mem_gib": 60}})",
                                      "own.json");
  EXPECT_THROW(read_measured_job(nothing, builtin_catalog()), Error);
}

// A job file tells its speed by the figures that records know, under the convention that it names.
TEST(MeasuredJobs, CountFlopAsTheirSourceDoes) {
  const auto step = [](const std::string& measured) {
    const Reader job = Reader::text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq_len": 8192,
      "global_batch": 16, "layout": {"tp": 1, "zero_stage": 1}, "measured": {)" +
                                        measured + "}}",
                                    "own.json");
    return read_measured_job(job, builtin_catalog()).measured.step_time->value();
  };
  const double causal = step(R"("model_tflops_per_gpu": 400)");
  EXPECT_GT(step(R"("model_tflops_per_gpu": 400, "flops_convention": "12Lhs, no causal halving")"), 1.05 * causal);
  EXPECT_GT(step(R"("hardware_tflops_per_gpu": 400)"), 1.2 * causal);  // with a forward pass more
  const double peak = builtin_catalog().accelerator("H100-SXM5-80GB", "test").peak(DType::bf16).value();
  EXPECT_NEAR(step(R"("mfu": 0.4)"), causal * 400e12 / (0.4 * peak), 1e-9 * causal);
}

}  // namespace
}  // namespace meshwright::calibrate
