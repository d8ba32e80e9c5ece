#include "meshwright/calibrate/trace.hpp"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "calibrate/simulated_trace.hpp"
#include "calibrate/trace_kernels.hpp"
#include "meshwright/parallel/kernel_times.hpp"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("meshwright_trace_" + std::to_string(::getpid()) + "_" + name);
}
struct Removed {
  std::filesystem::path path;
  ~Removed() { std::filesystem::remove(path); }
};

struct Planned {
  Job job;
  Prediction prediction;
};
Planned planned(const std::string& json) {
  const Reader file = Reader::text(json, "job.json");
  Planned p;
  p.job = read_job(file, builtin_catalog());
  const Layout layout = *p.job.layout;
  EXPECT_FALSE(violation(p.job, layout)) << violation(p.job, layout)->text();
  p.prediction = predict(p.job, layout);
  return p;
}

/// Jobs that between them have every axis, a pipeline, experts and sharded parameters.
const std::vector<std::string>& jobs() {
  static const std::vector<std::string> all = {
      R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 16, "seq_len": 8192, "global_batch": 64,
          "layout": {"tp": 2, "pp": 2, "micro_batch": 1}})",
      R"({"model": "llama-3.1-70b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 4096, "global_batch": 256,
          "layout": {"tp": 4, "pp": 4, "vp": 5, "micro_batch": 1}})",
      R"({"model": "llama-3.1-8b", "cluster": "dgx-a100", "gpus": 16, "seq_len": 4096, "global_batch": 32,
          "framework": "torchtitan", "layout": {"tp": 1, "zero_stage": 3, "recompute": "selective", "micro_batch": 2}})",
      R"({"model": "mixtral-8x7b", "cluster": "dgx-h100", "gpus": 32, "seq_len": 4096, "global_batch": 128,
          "layout": {"tp": 1, "pp": 2, "ep": 8, "etp": 1, "micro_batch": 1, "recompute": "selective"}})",
      R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 32, "seq_len": 32768, "global_batch": 16,
          "layout": {"tp": 4, "cp": 2, "micro_batch": 1}})",
      R"({"model": "llama-3.1-405b", "cluster": "dgx-h100", "gpus": 512, "seq_len": 8192, "global_batch": 256,
          "layout": {"tp": 8, "pp": 8, "vp": 2, "micro_batch": 1, "recompute": "full"}})",
      R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 8192, "global_batch": 128,
          "layout": {"tp": 1, "zero_stage": 3, "micro_batch": 1}, "framework": "pytorch-fsdp"})",
      R"({"model": "llama-3.1-70b", "cluster": "dgx-a100", "gpus": 128, "seq_len": 4096, "global_batch": 512,
          "layout": {"tp": 8, "pp": 4, "micro_batch": 1, "recompute": "full"}})"};
  return all;
}

TEST(KernelTimes, SumToTheComputeOfTheWorstStage) {
  for (const std::string& json : jobs()) {
    const Planned p = planned(json);
    double most = 0;
    for (int stage = 0; stage < p.prediction.layout.pp; ++stage)
      most = std::max(most, stage_kernels(p.job, p.prediction.layout, stage).total().value());
    const double said = (p.prediction.time.compute + p.prediction.time.recompute).value();
    EXPECT_NEAR(most, said, 1e-9 * said) << json;
  }
}

