#include "validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "meshwright/calibrate/json.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

Json collective_json(const CollectiveCheck& c) {
  Json entry = {{"id", c.id},       {"kind", "collective"},   {"collective", name(c.collective)},
                {"ranks", c.ranks}, {"platform", c.platform}, {"rows", Json::array()}};
  for (const CheckedRow& row : c.rows) {
    entry["rows"].push_back({{"bytes", row.bytes.value()},
                             {"predicted_time_us", row.predicted.value() * 1e6},
                             {"measured_time_us", row.measured.value() * 1e6},
                             {"relative_error", row.error()},
                             {"algo", row.algorithm},
                             {"proto", row.protocol}});
  }
  entry["skipped"] = c.skipped.empty() ? Json() : Json(c.skipped);
  return entry;
}

Json kernel_json(const KernelErrors& k) {
  return {{"id", k.device + " " + k.format + " " + k.source},
          {"kind", k.kernel},
          {"count", k.count},
          {"median_ape", k.median_ape},
          {"p90_ape", k.p90_ape},
          {"bias", k.bias},
          {"skipped", k.skipped.empty() ? Json() : Json(k.skipped)}};
}

Json choice_json(const std::string& id, const std::optional<NcclChoiceCheck>& c) {
  if (!c) return {{"id", id}, {"kind", "choice"}, {"skipped", "the system leads to no node of the database"}};
  return {{"id", id},
          {"kind", "choice"},
          {"collective", c->collective},
          {"choice_equal", c->choice_equal},
          {"relative_error", {{"time", c->time_error}}},
          {"skipped", nullptr}};
}

Json loggopsim_json(const std::string& id, const LoggopsimCheck& c) {
  return {{"id", id},
          {"kind", "loggopsim"},
          {"pattern", c.pattern},
          {"equal", c.equal},
          {"predicted", {{"makespan_ns", c.predicted_makespan}}},
          {"measured", {{"makespan_ns", c.recorded_makespan}}},
          {"skipped", nullptr}};
}

/// Shares and errors of the kinds that are no training runs.
struct Other {
  std::string name;
  long count = 0, skipped = 0;
  std::string result;
  Json json;
};

std::vector<Other> others(const Validation& v) {
  std::vector<Other> rows;
  if (!v.collectives.empty()) {
    const auto skipped = std::ranges::count_if(v.collectives, [](const auto& c) { return !c.skipped.empty(); });
    for (const auto& [label, least, most] : {std::tuple{"collectives from 1 MiB", large_from.value(), no_limit.value()},
                                             std::tuple{"collectives to 64 KiB", 0.0, small_to.value()}}) {
      const ErrorSummary s = summarise(v.collectives, Bytes::base(least), Bytes::base(most));
      rows.push_back({label,
                      static_cast<long>(s.rows),
                      skipped,
                      fmt::format("median {:.1f} %, p90 {:.1f} %", 100 * s.median, 100 * s.p90),
                      {{"count", s.rows}, {"skipped", skipped}, {"median_ape", s.median}, {"p90_ape", s.p90}}});
    }
  }
  for (const KernelErrors& k : v.kernels) {
    rows.push_back({k.kernel + " " + k.device + " " + k.format,
                    k.count,
                    k.skipped.empty() ? 0 : 1,
                    k.skipped.empty()
                        ? fmt::format("median {:.1f} %, p90 {:.1f} %", 100 * k.median_ape, 100 * k.p90_ape)
                        : k.skipped,
                    {{"count", k.count}, {"median_ape", k.median_ape}, {"p90_ape", k.p90_ape}}});
  }
  if (!v.choices.empty()) {
    const auto known = std::ranges::count_if(v.choices, [](const auto& c) { return c.second.has_value(); });
    const auto equal =
        std::ranges::count_if(v.choices, [](const auto& c) { return c.second && c.second->choice_equal; });
    const double share = known > 0 ? static_cast<double>(equal) / static_cast<double>(known) : 0;
    rows.push_back({"NCCL's choice",
                    known,
                    static_cast<long>(v.choices.size()) - known,
                    fmt::format("{:.2f} % equal", 100 * share),
                    {{"count", known}, {"choice_equal_share", share}}});
  }
  if (!v.loggopsim.empty()) {
    const auto equal = std::ranges::count_if(v.loggopsim, [](const auto& c) { return c.second.equal; });
    rows.push_back({"LogGOPSim",
                    static_cast<long>(v.loggopsim.size()),
                    0,
                    fmt::format("{} of {} equal", equal, v.loggopsim.size()),
                    {{"count", v.loggopsim.size()}, {"equal", equal}}});
  }
  return rows;
}

}  // namespace

Json validation_json(const Validation& v) {
  Json document = Json::parse(to_json(v.runs));
  for (const CollectiveCheck& c : v.collectives) document["runs"].push_back(collective_json(c));
  for (const KernelErrors& k : v.kernels) document["runs"].push_back(kernel_json(k));
  for (const auto& [id, c] : v.choices) document["runs"].push_back(choice_json(id, c));
  for (const auto& [id, c] : v.loggopsim) document["runs"].push_back(loggopsim_json(id, c));
  for (const LeftOutRecord& r : v.left_out)
    document["runs"].push_back({{"id", r.where}, {"kind", "unknown"}, {"skipped", r.why}});
  Json& summary = document["summary"];
  summary["count"] = document["runs"].size();
  summary["skipped"] = std::ranges::count_if(document["runs"], [](const Json& r) { return !r["skipped"].is_null(); });
  for (const Other& other : others(v)) summary["by_group"][other.name] = other.json;
  return document;
}

std::string validation_text(const Validation& v) {
  const auto percent = [](double x) { return fmt::format("{:.1f}", 100 * x); };
  std::string out;
  if (!v.runs.empty()) {
    Table table({{"step time, absolute error in %", Align::left},
                 {"runs"},
                 {"left out"},
                 {"median"},
                 {"mean"},
                 {"p90"},
                 {"bias"},
                 {"constant rate"}});
    for (const auto& [name, f] : in_reading_order(figures_by_group(v.runs))) {
      if (f.count == 0) {
        table.add({name, "0", fmt::format("{}", f.skipped), "-", "-", "-", "-", "-"});
        continue;
      }
      table.add({name, fmt::format("{}", f.count), fmt::format("{}", f.skipped), percent(f.median), percent(f.mean),
                 percent(f.p90), fmt::format("{:+.1f}", 100 * f.bias), percent(f.baseline)});
    }
    out += table.render() + "\n";
    out +=
        dim(wrap("constant rate: mean error of a model that gives each device, number format and stack one rate, the "
                 "median of these very runs. Jobs that their own twins show to be sick are left out.")) +
        "\n";
    std::map<std::string, int> reasons;
    for (const RunCheck& c : v.runs) {
      if (c.skipped) ++reasons[*c.skipped];
    }
    for (const auto& [reason, count] : reasons) out += dim(fmt::format("left out {}: {}", count, reason)) + "\n";
  }
  for (const LeftOutRecord& r : v.left_out) out += dim(fmt::format("left out {}: {}", r.where, r.why)) + "\n";
  const auto rest = others(v);
  if (!rest.empty()) {
    Table table({{"records", Align::left}, {"checked"}, {"left out"}, {"result", Align::left}});
    for (const Other& other : rest) {
      table.add({other.name, fmt::format("{}", other.count), fmt::format("{}", other.skipped), other.result});
    }
    out += (out.empty() ? "" : "\n") + table.render() + "\n";
  }
  return out;
}

}  // namespace meshwright::cli
