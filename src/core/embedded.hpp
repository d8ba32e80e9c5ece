#pragma once
// Data files that are compiled into the library (cmake/EmbedData.cmake).
#include <span>
#include <string_view>

namespace meshwright {

struct EmbeddedFile {
  std::string_view name;  ///< file name without its folder, "accelerators.json"
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_hardware();    ///< data/hardware/*.json
std::span<const EmbeddedFile> embedded_workloads();   ///< data/workloads/*.json
std::span<const EmbeddedFile> embedded_frameworks();  ///< data/frameworks/*.json
std::span<const EmbeddedFile> embedded_recipes();     ///< data/recipes/*.json
std::span<const EmbeddedFile> embedded_runs();        ///< data/runs/*.jsonl
std::span<const EmbeddedFile> embedded_platforms();   ///< data/hardware/platforms/media.json
std::span<const EmbeddedFile> embedded_hosts();       ///< data/hardware/platforms/hosts.json
std::span<const EmbeddedFile> embedded_nccl();        ///< data/hardware/platforms/nccl.json
std::span<const EmbeddedFile> embedded_cables();      ///< data/hardware/platforms/cables.json
std::span<const EmbeddedFile> embedded_fitted();      ///< data/fitted/runs.json
std::span<const EmbeddedFile> embedded_spread();      ///< data/fitted/spread.json
std::span<const EmbeddedFile> embedded_overlays();    ///< data/overlays/*.json
std::span<const EmbeddedFile> embedded_capacity();    ///< data/capacity/*.json
std::span<const EmbeddedFile> embedded_notes();       ///< data/measurements/collective-notes.json
std::span<const EmbeddedFile> embedded_logs();        ///< data/logs/*.json
std::span<const EmbeddedFile> embedded_traces();      ///< data/traces/*.json

}  // namespace meshwright