TEST(KernelNames, SayWhatKernelsDo) {
  const auto kind = [](const char* kernel) { return kernel_meaning(kernel, "").kind; };
  EXPECT_EQ(kind("nvjet_qqtst_128x256_128x4_1x2_h_bz_coopA_NNT"), KernelKind::gemm);
  EXPECT_EQ(kind("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"), KernelKind::gemm);
  EXPECT_EQ(kind("Cijk_Ailk_Bljk_BBS_BH_MT256x256x64"), KernelKind::gemm);
  EXPECT_EQ(kind("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>"), KernelKind::attention);
  EXPECT_EQ(kind("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7"), KernelKind::attention);
  EXPECT_EQ(kind("scaled_masked_softmax_warp_backward"), KernelKind::attention_fallback);
  EXPECT_EQ(kind("void cutlass::Kernel2<cutlass::gemm::kernel::GroupedGemm>"), KernelKind::grouped_gemm);
  EXPECT_EQ(kind("void multi_tensor_apply_kernel<TensorListMetadata<4>>"), KernelKind::optimizer);
  EXPECT_EQ(kind("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add>"), KernelKind::memory_bound);
  EXPECT_EQ(kind("triton_poi_fused_silu_mul_3"), KernelKind::memory_bound);
  const KernelMeaning ring = kernel_meaning("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "");
  EXPECT_EQ(ring.kind, KernelKind::collective);
  EXPECT_EQ(ring.collective, TracedCollective::reduce_scatter);
  EXPECT_EQ(kernel_meaning("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", "").collective,
            TracedCollective::send_recv);
  EXPECT_EQ(kernel_meaning("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", "all_to_allv").collective,
            TracedCollective::all_to_all);
  EXPECT_EQ(kernel_meaning("void deep_ep::internode::dispatch<false, 8>", "").collective, TracedCollective::all_to_all);
}

TEST(Traces, OfTheWorkTheyWereDrawnFromAreAsPredicted) {
  for (const std::string& json : jobs()) {
    const Planned p = planned(json);
    const auto traces = simulated_traces(p.job, p.prediction, {}, 1);
    const TraceComparison c = compare_traces(p.job, p.prediction, traces);
    for (const RankComparison& r : c.ranks) {
      double sum = 0;
      for (const TraceTerm& term : r.terms) sum += term.measured;
      EXPECT_NEAR(sum, r.traced.step, 1e-6 * r.traced.step);
      EXPECT_EQ(r.traced.steps, 2);
    }
    for (const TraceFinding& f : c.findings) EXPECT_LT(f.share, 0.1) << json << ": " << f.words;
  }
}

TEST(Traces, SurviveTheProfilersFormat) {
  const Planned p = planned(jobs()[3]);
  const auto traces = simulated_traces(p.job, p.prediction, {}, 2);
  const Removed file{scratch("round.json")};
  std::ofstream(file.path) << kineto_json(traces[1]);
  const auto read = read_trace(file.path);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].rank, traces[1].rank);
  EXPECT_EQ(read[0].device, "H100-SXM5-80GB");
  const TracedStep a = traced_step(traces[1], p.prediction.layout), b = traced_step(read[0], p.prediction.layout);
  EXPECT_NEAR(a.step, b.step, 1e-4 * a.step);
  for (std::size_t i = 0; i < a.kernels.size(); ++i) EXPECT_NEAR(a.kernels[i], b.kernels[i], 1e-4 * a.step);
  for (std::size_t i = 0; i < a.axes.size(); ++i) EXPECT_NEAR(a.axes[i].exposed, b.axes[i].exposed, 1e-4 * a.step);
}

TEST(Traces, OfNsightSystemsAreReadByDevice) {
  const Removed file{scratch("nsys.sqlite")};
  std::filesystem::remove(file.path);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.path.c_str(), &db), SQLITE_OK);
  const char* script =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, demangledName INT);"
      "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3'), (1, 'NVIDIA H100 80GB HBM3');"
      "INSERT INTO StringIds VALUES (1, 'nvjet_hsh_64x64'), (2, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'),"
      " (3, 'void multi_tensor_apply_kernel<Adam>');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 600, 0, 7, 1), (600, 900, 0, 20, 2), (900, 1000, 0, 7, 3),"
      " (1000, 1600, 0, 7, 1), (1600, 1900, 0, 20, 2), (1900, 2000, 0, 7, 3), (0, 10, 1, 7, 1);";
  ASSERT_EQ(sqlite3_exec(db, script, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const auto traces = read_trace(file.path);
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].device, "NVIDIA H100 80GB HBM3");
  Layout layout;
  layout.dp = 2;
  const TracedStep step = traced_step(traces[0], layout);
  EXPECT_EQ(step.steps, 1);
  EXPECT_NEAR(step.step, 1000e-9, 1e-15);
  EXPECT_NEAR(step.kernels[0], 600e-9, 1e-15);
  EXPECT_NEAR(step.axes[4].exposed, 300e-9, 1e-15);
}

