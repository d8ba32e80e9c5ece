#include "capacity/run_fields.hpp"

namespace meshwright::capacity {
namespace {

constexpr double day = 86400, megawatt_hour = 3.6e9;

using E = const RunEstimate&;
using R = Result&;

constexpr RunField rows[] = {
    {"tokens", [](E e) { return e.tokens; }, nullptr},
    {"steps", [](E e) { return static_cast<double>(e.steps); }, nullptr, Known::always, true},
    {"step_time_s", [](E e) { return e.step.value(); }, [](R r) -> double& { return r.step_time; }},
    {"step_p50_s", [](E e) { return e.step_p50.value(); }, nullptr},
    {"step_p99_s", [](E e) { return e.step_p99.value(); }, nullptr},
    {"mfu", nullptr, [](R r) -> double& { return r.mfu; }},
    {"days", [](E e) { return e.wall.value() / day; }, [](R r) -> double& { return r.days; }},
    {"days_p10", nullptr, [](R r) -> double& { return r.days_band.p10; }},
    {"days_p90", nullptr, [](R r) -> double& { return r.days_band.p90; }},
    {"gpu_hours", [](E e) { return e.gpu_hours; }, [](R r) -> double& { return r.gpu_hours; }},
    {"goodput", [](E e) { return e.goodput; }, [](R r) -> double& { return r.goodput; }},
    {"interruptions", [](E e) { return e.interruptions; }, [](R r) -> double& { return r.interruptions; }},
    {"mtbf_s", [](E e) { return e.mtbf.value(); }, nullptr, Known::above_zero},
    {"checkpoint_interval_s", [](E e) { return e.checkpoint_interval.value(); },
     [](R r) -> double& { return r.checkpoint_interval; }},
    {"peer_interval_s", [](E e) { return e.peer_interval.value(); }, nullptr, Known::above_zero},
    {"checkpoint_bytes", [](E e) { return e.checkpoint.value(); }, nullptr},
    {"spares", [](E e) { return static_cast<double>(e.spares); }, [](R r) -> double& { return r.spares; },
     Known::always, true},
    {"capex_usd", [](E e) { return e.rented ? 0 : e.capex.value; }, [](R r) -> double& { return r.capex; },
     Known::bought},
    {"cost_usd", [](E e) { return e.cost.value; }, [](R r) -> double& { return r.cost; }, Known::priced},
    {"cost_usd_p10", nullptr, [](R r) -> double& { return r.cost_band.p10; }},
    {"cost_usd_p90", nullptr, [](R r) -> double& { return r.cost_band.p90; }},
    {"usd_per_trillion_tokens", [](E e) { return e.usd_per_trillion_tokens; },
     [](R r) -> double& { return r.usd_per_trillion_tokens; }, Known::priced},
    {"usd_per_pflops_day", [](E e) { return e.usd_per_pflops_day; },
     [](R r) -> double& { return r.usd_per_pflops_day; }, Known::priced},
    {"energy_mwh", [](E e) { return e.energy.value() / megawatt_hour; }, [](R r) -> double& { return r.energy_mwh; }},
    {"power_mw", [](E e) { return e.power.value() / 1e6; }, [](R r) -> double& { return r.power_mw; }},
    {"provisioned_mw", [](E e) { return e.provisioned.value() / 1e6; },
     [](R r) -> double& { return r.provisioned_mw; }},
    {"carbon_t", [](E e) { return e.carbon_kg / 1000; }, [](R r) -> double& { return r.carbon_t; }},
};

}  // namespace

std::span<const RunField> run_fields() { return rows; }

}  // namespace meshwright::capacity
