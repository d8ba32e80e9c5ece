#include "calibrate/measured.hpp"

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::calibrate {
namespace {

/// FLOPs convention of a source's own TFLOP/s or MFU.
FlopsConvention convention_of(const std::string& text) {
  const auto says = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (says("no causal halving") || says("non-causal") || says("12*L") || says("12Lhs") || says("12hL")) {
    return FlopsConvention::full_attention;
  }
  return FlopsConvention::causal;
}

}  // namespace

std::optional<Bytes> measured_peak(const Reader& measured) {
  const auto peak = measured.find("peak_mem_gib");
  if (!peak) return std::nullopt;
  return Bytes::base(measured_number(*peak, most_memory_gib) * gibibyte);
}

std::optional<Seconds> measured_step_time(const Reader& measured, const Job& job) {
  if (const auto time = measured.find("step_time_s")) return Seconds::base(measured_number(*time, most_step_seconds));
  const double tokens = static_cast<double>(job.global_batch) * job.seq_len;
  const double devices = job.accelerators;
  if (const auto rate = measured.find("tokens_per_s_per_gpu"))
    return Seconds::base(tokens / (measured_number(*rate, most_tokens_per_s) * devices));
  const std::string convention = measured.string_or("flops_convention", "");
  const auto step = [&](FlopsConvention c, double flops_per_s) {
    return Seconds::base(tokens * flops_per_token(job.model, job.seq_len, c) / (flops_per_s * devices));
  };
  if (const auto rate = measured.find("model_tflops_per_gpu"))
    return step(convention_of(convention), 1e12 * measured_number(*rate, most_tflops));
  if (const auto rate = measured.find("hardware_tflops_per_gpu")) {
    return step(FlopsConvention::hardware_full_recompute, 1e12 * measured_number(*rate, most_tflops));
  }
  if (const auto mfu = measured.find("mfu")) {
    const bool of_bf16 = convention.find("BF16 peak") != std::string::npos;
    const FlopsPerSecond peak = of_bf16 ? job.cluster.accelerator.peak(DType::bf16) : parallel::mfu_peak(job);
    return step(convention_of(convention), measured_number(*mfu, most_mfu) * peak.value());
  }
  return std::nullopt;
}

}  // namespace meshwright::calibrate
