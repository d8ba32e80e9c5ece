#include "meshwright/parallel/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

struct Dialect {
  std::string_view name;
  std::vector<std::string> (*flags)(const Job& job, const Layout& layout);
};
constexpr std::array<Dialect, 7> dialects = {{{"megatron", megatron_flags},
                                              {"megatron-deepspeed", megatron_deepspeed_flags},
                                              {"torchtitan", torchtitan_flags},
                                              {"nanotron", nanotron_flags},
                                              {"deepspeed", deepspeed_flags},
                                              {"fsdp", fsdp_flags},
                                              {"maxtext", maxtext_flags}}};

}  // namespace

std::vector<std::string> launcher_dialects() {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects) names.emplace_back(dialect.name);
  return names;
}

std::vector<std::string> launcher_flags(const Job& job, const Layout& layout, std::string_view dialect) {
  const std::vector<std::string>& own = job.framework.flags;
  const std::string wanted = !dialect.empty() ? std::string(dialect) : own.empty() ? "megatron" : own.front();
  const auto row = std::find_if(dialects.begin(), dialects.end(), [&](const Dialect& d) { return d.name == wanted; });
  if (row != dialects.end()) return row->flags(job, layout);
  throw Error("--flags",
              fmt::format("unknown launcher dialect '{}'{}", wanted, suggestion(wanted, launcher_dialects())));
}

}  // namespace meshwright::parallel