TEST(Traces, WithoutKernelsOrWithRubbishAreRefused) {
  const Removed file{scratch("bad.json")};
  const auto refuses = [&](std::string_view text, const char* why) {
    std::ofstream(file.path, std::ios::binary) << text;
    try {
      read_trace(file.path);
      ADD_FAILURE() << "read: " << text.substr(0, 40);
    } catch (const Error& e) {
      EXPECT_THAT(e.what_happened(), HasSubstr(why));
    }
  };
  refuses("", "no");
  refuses("{\"traceEvents\": []}", "no GPU kernel");
  refuses("{\"traceEvents\": [{\"ph\": ", "not valid JSON");
  refuses(std::string(1000, '['), "nested");
  refuses("{\"traceEvents\": \"" + std::string(40 << 20, 'x'), "16 MB");
  const Removed db{scratch("bad.sqlite")};
  std::ofstream(db.path) << "no database";
  EXPECT_THROW(read_trace(db.path), Error);
  EXPECT_THROW(read_trace("/no/such/trace.json"), Error);
}

TEST(Traces, ThatBreakOffCountUpToThere) {
  const Planned p = planned(jobs()[0]);
  const Removed file{scratch("cut.json")};
  const std::string whole = kineto_json(simulated_traces(p.job, p.prediction, {}, 3)[0]);
  std::ofstream(file.path) << whole.substr(0, whole.size() * 3 / 4);
  const auto traces = read_trace(file.path);
  EXPECT_THAT(traces[0].notes, ::testing::Contains(HasSubstr("breaks off")));
  EXPECT_GT(traces[0].kernels.size(), 100U);
}

