#include "elastic/coordinator/job/recorded_controller.h"

#include <utility>
#include <vector>

namespace scavenger::elastic {

RecordedController::RecordedController(EventLoop& loop, ControllerPlan plan, CarryOut carry_out)
    : loop_(loop),
      plan_(std::move(plan)),
      carry_out_(std::move(carry_out)),
      begin_seconds_(loop.clock().now_seconds()),
      controller_(plan_, begin_seconds_) {}

void RecordedController::begin(const RunFolder& folder, const std::string& config_json) {
  decisions_.emplace(folder.path);
  decisions_->begin(config_json, plan_, begin_seconds_);
}

bool RecordedController::feed_at(const ControllerEvent& event, double now_seconds) {
  const std::vector<ControllerAction> actions = controller_.step(event, now_seconds);
  decisions_->add(event, now_seconds, actions);
  for (const ControllerAction& action : actions) carry_out_(action);
  return !actions.empty();
}

void RecordedController::feed_later(const ControllerEvent& event) {
  loop_.post([this, event] { feed(event); });
}

std::optional<std::string> RecordedController::take_problem() {
  if (decisions_->problem().empty() || std::exchange(problem_is_told_, true)) return std::nullopt;
  return decisions_->problem();
}

}  // namespace scavenger::elastic
