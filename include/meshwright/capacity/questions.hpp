#pragma once
// What a scenario asks besides the comparison: break-even points, sizes, breakdowns of differences, stragglers,
// reliability, faults, optical slices. One row a kind of question.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/capacity/whatif.hpp"

namespace meshwright::capacity {

struct Answer {
  std::string name, ask;
  std::vector<std::string> lines;  ///< for people
  std::string object;              ///< JSON object text
};

/// What a question may use.
struct Asked {
  const Scenario& scenario;
  const hardware::Catalog& catalog;
  const Question& question;
  std::shared_ptr<PlanCache> plans;
};

struct QuestionRow {
  std::string_view ask;      ///< "break_even"
  std::string_view members;  ///< what it takes, for messages and documents
  std::string_view says;     ///< what it answers
  Answer (*answer)(const Asked& asked);
};
std::span<const QuestionRow> question_rows();

/// Throws Error for a question that nothing answers, or whose candidates and workload are not there: before the sweep.
void check_questions(const Scenario& scenario, const hardware::Catalog& catalog);

/// Answers in the order of the questions. Throws Error for a question that names what is not there.
std::vector<Answer> answer_questions(const Scenario& scenario, const hardware::Catalog& catalog,
                                     const std::shared_ptr<PlanCache>& plans = nullptr);

}  // namespace meshwright::capacity