TEST(Traces, AreReadInBoundedMemory) {
  const Removed file{scratch("large.json")};
  {
    std::ofstream out(file.path, std::ios::binary);
    out << "{\"traceEvents\": [";
    for (int i = 0; i < 400'000; ++i)
      out << "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op" << i
          << "\", \"pid\": 1, \"tid\": 1, \"ts\": " << i << ".5, \"dur\": 1, \"args\": {\"External id\": " << i
          << ", \"Call stack\": \"some/file.py(12): forward\"}},\n";
    out << "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2}]}";
  }
  struct rusage before {
  }, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(read_trace(file.path)[0].kernels.size(), 1U);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "kB more at the peak";
}

/// Faults that the job can have: its axes carry enough, something is hidden, it has stages and twins.
std::vector<Fault> faults_of(const Planned& p, std::mt19937& random) {
  const double step = p.prediction.step_time.value();
  const auto share = [&] { return std::uniform_real_distribution<>(0.1, 0.4)(random); };
  std::vector<Fault> faults;
  const StepTime& t = p.prediction.time;
  const Hidden& h = p.prediction.hidden;
  const std::array sent = {t.tensor_parallel + h.tensor_parallel, t.context_parallel,
                           t.expert_parallel + h.expert_parallel, Seconds{}, t.data_parallel + h.data_parallel};
  for (std::size_t a = 0; a < sent.size(); ++a) {
    if (sent[a].value() > 0.01 * step) faults.push_back({.cause = Cause::slow_link, .axis = a, .share = share()});
  }
  const std::array hidden = {h.tensor_parallel, Seconds{}, h.expert_parallel, Seconds{}, h.data_parallel};
  for (std::size_t a = 0; a < hidden.size(); ++a) {
    if (hidden[a].value() > 0.1 * step) faults.push_back({.cause = Cause::no_overlap, .axis = a});
  }
  faults.push_back({.cause = Cause::attention_fallback, .share = share()});
  const int stages = p.prediction.layout.pp;
  const int stage = stages > 1 ? std::uniform_int_distribution<>(0, stages - 1)(random) : -1;
  faults.push_back({.cause = Cause::host_bound, .stage = stage, .share = share()});
  faults.push_back({.cause = Cause::slow_rank, .share = share()});
  return faults;
}

bool named_first(const std::vector<TraceFinding>& found, const Fault& fault) {
  return !found.empty() && found[0].cause == fault.cause &&
         (fault.cause != Cause::slow_link || found[0].of == trace_axes[fault.axis]) &&
         (fault.cause != Cause::host_bound || found[0].stage == fault.stage) &&
         (fault.cause != Cause::slow_rank || found[0].rank == 0);
}

std::string said_of(const std::vector<TraceFinding>& found, const Fault& fault, const std::string& json) {
  std::string words;
  for (const TraceFinding& f : found) words += std::string(name(f.cause)) + " " + f.of + ": " + f.words + "; ";
  return std::string(name(fault.cause)) + " " + std::string(trace_axes[fault.axis]) + " in " + json + " -> " + words;
}

/// The traces as Nsight Systems would have written them.
std::vector<RankTrace> through_nsight(const std::vector<RankTrace>& traces) {
  std::vector<RankTrace> read;
  for (const RankTrace& trace : traces) {
    const Removed file{scratch("rank" + std::to_string(trace.rank) + ".sqlite")};
    write_nsight(trace, file.path);
    read.push_back(read_trace(file.path).at(0));
    EXPECT_EQ(read.back().rank, trace.rank);
  }
  return read;
}

// Model errors of 5 % a term and noise of 5 % a kernel stand beside every fault of 10 to 40 % of the step.
TEST(Traces, NameTheFaultFirst) {
  constexpr unsigned seeds = 120;
  std::mt19937 random(7);
  int right = 0, all = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    for (const std::string& json : jobs()) {
      const Planned p = planned(json);
      for (const Fault& fault : faults_of(p, random)) {
        const auto traces = simulated_traces(p.job, p.prediction, fault, seed);
        const auto found = compare_traces(p.job, p.prediction, traces).findings;
        ++all;
        const bool named = named_first(found, fault);
        right += named ? 1 : 0;
        if (!named && seed == 1) GTEST_LOG_(INFO) << said_of(found, fault, json);
      }
    }
  }
  EXPECT_GE(all, 36 * static_cast<int>(seeds));
  EXPECT_GE(right, 0.95 * all) << right << " of " << all;
  GTEST_LOG_(INFO) << right << " of " << all << " faults named first";
  RecordProperty("named_first", right);
  RecordProperty("faults", all);
}

// The same through SQLite exports, which know neither groups nor sizes of collectives.
TEST(Traces, NameTheFaultFirstFromNsightSystemsToo) {
  constexpr unsigned seeds = 4;
  std::mt19937 random(11);
  int right = 0, all = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    for (const std::string& json : jobs()) {
      const Planned p = planned(json);
      for (const Fault& fault : faults_of(p, random)) {
        const auto traces = through_nsight(simulated_traces(p.job, p.prediction, fault, seed));
        const auto found = compare_traces(p.job, p.prediction, traces).findings;
        ++all;
        const bool named = named_first(found, fault);
        right += named ? 1 : 0;
        if (!named) GTEST_LOG_(INFO) << said_of(found, fault, json);
      }
    }
  }
  EXPECT_GE(all, 36 * static_cast<int>(seeds));
  EXPECT_GE(right, 0.95 * all) << right << " of " << all;
  GTEST_LOG_(INFO) << right << " of " << all << " faults named first from SQLite exports";
}

}  // namespace
}  // namespace meshwright::calibrate
