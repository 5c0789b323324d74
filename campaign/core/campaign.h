// Decides what happens next in a campaign: which point is simulated where, how long its segments
// are, when machines come and go, and when it ends. Pure: the same events at the same times give
// the same actions, so that a campaign goes on, and is checked, from its log alone.
//
// Rules:
// - A simulation whose machine was lost goes to the head of the queue, and on from its last kept
//   segment. At most one segment is computed again.
// - A machine that has notice takes nothing new; what runs there is stopped and kept.
// - A simulation that fails by itself is tried again, on another machine if there is one. One that
//   diverged is not.
// - Machines are kept as long as there is something for them, and released at once when there is
//   not. One on which the next simulation is expected to take longer, or to cost more, than on a
//   new one takes none, and is returned (machine_choice.h).
// - A surrogate's advice comes before the order of the space, and after the holdout. It may be to
//   simulate a point for longer that has a result. The campaign ends if the surrogate is good
//   enough, and not before its last results were learned from.
// - The campaign ends before it costs more than max_cost: early enough for running segments to stop
//   in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/config/campaign_config.h"
#include "campaign/core/campaign_events.h"
#include "campaign/core/campaign_state.h"
#include "campaign/core/ledger.h"
#include "campaign/core/machine_choice.h"
#include "campaign/core/machine_lives.h"
#include "campaign/core/segment_length.h"
#include "campaign/space/selection.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::campaign {

// What a campaign depends on beside its events.
struct CampaignPlan {
  CampaignConfig config;
  MachineCatalogue catalogue;  // of the provider
  // The age at which it ends each machine, as announced; infinite if it does not.
  double wall_seconds = perfmodel::kNeverSeconds;
};

// It has more than 25 methods: one for each event, and one for each question that an answer asks.
class Campaign final {
 public:
  explicit Campaign(CampaignPlan plan);

  // Times are seconds since the campaign began, over all of its processes, and never decrease.
  CampaignActions step(const CampaignEvent& event, double now_seconds);
  // When a Tick is due at the latest, unless another event comes before; nothing: never.
  std::optional<double> wake_seconds() const;

  const CampaignConfig& config() const { return plan_.config; }
  const Space& space() const { return space_; }
  const std::map<PointIndex, SimulationRecord>& simulations() const { return simulations_; }
  const std::map<MachineId, MachineRecord>& machines() const { return machines_; }
  const std::map<TaskId, TaskRecord>& tasks() const { return tasks_; }
  const Ledger& ledger() const { return ledger_; }
  // Whether a surrogate is to be trained from the results that there are. Whoever asks starts the
  // training, and tells Advised or TrainingFailed at its end: a campaign that has nothing else to
  // do waits for that.
  bool is_training_due() const;
  std::uint64_t results_to_train_on() const;
  const std::vector<event::Advised>& trainings() const { return trainings_; }
  double training_seconds() const { return training_seconds_; }  // of those that failed, too
  std::uint64_t failed_trainings() const { return failed_trainings_; }
  std::uint64_t losses() const { return losses_; }  // of machines
  bool is_ended() const { return end_ && end_->is_told; }
  // "running", or how it ends or has ended, and why.
  std::string status() const { return end_ ? end_->status : "running"; }
  std::string reason() const { return end_ ? end_->reason : std::string(); }
  const MachineLives& lives() const { return lives_; }
  std::vector<MachineChoice::Measured> measured_types() const {
    return choice_.measured(choice_now());
  }
  const MachineChoice& machine_choice() const { return choice_; }
  double mean_life_seconds() const { return lives_.survival().mean_life_seconds(); }
  double checkpoint_seconds() const { return checkpoint_cost_.seconds(); }

 private:
  struct End {
    std::string status;
    std::string reason;
    double hard_seconds = 0.0;  // when machines are released whatever runs there
    bool is_told = false;
  };

  void on(const event::Started& started);
  void try_failed_again();
  void on(const event::MachineReady& ready);
  void on(const event::MachineDelayed& delayed);
  void on(const event::MachineRefused& refused);
  void on(const event::MachineNotice& notice);
  void on(const event::MachineLost& lost);
  void on(const event::MachineReleased& released);
  void on(const event::HostJoined& joined);
  void on(const event::HostLost& lost);
  void on(const event::SegmentBegan& began);
  void on(const event::SegmentEnded& ended);
  void on(const event::SegmentKept& kept);
  void on(const event::CheckpointKept& kept);
  void on(const event::CheckpointDamaged& damaged);
  void on(const event::TaskFailed& failed);
  void on(const event::Judged& judged);
  void on(const event::Advised& advised);
  void on(const event::TrainingFailed& failed);
  void on(const event::StopAsked& asked);
  void on(const event::Tick&) {}

