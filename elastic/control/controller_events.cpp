// The controller's part that takes an event to its handler.
#include <utility>

#include "elastic/control/controller.h"
#include "runtime/base/check.h"
#include "runtime/base/overloaded.h"

namespace scavenger::elastic {

std::vector<ControllerAction> Controller::step(const ControllerEvent& event, double now_seconds) {
  SCAVENGER_CHECK(now_seconds >= now_seconds_);
  now_seconds_ = now_seconds;
  actions_.clear();
  machine_.forget_taken();
  if (state() != JobState::kEnded) handle(event);
  return std::move(actions_);
}

void Controller::handle(const ControllerEvent& event) {
  const Overloaded handlers{
      [this](const ProcessStarted& happened) { on_process_started(happened); },
      [this](const MachineRefused& happened) { on_machine_refused(happened); },
      [this](const ProcessJoined& happened) { on_process_joined(happened); },
      [this](const ProcessReady& happened) { on_process_ready(happened); },
      [this](const ProcessHalted& happened) { on_process_halted(happened); },
      [this](const ProcessStuck& happened) { on_process_stuck(happened); },
      [this](const IterationsDone& happened) { on_iterations_done(happened); },
      [this](const EvaluationDone& happened) { on_evaluation_done(happened); },
      [this](const CheckpointSafe& happened) { on_checkpoint_safe(happened); },
      [this](const CheckpointDone& happened) { on_checkpoint_done(happened); },
      [this](const CheckpointFound& happened) { on_checkpoint_found(happened); },
      [this](const ProcessLost& happened) { on_process_lost(happened); },
      [this](const LossJudged& happened) { on_loss_judged(happened); },
      [this](const JobImpossible& happened) { on_job_impossible(happened); },
      [this](const ProcessLeft& happened) { on_process_left(happened); },
      [this](const ProcessLeaving& happened) { on_process_leaving(happened); },
      [this](const ReshapeWanted& happened) { on_reshape_wanted(happened); },
      [this](const RateFactorWanted& happened) { on_rate_factor_wanted(happened); },
      [this](const SharesWanted& happened) { on_shares_wanted(happened); },
      [this](const SharePinned& happened) { on_share_pinned(happened); },
      [this](const WorkersDismissed& happened) { on_workers_dismissed(happened); },
      [this](const CheckpointWanted& happened) { on_checkpoint_wanted(happened); },
      [this](const PauseWanted& happened) { on_pause_wanted(happened); },
      [this](const Interrupted& happened) { on_interrupted(happened); },
      [this](const CostMetered& happened) { on_cost_metered(happened); },
      [this](const AllProcessesEnded& happened) { on_all_processes_ended(happened); },
      [this](const TimePassed& happened) { on_time_passed(happened); },
  };
  std::visit(handlers, event);
}

}  // namespace scavenger::elastic
