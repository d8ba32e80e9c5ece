#include "meshwright/parallel/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "meshwright/hardware/platform.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/waits.hpp"

namespace meshwright::parallel {
namespace {

std::string device(const Job& j) { return "device " + j.cluster.accelerator.name; }
std::string stack(const Job& j) { return "framework " + j.framework.name; }
std::string scale_up(const Job& j) { return "medium " + j.cluster.platform.scale_up.name; }
std::string scale_out(const Job& j) { return "medium " + j.cluster.platform.scale_out.name; }

/// Of steps of one model, sequence, format and kind of training.
std::string work(const Job& j) {
  return fmt::format("work {} {} {} {}", j.model.name, j.seq_len, j.precision.name,
                     trainable_names[static_cast<std::size_t>(j.recipe.trainable.kind)]);
}

const GemmEfficiency& gemm(const Job& j) { return j.cluster.accelerator.efficiency.of(j.precision.gemm); }

bool always(const Job&, const Layout&) { return true; }
bool never(const Job&, const Layout&) { return false; }
bool has_tensor(const Job&, const Layout& l) { return l.tp > 1; }
bool communicates(const Job& j, const Layout&) { return j.accelerators > 1; }
bool leaves_the_domain(const Job& j, const Layout&) { return over_network(j); }
/// Networks whose benchmarks say least about a step.
bool told_by_runs(const Job& j, const Layout& l) {
  return leaves_the_domain(j, l) && l.dp * l.cp * l.tp > 1 && j.cluster.fabric.told_by_runs;
}

template <auto Part, auto Member>
constexpr RunField framework_number(std::string_view field, double spread, double most,
                                    bool (*enters)(const Job&, const Layout&), bool of_experts = false,
                                    bool (*published)(const Job&, const Layout&) = nullptr, bool by_release = false) {
  return {field,
          spread,
          most,
          stack,
          [](const Job& j) { return j.framework.*Part.*Member; },
          [](Figures& f, double v) { f.framework.*Part.*Member = v; },
          enters,
          of_experts,
          nullptr,
          published,
          nullptr,
          by_release};
}
template <auto Part, auto Member>
constexpr RunField framework_time(std::string_view field, double spread, bool (*enters)(const Job&, const Layout&),
                                  bool of_experts = false) {
  return {field,
          spread,
          no_limit,
          stack,
          [](const Job& j) { return (j.framework.*Part.*Member).value(); },
          [](Figures& f, double v) { f.framework.*Part.*Member = Seconds::base(v); },
          enters,
          of_experts};
}

/// Whether a field of the stack's kernels is its own, by its profile.
bool own(const Job& j, std::string_view field) {
  return std::ranges::find(j.framework.fitted, field) != j.framework.fitted.end();
}

/// 16-bit formats run on the same units at the same rate.
constexpr bool same_rate(DType a, DType b) {
  const auto half = [](DType t) { return t == DType::bf16 || t == DType::fp16; };
  return a == b || (half(a) && half(b));
}

template <DType T>
constexpr RunField gemm_row(std::string_view field) {
  return {field,
          0.1,
          1,
          device,
          [](const Job& j) { return gemm(j).sustained; },
          [](Figures& f, double v) {
            DeviceEfficiency& e = f.accelerator.efficiency;
            for (const DType t : {T, DType::bf16, DType::fp16}) {
              if (same_rate(T, t)) e.of(t).sustained = v;
            }
          },
          [](const Job& j, const Layout&) { return same_rate(j.precision.gemm, T); }};
}

const AttentionEfficiency& attention(const Job& j) { return j.cluster.accelerator.efficiency.attention; }

/// Kernels were timed by themselves on some devices: then a step has little to add.
constexpr RunField attention_row(double spread, bool (*enters)(const Job&, const Layout&)) {
  return {"attention.forward",
          spread,
          1,
          device,
          [](const Job& j) { return attention(j).forward; },
          [](Figures& f, double v) {
            AttentionEfficiency& a = f.accelerator.efficiency.attention;
            const double factor = v / a.forward;
            a.forward = v, a.backward *= factor, a.softmax *= factor;
          },
          enters};
}

}  // namespace

std::span<const RunField> run_fields() {
  static const std::array rows = {
      gemm_row<DType::bf16>("gemm.bf16.sustained"),
      gemm_row<DType::fp8>("gemm.fp8.sustained"),
      gemm_row<DType::fp4>("gemm.fp4.sustained"),
      gemm_row<DType::int8>("gemm.int8.sustained"),
      RunField{"scale_up.in_step", 0.1, 1, scale_up, [](const Job& j) { return j.cluster.platform.scale_up.in_step; },
               [](Figures& f, double v) { f.platform.scale_up.in_step = v; }, communicates, false,
               [](const Job& j) { return j.cluster.platform.scale_up.evidence != Evidence::extrapolated; }, has_tensor},
      RunField{"scale_out.in_step", 0.3, 1, scale_out,
               [](const Job& j) { return j.cluster.platform.scale_out.in_step; },
               [](Figures& f, double v) { f.platform.scale_out.in_step = v; }, leaves_the_domain, false, nullptr,
               told_by_runs},
      attention_row(0.04,
                    [](const Job& j, const Layout&) {
                      return attention_kernel(j).fused && attention(j).evidence != Evidence::data_sheet;
                    }),
      attention_row(0.15,
                    [](const Job& j, const Layout&) {
                      return attention_kernel(j).fused && attention(j).evidence == Evidence::data_sheet;
                    }),
      framework_number<&Framework::kernels, &StackKernels::gemm_efficiency>(
          "kernels.gemm_efficiency", 0.3, 1,
          [](const Job& j, const Layout&) { return own(j, "kernels.gemm_efficiency"); }),
      framework_number<&Framework::kernels, &StackKernels::attention_efficiency>(
          "kernels.attention_efficiency", 0.3, 1,
          [](const Job& j, const Layout&) {
            return own(j, "kernels.attention_efficiency") && attention_kernel(j).fused;
          },
          false, nullptr, true),
      framework_number<&Framework::kernels, &StackKernels::grouped_gemm_efficiency>(
          "kernels.grouped_gemm_efficiency", 0.2, 1, [](const Job& j, const Layout&) { return j.model.is_moe(); },
          true),
      framework_number<&Framework::kernels, &StackKernels::memory_traffic>(
          "kernels.memory_traffic", 0.12, no_limit, always, false,
          [](const Job& j, const Layout&) { return j.framework.kernels.accumulation_traffic == 0; }),
      framework_number<&Framework::kernels, &StackKernels::accumulation_traffic>("kernels.accumulation_traffic", 0.4,
                                                                                 no_limit, always),
      framework_number<&Framework::overlap, &StackOverlap::tp_exposed>(
          "overlap.tp_exposed", 0.3, 1, [](const Job&, const Layout& l) { return l.tp > 1 && l.tp_comm_overlap; }),
      framework_number<&Framework::overlap, &StackOverlap::fsdp_penalty>(
          "overlap.fsdp_penalty", 0.3, 1, [](const Job&, const Layout& l) { return l.zero_stage == 3; }),
      framework_time<&Framework::launch, &StackLaunch::layer_gap>("launch.layer_gap", 0.25, always),
      framework_time<&Framework::launch, &StackLaunch::kernel>(
          "launch.kernel", 0.4, [](const Job& j, const Layout&) { return j.model.is_moe(); }, true),
      framework_time<&Framework::launch, &StackLaunch::inside>(
          "launch.inside", 0.4, [](const Job& j, const Layout&) { return j.model.is_moe(); }, true),
      framework_number<&Framework::launch, &StackLaunch::drained>(
          "launch.drained", 0.4, 1, [](const Job& j, const Layout&) { return j.model.is_moe(); }, true),
      framework_time<&Framework::host, &StackHost::per_layer>("host.per_layer", 0.5, always),
      framework_time<&Framework::host, &StackHost::per_layer_tp>(
          "host.per_layer_tp", 0.5, [](const Job& j, const Layout& l) { return l.tp > j.cluster.node.accelerators; }),
      framework_time<&Framework::host, &StackHost::pipeline_send>("host.pipeline_send", 0.5,
                                                                  [](const Job&, const Layout& l) { return l.pp > 1; }),
      framework_time<&Framework::host, &StackHost::pipeline_wait>(
          "host.pipeline_wait", 0.5,
          [](const Job& j, const Layout& l) { return waits_for_neighbours(l.pp, l.tp, j.cluster.node.accelerators); }),
      RunField{"work.time", 0.1, no_limit, work, [](const Job& j) { return j.framework.work_time; },
               [](Figures& f, double v) { f.framework.work_time = v; }, always, false, nullptr, never,
               &TraitSpread::shared},
  };
  return rows;
}

const RunField& run_field(std::string_view field) {
  const auto rows = run_fields();
  return *std::find_if(rows.begin(), rows.end(), [&](const RunField& r) { return r.field == field; });
}

}  // namespace meshwright::parallel
