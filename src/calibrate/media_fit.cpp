#include "meshwright/calibrate/media_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/media_parameters.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/quantile.hpp"

namespace meshwright::calibrate {
namespace {

/// A table bound to the media that it uses, by index.
struct Bound {
  const CollectiveTable* table;
  std::vector<MeasuredRow> rows;
  Platform platform;
  int scale_up = -1, host = -1, scale_out = -1;
  double weight = 1;  // of one row
  std::size_t first_row = 0;
};

struct Problem {
  std::vector<Medium> media;
  std::vector<Bound> tables;
  std::size_t rows = 0;
};

bool touches(const Bound& b, int medium) { return b.scale_up == medium || b.host == medium || b.scale_out == medium; }

int index_of(const std::vector<Medium>& media, const std::string& name) {
  const auto found = std::ranges::find(media, name, &Medium::name);
  return found == media.end() ? -1 : static_cast<int>(found - media.begin());
}

/// Medium `name` of the problem, copied from the tables' start on first sight.
int adopt(Problem& problem, const std::vector<Medium>& start, const Medium& used) {
  const int known = index_of(problem.media, used.name);
  if (known >= 0) return known;
  const int given = index_of(start, used.name);
  problem.media.push_back(given >= 0 ? start[static_cast<std::size_t>(given)] : used);
  return static_cast<int>(problem.media.size()) - 1;
}

void install(const Problem& problem, Bound& b) {
  const auto put = [&](int index, Medium& into) {
    if (index >= 0) into = problem.media[static_cast<std::size_t>(index)];
  };
  put(b.scale_up, b.platform.scale_up);
  put(b.host, b.platform.host);
  put(b.scale_out, b.platform.scale_out);
}

Problem bind(const std::vector<CollectiveTable>& tables, const std::vector<Medium>& start) {
  Problem problem;
  for (const CollectiveTable& table : tables) {
    if (!table.skipped.empty() || table.rows.empty() || !check(table).skipped.empty()) continue;
    Bound b{.table = &table, .rows = table.rows, .platform = table.platform};
    const bool on_host = std::ranges::any_of(table.place.levels, &Level::host);
    b.scale_up = adopt(problem, start, table.platform.scale_up);
    if (on_host) b.host = adopt(problem, start, table.platform.host);
    if (table.place.over_network()) b.scale_out = adopt(problem, start, table.platform.scale_out);
    b.weight = 1 / std::sqrt(static_cast<double>(table.rows.size()));
    b.first_row = problem.rows;
    problem.rows += table.rows.size();
    install(problem, b);
    for (MeasuredRow& row : b.rows) {  // a start may lack a protocol that the tables' media had
      if (!applies(table.collective, table.place, b.platform, row.options)) row.options = table.options;
    }
    problem.tables.push_back(b);
  }
  if (problem.rows == 0) throw Error("calibrate", "no table of a healthy collective to fit to");
  return problem;
}

/// log(predicted / measured) of a table's rows.
void residuals(const Bound& b, Eigen::Ref<Eigen::VectorXd> out) {
  for (std::size_t i = 0; i < b.rows.size(); ++i) {
    const MeasuredRow& row = b.rows[i];
    const Seconds time = estimate(*b.table, row, b.platform).time;
    out[static_cast<Eigen::Index>(b.first_row + i)] = std::log(time / row.time);
  }
}

/// One medium's share of the problem: its parameters, and the rows of the tables that use it. Media are fitted in turn,
/// the others held: a table joins at most three, and the choice of algorithm makes the joint problem kinked.
struct Block {
  int medium = 0;
  std::vector<FreeParameter> free;
  std::vector<Bound> tables;  // rows numbered within the block
  Eigen::VectorXd start, table_weight, prior;
  std::size_t rows = 0;
};

Block block_of(const Problem& problem, const std::vector<Medium>& start, int medium, const MediaFitOptions& options) {
  Block block;
  block.medium = medium;
  block.free = free_parameters(start, medium);
  for (const Bound& b : problem.tables) {
    if (!touches(b, medium)) continue;
    block.tables.push_back(b);
    block.tables.back().first_row = block.rows;
    block.rows += b.rows.size();
  }
  block.table_weight.resize(static_cast<Eigen::Index>(block.rows));
  for (const Bound& b : block.tables) {
    block.table_weight.segment(static_cast<Eigen::Index>(b.first_row), static_cast<Eigen::Index>(b.rows.size()))
        .setConstant(b.weight);
  }
  const auto parameters = static_cast<Eigen::Index>(block.free.size());
  block.start.resize(parameters);
  block.prior.resize(parameters);
  for (Eigen::Index i = 0; i < parameters; ++i) {
    const FreeParameter& p = block.free[static_cast<std::size_t>(i)];
    block.start[i] = std::log(p.get(start));
    block.prior[i] = options.prior / (p.width * p.width);
  }
  return block;
}

Eigen::VectorXd logs_of(const Problem& problem, const Block& block) {
  Eigen::VectorXd logs(block.start.size());
  for (std::size_t i = 0; i < block.free.size(); ++i) {
    logs[static_cast<Eigen::Index>(i)] = std::log(block.free[i].get(problem.media));
  }
  return logs;
}

Eigen::VectorXd residuals_at(Problem& problem, Block& block, const Eigen::VectorXd& logs) {
  for (std::size_t i = 0; i < block.free.size(); ++i) {
    block.free[i].set(problem.media, std::exp(logs[static_cast<Eigen::Index>(i)]));
  }
  Eigen::VectorXd r(static_cast<Eigen::Index>(block.rows));
  for (Bound& b : block.tables) {
    install(problem, b);
    residuals(b, r);
  }
  return r;
}

/// Forward differences, wide enough to look across the kinks where the chosen algorithm changes.
Eigen::MatrixXd jacobian(Problem& problem, Block& block, const Eigen::VectorXd& logs, const Eigen::VectorXd& at) {
  constexpr double step = 5e-3;
  Eigen::MatrixXd j(at.size(), logs.size());
  for (Eigen::Index p = 0; p < logs.size(); ++p) {
    Eigen::VectorXd moved = logs;
    moved[p] += step;
    j.col(p) = (residuals_at(problem, block, moved) - at) / step;
  }
  return j;
}

/// Cauchy loss of the rows and squared distance from the prior.
double cost(const Block& block, double noise, const Eigen::VectorXd& logs, const Eigen::VectorXd& r) {
  const Eigen::ArrayXd scaled = r.array() / noise, away = (logs - block.start).array();
  return (block.table_weight.array() * (1 + scaled.square()).log()).sum() + (block.prior.array() * away.square()).sum();
}

/// Levenberg-Marquardt on one block; returns by how much the cost fell.
double improve(Problem& problem, Block& block, const MediaFitOptions& options) {
  const double noise = options.noise;
  Eigen::VectorXd logs = logs_of(problem, block), r = residuals_at(problem, block, logs);
  const double first = cost(block, noise, logs, r);
  double best = first, damping = 1e-2;
  for (int i = 0; i < options.steps && damping < 1e5; ++i) {
    const Eigen::MatrixXd j = jacobian(problem, block, logs, r);
    const Eigen::ArrayXd weight = block.table_weight.array() / (noise * noise + r.array().square());
    Eigen::MatrixXd normal = j.transpose() * weight.matrix().asDiagonal() * j;
    normal.diagonal() += block.prior;
    const Eigen::VectorXd gradient =
        j.transpose() * (weight * r.array()).matrix() + (block.prior.array() * (logs - block.start).array()).matrix();
    for (bool improved = false; !improved && damping < 1e5;) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd move = damped.ldlt().solve(gradient);
      const Eigen::VectorXd next = logs - move.cwiseMax(-0.7).cwiseMin(0.7);
      const Eigen::VectorXd r_next = residuals_at(problem, block, next);
      const double c = cost(block, noise, next, r_next);
      improved = c < best;
      damping *= improved ? 0.3 : 4;
      if (improved) logs = next, r = r_next, best = c;
    }
  }
  residuals_at(problem, block, logs);  // leaves the best parameters installed
  return first - best;
}

Eigen::VectorXd all_residuals(Problem& problem) {
  Eigen::VectorXd r(static_cast<Eigen::Index>(problem.rows));
  for (Bound& b : problem.tables) {
    install(problem, b);
    residuals(b, r);
  }
  return r;
}

std::vector<MediumResidual> by_medium(const Problem& problem, const Eigen::VectorXd& r) {
  std::vector<MediumResidual> out;
  for (std::size_t m = 0; m < problem.media.size(); ++m) {
    MediumResidual row{.medium = problem.media[m].name};
    std::vector<double> errors;
    for (const Bound& b : problem.tables) {
      const int outermost = b.scale_out >= 0 ? b.scale_out : b.host >= 0 ? b.host : b.scale_up;
      if (outermost != static_cast<int>(m)) continue;
      ++row.tables;
      for (std::size_t i = 0; i < b.rows.size(); ++i) {
        errors.push_back(std::abs(std::exp(r[static_cast<Eigen::Index>(b.first_row + i)]) - 1));
      }
    }
    row.rows = errors.size();
    row.median = nearest_quantile(errors, 0.5);
    row.p90 = nearest_quantile(errors, 0.9);
    if (row.tables > 0) out.push_back(row);
  }
  return out;
}

double median_error(const Eigen::VectorXd& r) {
  std::vector<double> errors;
  for (const double x : r) errors.push_back(std::abs(std::exp(x) - 1));
  return nearest_quantile(errors, 0.5);
}

}  // namespace

