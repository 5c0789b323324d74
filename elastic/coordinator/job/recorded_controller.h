// The controller of a job, and the record of what it was told and decided.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "elastic/control/controller.h"
#include "elastic/coordinator/job/run_folder.h"
#include "elastic/decisions/decision_log.h"
#include "runtime/net/event_loop.h"

namespace scavenger::elastic {

// Thread: the event loop's.
class RecordedController final {
 public:
  using CarryOut = std::function<void(const ControllerAction&)>;

  // The loop must outlive it. `carry_out` is called for each action, in their order, and may tell
  // the controller more.
  RecordedController(EventLoop& loop, ControllerPlan plan, CarryOut carry_out);

  // Begins the record in the run folder. Call once, before anything is told. Throws SystemError.
  void begin(const RunFolder& folder, const std::string& config_json);

  // Tells it, and carries out what it answers.
  void feed(const ControllerEvent& event) { feed_at(event, loop_.clock().now_seconds()); }
  // As feed(), with a time that is not before the last one. Whether there was an answer.
  bool feed_at(const ControllerEvent& event, double now_seconds);
  // For what is found while actions are being carried out.
  void feed_later(const ControllerEvent& event);

  const Controller& controller() const { return controller_; }
  // Why nothing is recorded any more, once.
  std::optional<std::string> take_problem();

 private:
  EventLoop& loop_;
  const ControllerPlan plan_;
  const CarryOut carry_out_;
  const double begin_seconds_;
  Controller controller_;
  std::optional<DecisionLog> decisions_;
  bool problem_is_told_ = false;
};

}  // namespace scavenger::elastic