  // campaign_tasks.cpp
  void enter(TaskRecord& task, TaskPhase phase);
  void start_task(MachineId machine, std::uint32_t slot, PointIndex point);
  double interval_seconds(const TaskRecord& task) const;
  bool must_move(const TaskRecord& task) const;
  void plan_segment(TaskRecord& task) const;
  void request_stop(TaskId id, TaskRecord& task);
  void end_task(TaskId id);
  void drop_task(TaskId id, Spent spent);
  void blame_tasks_of(MachineId machine, const std::string& how);
  void learn_from_loss(MachineId machine);
  void drop_tasks_of(MachineId machine);
  void give_up(SimulationRecord& simulation, SimulationState state, const std::string& reason,
               const std::string& log_tail);
  void put_back(PointIndex point);
  double computed_seconds(const TaskRecord& task) const;
  std::optional<double> limit_seconds_of(const TaskRecord& task) const;

  // campaign_schedule.cpp
  void schedule();
  void check_limits();
  void check_ends();
  void begin_end(const std::string& status, const std::string& reason, double grace_seconds);
  void go_on_ending();
  void assign();
  std::optional<PointIndex> take_point(MachineId machine);
  // campaign_surrogate.cpp
  std::optional<PointIndex> advised_point();
  std::optional<PointIndex> point_to_lengthen();
  bool is_surrogate_good_enough() const;
  std::optional<std::size_t> waiting_for(MachineId machine) const;
  bool may_choose_more() const;
  std::uint64_t begun_simulations() const;
  std::uint64_t steps_of(const SimulationRecord& simulation) const;
  void keep_shorter(SimulationRecord& simulation, const std::string& reason,
                    const std::string& log_tail);
  std::size_t open_simulations() const;
  std::size_t busy_or_coming_slots() const;
  std::size_t wanted_slots() const;
  std::vector<std::string> types_of_machines() const;
  MachineChoice::Now choice_now() const;
  bool is_worth_keeping(MachineRecord& machine);
  bool can_afford_another(const std::string& type) const;
  void request_machines();
  void return_silent_machines();
  void release_idle_machines();
  void release(MachineId id);
  std::optional<double> cost_stop_seconds() const;
  double grace_seconds() const;
  std::uint32_t slots_of(std::uint32_t cores) const;

  const CampaignPlan plan_;
  const Space space_;
  PointOrder order_;
  std::map<PointIndex, SimulationRecord> simulations_;
  std::deque<PointIndex> waiting_;
  std::map<MachineId, MachineRecord> machines_;
  std::map<TaskId, TaskRecord> tasks_;
  Ledger ledger_;
  MachineLives lives_;
  MachineChoice choice_;
  CheckpointCost checkpoint_cost_;
  std::uint64_t max_simulations_ = 0;
  double max_cost_ = 0.0;
  std::uint32_t most_machines_ = 0;
  MachineId next_machine_ = 1;
  TaskId next_task_ = 1;
  std::uint32_t last_slots_ = 0;  // of the last machine that was ready; 0: none was
  double request_again_seconds_ = 0.0;
  std::uint32_t broken_hosts_ = 0;  // in a row, on which no segment has begun
  std::uint64_t losses_ = 0;
  std::deque<bool> recent_failures_;  // of the last simulations that were over: failed or not
  std::vector<event::Advised> trainings_;
  double training_seconds_ = 0.0;
  std::uint64_t failed_trainings_ = 0;
  std::deque<PointIndex> advised_;   // some may have been taken meanwhile
  std::deque<PointIndex> lengthen_;  // before those
  std::uint64_t results_tried_ = 0;  // of the last training, failed or not
  std::optional<End> end_;
  double now_seconds_ = 0.0;
  CampaignActions actions_;
};

// How many simulations are in this state.
std::size_t count_of(const Campaign& campaign, SimulationState state);

}  // namespace scavenger::campaign