MediaFit fit_media(const std::vector<CollectiveTable>& tables, const std::vector<Medium>& start,
                   const MediaFitOptions& options) {
  Problem problem = bind(tables, start);
  MediaFit fit;
  fit.before = median_error(all_residuals(problem));
  const std::vector<Medium> initial = problem.media;
  for (fit.sweeps = 0; fit.sweeps < options.sweeps; ++fit.sweeps) {
    double gained = 0;
    for (std::size_t m = 0; m < problem.media.size(); ++m) {
      Block block = block_of(problem, initial, static_cast<int>(m), options);
      for (Bound& b : block.tables) install(problem, b);
      gained += improve(problem, block, options);
    }
    if (gained < 0.1) break;
  }
  const Eigen::VectorXd r = all_residuals(problem);
  fit.after = median_error(r);
  fit.residuals = by_medium(problem, r);
  fit.media = problem.media;
  for (Medium& m : fit.media) {
    const auto row = std::ranges::find(fit.residuals, m.name, &MediumResidual::medium);
    if (row == fit.residuals.end()) continue;
    m.evidence = Evidence::calibrated;
    m.source = fmt::format("fitted to {} tables, {} rows: median error {:.0f} %, p90 {:.0f} %", row->tables, row->rows,
                           100 * row->median, 100 * row->p90);
  }
  return fit;
}

