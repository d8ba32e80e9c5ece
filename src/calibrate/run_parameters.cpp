#include "calibrate/run_parameters.hpp"

#include <algorithm>
#include <array>

#include "meshwright/hardware/platform.hpp"

namespace meshwright {
namespace {

std::string device(const Job& j) { return "device " + j.cluster.accelerator.name; }
std::string stack(const Job& j) { return "framework " + j.framework.name; }
std::string scale_up(const Job& j) { return "medium " + platform_of(j.cluster).scale_up.name; }
std::string scale_out(const Job& j) { return "medium " + platform_of(j.cluster).scale_out.name; }

GemmEfficiency& gemm(Job& j) { return j.cluster.accelerator.efficiency.of(j.precision.gemm); }
const GemmEfficiency& gemm(const Job& j) { return j.cluster.accelerator.efficiency.of(j.precision.gemm); }

/// Puts a medium with another in-step factor before the compiled-in ones.
void set_in_step(Job& j, Medium medium, double value) {
  medium.in_step = value;
  auto& media = j.cluster.media;
  const auto found = std::find_if(media.begin(), media.end(), [&](const Medium& m) { return m.name == medium.name; });
  if (found != media.end()) {
    *found = std::move(medium);
  } else {
    media.push_back(std::move(medium));
  }
}

bool always(const Job&, const Layout&) { return true; }
bool has_tensor(const Job&, const Layout& l) { return l.tp > 1; }
bool reduces_far(const Job& j, const Layout& l) {
  return l.dp * l.cp > 1 && j.accelerators > j.cluster.node.scale_up_domain;
}

template <auto Member>
constexpr RunField framework_number(std::string_view field, double spread, bool (*enters)(const Job&, const Layout&)) {
  return {field,
          spread,
          stack,
          [](const Job& j) { return j.framework.*Member; },
          [](Job& j, double v) { j.framework.*Member = v; },
          enters};
}
template <auto Member>
constexpr RunField framework_time(std::string_view field, double spread, bool (*enters)(const Job&, const Layout&)) {
  return {field,
          spread,
          stack,
          [](const Job& j) { return (j.framework.*Member).value(); },
          [](Job& j, double v) { j.framework.*Member = Seconds::base(v); },
          enters};
}

constexpr RunField gemm_row(std::string_view field, bool (*enters)(const Job&, const Layout&)) {
  return {field,
          0.15,
          device,
          [](const Job& j) { return gemm(j).sustained; },
          [](Job& j, double v) { gemm(j).sustained = v; },
          enters};
}

}  // namespace

std::span<const RunField> run_fields() {
  static const std::array rows = {
      gemm_row("gemm.bf16.sustained", [](const Job& j, const Layout&) { return j.precision.gemm == DType::bf16; }),
      gemm_row("gemm.fp16.sustained", [](const Job& j, const Layout&) { return j.precision.gemm == DType::fp16; }),
      gemm_row("gemm.fp8.sustained", [](const Job& j, const Layout&) { return j.precision.gemm == DType::fp8; }),
      gemm_row("gemm.fp4.sustained", [](const Job& j, const Layout&) { return j.precision.gemm == DType::fp4; }),
      gemm_row("gemm.int8.sustained", [](const Job& j, const Layout&) { return j.precision.gemm == DType::int8; }),
      RunField{"attention.forward", 0.15, device,
               [](const Job& j) { return j.cluster.accelerator.efficiency.attention.forward; },
               [](Job& j, double v) {
                 AttentionEfficiency& a = j.cluster.accelerator.efficiency.attention;
                 const double factor = v / a.forward;
                 a.forward = v, a.backward *= factor;
               },
               [](const Job& j, const Layout&) { return j.framework.fused_attention; }},
      RunField{"scale_up.in_step", 0.3, scale_up, [](const Job& j) { return platform_of(j.cluster).scale_up.in_step; },
               [](Job& j, double v) { set_in_step(j, platform_of(j.cluster).scale_up, v); }, has_tensor},
      RunField{"scale_out.in_step", 0.3, scale_out,
               [](const Job& j) { return platform_of(j.cluster).scale_out.in_step; },
               [](Job& j, double v) { set_in_step(j, platform_of(j.cluster).scale_out, v); }, reduces_far},
      framework_number<&Framework::gemm_efficiency>("gemm_efficiency", 0.1,
                                                    [](const Job& j, const Layout&) {
                                                      return j.framework.name != "megatron-core" &&
                                                             j.framework.host_per_layer.value() == 0;
                                                    }),
      framework_number<&Framework::memory_traffic>("memory_traffic", 0.25, always),
      framework_number<&Framework::tp_overlap_exposed>("tp_overlap_exposed", 0.4, has_tensor),
      framework_number<&Framework::fsdp_overlap_penalty>("fsdp_overlap_penalty", 0.5,
                                                         [](const Job&, const Layout& l) { return l.zero_stage == 3; }),
      framework_time<&Framework::layer_overhead>("layer_overhead", 0.5, always),
      framework_time<&Framework::host_per_layer>("host_per_layer", 0.7, always),
      framework_time<&Framework::host_per_layer_tp>("host_per_layer_tp", 0.7, has_tensor),
      framework_time<&Framework::pipeline_send_host>("pipeline_send_host", 0.7,
                                                     [](const Job&, const Layout& l) { return l.pp > 1; }),
  };
  return rows;
}

}  // namespace meshwright
