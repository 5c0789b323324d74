// A campaign in the real world: tells the pure campaign what happens, writes down both, and carries
// out what it answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "campaign/core/campaign.h"
#include "campaign/run/arriving_files.h"
#include "campaign/run/campaign_folder.h"
#include "campaign/run/host_links.h"
#include "campaign/run/simulation_store.h"
#include "campaign/run/surrogate_training.h"
#include "runtime/net/event_loop.h"
#include "runtime/provider/provider.h"

namespace scavenger::campaign {

struct CampaignStart {
  CampaignFolder folder;
  Campaign campaign;     // as the log leaves it
  double seconds = 0.0;  // of the last step in the log
  std::uint64_t max_simulations = 0;
  double max_cost = 0.0;  // dollars
  std::uint32_t most_machines = 1;
  bool tries_failed_again = false;
  std::filesystem::path program_folder;  // of scavenger-task
  // Is told each event after it was taken; for people.
  std::function<void(const Campaign&, const CampaignEvent&, double seconds)> show;
};

// Thread: the io_context's. Start it once, and run the loop.
class CampaignRun final : private ProviderListener, private HostListener {
 public:
  // The references must outlive it.
  CampaignRun(asio::io_context& io, EventLoop& loop, Provider& provider, CampaignStart start);
  ~CampaignRun() override;

  void begin();
  // In order, or at once.
  void stop(const std::string& reason, bool at_once);
  // Ends a campaign in which a handler has thrown: what runs is killed, machines are returned, and
  // it can be resumed. Returns false if there is nothing to return, or it ends already. Then the
  // exception is the caller's.
  bool fail(const std::string& reason);

  // After the loop has ended.
  const Campaign& campaign() const { return campaign_; }
  double last_step_seconds() const { return last_step_seconds_; }
  const action::Finish& finish() const { return finish_; }

 private:
  // A task on its machine, and the files that come from it.
  struct TaskLink {
    MachineId machine = 0;
    PointIndex point = 0;
    ArrivingFiles files;
    std::uint64_t being_kept = 0;  // checkpoints that are being written, and are no segments yet
  };

  double seconds() const;
  void feed(const CampaignEvent& event);
  void drain();
  bool write_log(const std::string& line);
  void set_wake_timer();
  void train_if_due();
  void watch_signs_of_life();

  void carry_out(const action::RequestMachine& request);
  void carry_out(const action::StartHost& start);
  void carry_out(const action::ReleaseMachine& release);
  void carry_out(const action::StartTask& start);
  void carry_out(const action::RunSegment& run);
  void carry_out(const action::StopTask& stop);
  void carry_out(const action::EndTask& end);
  void carry_out(const action::Judge& judge);
  void carry_out(const action::Finish& finish);

  void on_ready(MachineId id, const Machine& machine) override;
  void on_delayed(MachineId id, const Refusal& refusal) override;
  void on_refused(MachineId id, const Refusal& refusal) override;
  void on_notice(MachineId id, const MachineNotice& notice) override;
  void on_lost(MachineId id, const MachineLoss& loss) override;
  void on_released(MachineId id) override;

  void on_host_joined(MachineId machine) override;
  void on_host_lost(MachineId machine, const std::string& how) override;
  void on_host_leaving(MachineId machine) override;
  void on_task_message(MachineId machine, const TaskMessage& message) override;
  void on_piece(MachineId machine, const Piece& piece) override;

  void open_links();
  std::uint32_t cores_of(const Machine& machine) const;
  void forget_tasks_of(MachineId machine);
  TaskLink* link_of(TaskId task, MachineId machine);
  void keep(TaskId id, TaskLink& link, bool is_final);
  std::uint64_t reached_by(const TaskRecord& task, const std::vector<TaskFile>& files) const;
  message::Run command_of(TaskId task, PointIndex point, std::uint64_t from,
                          std::uint64_t until) const;
  std::string fault_of_result(PointIndex point) const;
  void await_processes();

  asio::io_context& io_;
  EventLoop& loop_;
  Provider& provider_;
  CampaignStart start_;
  Campaign campaign_;
  CampaignLog log_;
  SimulationStore store_;
  std::vector<TaskFile> inputs_;
  std::unique_ptr<HostLinks> links_;  // once the provider is ready
  std::unique_ptr<BackgroundThread> disk_;
  std::unique_ptr<SurrogateTraining> training_;  // if there is a surrogate
  std::deque<CampaignEvent> events_;
  bool is_draining_ = false;
  std::optional<std::string> early_stop_;  // asked for before the provider was ready
  bool is_over_ = false;
  std::map<MachineId, Machine> machines_;
  std::set<MachineId> early_hosts_;  // connected before their machines were ready
  std::map<MachineId, std::uint32_t> worker_indices_;
  std::map<TaskId, TaskLink> tasks_;
  asio::steady_timer wake_;
  double begin_seconds_ = 0.0;
  double last_step_seconds_ = 0.0;
  action::Finish finish_;
  int ending_polls_ = 0;
};

}  // namespace scavenger::campaign