namespace {

/// The fold of a source: a hash that is the same everywhere (FNV-1a).
int fold_of(const std::string& source, int folds) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : source) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<int>(hash % static_cast<std::uint64_t>(folds));
}

/// `table` on the media that a fit gave.
CollectiveTable on_media(CollectiveTable table, const std::vector<Medium>& media) {
  for (Medium* own : {&table.platform.scale_up, &table.platform.host, &table.platform.scale_out}) {
    const auto fitted = std::ranges::find(media, own->name, &Medium::name);
    if (fitted != media.end()) *own = *fitted;
  }
  return table;
}

}  // namespace

MediaLeftOut cross_validate(const std::vector<CollectiveTable>& tables, const std::vector<Medium>& start, int folds,
                            const MediaFitOptions& options) {
  std::vector<CollectiveCheck> checks;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<CollectiveTable> seen;
    for (const CollectiveTable& t : tables) {
      if (fold_of(t.source, folds) != fold) seen.push_back(t);
    }
    const MediaFit fit = fit_media(seen, start, options);
    for (const CollectiveTable& t : tables) {
      if (fold_of(t.source, folds) == fold) checks.push_back(check(on_media(t, fit.media)));
    }
  }
  const ErrorSummary large = summarise(checks, large_from, no_limit), small = summarise(checks, {}, small_to);
  return {folds, large, small, std::move(checks)};
}

}  // namespace meshwright::calibrate
