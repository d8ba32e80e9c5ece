#pragma once
// One run on one cluster: days, goodput, money and energy, each as a sum of named terms.
#include <string>
#include <vector>

#include "meshwright/capacity/checkpoint.hpp"
#include "meshwright/capacity/economics.hpp"
#include "meshwright/capacity/run_time.hpp"
#include "meshwright/capacity/stragglers.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::capacity {

/// What the run needs of a predicted step.
struct StepFacts {
  Seconds step{};
  double p10 = 1, p90 = 1;  ///< band over the step
  double compute = 1;       ///< share of it in which accelerators compute
  double scale_out = 0;     ///< communication between scale-up domains, hidden or exposed, over the step
  double model_flops = 0;   ///< a step, all devices
};
StepFacts step_facts(const parallel::Job& job, const parallel::Prediction& prediction);
/// The same without band and work.
StepFacts step_facts(const parallel::Job& job, const Layout& layout, const parallel::StepTime& time,
                     const parallel::Hidden& hidden);

/// A run, ready for arithmetic: nothing in it depends on an input.
struct RunCase {
  Site site;
  RunTime time;
  StepFacts step;          ///< of the phase that takes longest
  double model_flops = 0;  ///< of the whole run
  Bytes state{};           ///< one checkpoint
};

/// The run of `schedule` with the layout of `prediction`; other batches and sequence lengths of the schedule are
/// predicted with the same layout. Throws Error(where, ...) where one of them cannot run with it.
RunCase make_run(const hardware::Catalog& catalog, const parallel::Job& job, const parallel::Prediction& prediction,
                 const RunSchedule& schedule, const CheckpointChoice& checkpoint, const std::string& where);
/// The same with a prediction for each sequence length and batch.
using PredictionOf = std::function<parallel::Prediction(int seq_len, int global_batch)>;
RunCase make_run(const hardware::Catalog& catalog, const parallel::Job& job, const PredictionOf& prediction,
                 const RunSchedule& schedule, const CheckpointChoice& checkpoint, const std::string& where);
/// predict(), or Error(where, ...) that says what refuses the layout.
parallel::Prediction predict_with(const parallel::Job& job, const Layout& layout, const std::string& where);

/// Everything that is assumed about it.
struct RunAssumptions {
  FailureProfile failures = failure_profiles().front();
  CheckpointChoice checkpoint;
  int spare_hosts = -1;  ///< hot-spare hosts of the job; below zero: as the inputs say
  Inputs inputs;
};
/// What the members "prices", "power", "failures", "checkpoint" and "stragglers" of an object state over `base`.
/// "failures" is a profile's name, or {"profile", "node_rate" or "node_mtbf", "components", "recovery" or its parts,
/// "planned", "spread", "spares"} and the inputs "failures.*". Other members are left to the caller.
RunAssumptions read_assumptions(const Reader& object, RunAssumptions base);

/// What is said of a run beside its job: what is assumed, and how its tokens are trained.
struct StatedRun {
  RunAssumptions assumptions;
  RunSchedule schedule;
};
/// From an object with the members of read_assumptions() and, as in a scenario's workload, "phases", "ramp",
/// "evaluation" and "warm_up"; `whole` is the run where no phases are stated. Anything else is refused.
StatedRun read_stated_run(const Reader& object, const Phase& whole);

struct RunEstimate {
  double tokens = 0;
  long long steps = 0;
  Seconds wall{};
  double gpu_hours = 0;
  double goodput = 1;        ///< training and evaluation over wall time
  bool gets_done = true;     ///< false: failures undo the work faster than it is saved; times are of no use then
  double interruptions = 0;  ///< unplanned, of the whole run
  Seconds mtbf{};            ///< of the job; zero = never fails
  Seconds checkpoint_interval{}, peer_interval{};  ///< useful work between two; peer: zero without that level
  Bytes checkpoint{};
  int spares = 0;                  ///< hot-spare hosts
  Seconds step{};                  ///< of the main phase, under the power cap, all ranks alike
  Seconds step_p50{}, step_p99{};  ///< the same with stragglers
  StragglerTimes stragglers;       ///< factors on the compute of a step, against ranks as the calibration had
  Term time;                       ///< seconds; sums to `wall`
  Term capex, cost;                ///< dollars
  bool rented = false;
  std::vector<std::string> unpriced;  ///< no cost where not empty and not rented
  bool power_known = true;  ///< that of the accelerators; where nobody publishes it, power, energy and carbon lack it
  Joules energy{};
  Watts power{};        ///< at the meter while training
  Watts provisioned{};  ///< IT power to be connected
  double carbon_kg = 0;
  double usd_per_trillion_tokens = 0;
  double usd_per_pflops_day = 0;  ///< of model FLOPs done
};

/// Days, goodput, money and energy of a run. Waiting for hosts, maintenance, degraded operation and given-up
/// checkpoints add to the process of goodput.hpp in proportion to its wall time (each a small share).
RunEstimate estimate_run(const RunCase& run, const RunAssumptions& assumptions);

/// Why a run that doesn't get done does not.
std::string why_never_done(const RunEstimate& estimate);

/// Failures of the run's site, the inputs' factors in them. They point into `assumptions`.
JobFailures run_failures(const RunCase& run, const RunAssumptions& assumptions);
/// Its failures and checkpoints as a random process, intervals chosen.
Process run_process(const RunCase& run, const RunAssumptions& assumptions);
/// How unequal its ranks are.
StragglerModel straggler_model(const Inputs& inputs);

/// What a job does about a part that took several hosts with it, until it is repaired.
enum class Outage {
  passed_over,  ///< every NIC has another plane: the job doesn't stop at all
  replaced,     ///< there are as many spare hosts as hang on it
  around,       ///< hosts relay over their other NICs: a degraded network
  waits         ///< nothing else is left
};
inline constexpr std::array<std::string_view, 4> outage_words = {
    "the job goes on over the other planes", "spare hosts stand in for those that it takes",
    "its hosts go around over their other NICs", "the job waits"};
Outage leaf_outage(const Site& site, int spares);
Outage rack_outage(const Site& site, int spares, const Inputs& inputs);
/// Hosts of one rack of the site.
double rack_hosts(const Site& site, const Inputs& inputs);

/// What the failure of one unit takes with it.
struct BlastRadius {
  std::string unit;  ///< "host", "leaf switch", "rack", "plane"
  double hosts = 0;  ///< that it takes
  Hertz rate{};      ///< of all of them in the job
  Outage outage = Outage::replaced;
  double network = 1;  ///< time of the network meanwhile over the healthy one
};
/// From the topology and the failure table: host, leaf switch, rack and, where there are several, plane (whose parts
/// fail one by one: only maintenance takes all of it, so its rate is zero).
std::vector<BlastRadius> blast_radius(const RunCase& run, const RunAssumptions& assumptions, int spares);

/// A degraded network's share of time: failures that traffic goes around, times repair, times how much slower a step
/// is.
double degraded_share(const RunCase& run, const JobFailures& failures, int spares, double repair_factor);

}  // namespace meshwright::capacity
