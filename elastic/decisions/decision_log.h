// decisions.jsonl: all that the controller was told, when, and what it decided. Its replay is
// decision_replay.h.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "elastic/control/controller.h"
#include "elastic/events/log_budget.h"
#include "runtime/base/file.h"

namespace scavenger::elastic {

// In place of an input for each of the ranks first, ..., last: [seconds, this, first, last, count].
inline constexpr const char* kIterationsDoneBy = "iterations_done_by";

std::filesystem::path decision_file(const std::filesystem::path& run_folder);

// One thread, and one process at a time: who writes events.jsonl. Nothing is lost by a kill but
// what has led to no decision yet. If a job takes more than LogBudget allows, the record ends.
class DecisionLog final {
 public:
  // Goes on with the log that is there. Throws SystemError if it cannot be opened, or
  // is a pipe.
  explicit DecisionLog(const std::filesystem::path& run_folder);
  ~DecisionLog();

  // A controller of this build begins. `config_json`: the resolved configuration that the plan is
  // of.
  void begin(const std::string& config_json, const ControllerPlan& plan, double now_seconds);
  // It was told this, and answered that. Call before the answers are carried out.
  void add(const ControllerEvent& event, double now_seconds,
           std::span<const ControllerAction> actions);
  // Why nothing is written any more; empty: all is well.
  const std::string& problem() const { return problem_; }

 private:
  bool extends_last(const ControllerEvent& event, double now_seconds);
  void write_line(std::string line);
  void flush(std::span<const ControllerAction> actions);

  FileDescriptor file_;
  nlohmann::json inputs_ = nlohmann::json::array();  // that led to nothing
  std::string problem_;
  LogBudget budget_;         // by the process's clock
  double unbudgeted_ = 0.0;  // bytes that were written and not yet taken from it
};

}  // namespace scavenger::elastic
