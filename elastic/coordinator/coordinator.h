// Runs one job: feeds the controller what happens, and carries out what it decides.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "elastic/batching/batch_controller.h"
#include "elastic/control/controller.h"
#include "elastic/coordinator/checkpoint_writer.h"
#include "elastic/coordinator/cluster.h"
#include "elastic/coordinator/control_socket.h"
#include "elastic/coordinator/evaluation_round.h"
#include "elastic/coordinator/fleet.h"
#include "elastic/coordinator/iteration_merge.h"
#include "elastic/coordinator/job_facts.h"
#include "elastic/coordinator/job_record.h"
#include "elastic/coordinator/job_start.h"
#include "elastic/coordinator/known_buffers.h"
#include "elastic/coordinator/store_feeder.h"
#include "elastic/decisions/decision_log.h"
#include "elastic/search/search.h"
#include "runtime/base/file.h"

namespace scavenger::elastic {

struct CoordinatorOptions {
  std::filesystem::path program_folder;  // where scavenger-ps and scavenger-worker are
  Display display;
  std::uint32_t host_cores = 1;
  // Where workers' machines come from.
  std::function<std::unique_ptr<Provider>(asio::io_context&, const JobStart&)> make_provider;
};

// Thread: the one that calls run().
class Coordinator final : private ClusterListener, private FleetListener {
 public:
  // Throws InputError where another process works on the run folder.
  Coordinator(JobStart start, DataSize data, CoordinatorOptions options);
  ~Coordinator() override;

  // Until the job has ended; the exit code: 0, 1 (failed) or 130 (interrupted). Throws InputError
  // where what the user gave was found to be wrong before anything was trained.
  int run();

 private:
  void run_until_end();
  void begin_record();
  void open_fleet();
  void open_cluster();
  void start_process(const ProcessName& process);
  void start_at(const ProcessName& process, const ProcessPlace& place);
  std::string address_of_worker(std::uint32_t worker) const;
  void meter_cost();
  std::uint32_t threads_for(std::uint32_t worker) const;
  void watch_signals(asio::signal_set& signals);
  void interrupt(const std::string& by);
  void log_pause();
  void tick();
  void feed(const ControllerEvent& event);
  bool feed_at(const ControllerEvent& event, double now_seconds);  // whether it led to anything
  // What the workers have done: what all have done where that is due, or all that is known, also
  // of those that are ahead.
  enum class Progress { kWhereDue, kAll };
  void feed_progress(Progress progress);
  void feed_later(const ControllerEvent& event);
  void feed_shortage(const ControllerEvent& event, const std::string& why);

  void carry_out(const StartProcess& action);
  void carry_out(const ReleaseProcess& action);
  void carry_out(const KillProcess& action);
  void carry_out(const HaltProcesses& action);
  void carry_out(const FindCheckpoint& action);
  void carry_out(const ConfigureShards& action);
  void carry_out(const ConfigureWorkers& action);
  void carry_out(const GrantIterations& action);
  void carry_out(const EvaluateModel& action);
  void carry_out(const TakeCheckpoint& action);
  void carry_out(const TellRecovery& action);
  void carry_out(const EndProcesses& action);
  void carry_out(const EndJob& action);
  void carry_out(const Announce& action);

  void on_joined(const ProcessName& process, const Joined& message) override;
  void on_message(const ProcessName& process, const ControlMessage& message) override;
  std::span<std::byte> state_destination(const ProcessName& process,
                                         const FrameHeader& header) override;
  void on_state(const ProcessName& process, const FrameHeader& header) override;
  void on_lost(const LostProcess& lost) override;
  void on_left(const ProcessName& process) override;
  void on_all_ended() override;

  void on_machine_ready(std::uint32_t worker, const Machine& machine) override;
  void on_machine_refused(std::uint32_t worker, const Refusal& refusal) override;
  void on_machine_notice(std::uint32_t worker, const MachineNotice& notice) override;
  void on_machine_lost(std::uint32_t worker, const MachineLoss& loss) override;

  void on(const ProcessName& process, const Ready& message);
  void on(const ProcessName& process, const Halted& message);
  void on(const ProcessName& process, const Stuck& message);
  void on(const ProcessName& process, const Leaving& message);
  void on(const ProcessName& process, const IterationStats& stats);
  void on(const ProcessName& process, const SampleMemory& memory);
  void on(const ProcessName& process, const Evaluated& part);
  void on(const ProcessName& process, const SnapshotTaken& message);
  void on(const ProcessName& process, const Buffers& message);
  template <typename Other>
  void on(const ProcessName& process, const Other& message);

  // What people ask for while it runs: coordinator_commands.cpp. Throws InputError.
  nlohmann::json obey(const JobCommand& command);
  nlohmann::json obey_one(const command::Status&);
  nlohmann::json obey_one(const command::Resize& resize);
  nlohmann::json obey_one(const command::Checkpoint&);
  nlohmann::json obey_one(const command::Pause& pause);
  nlohmann::json obey_one(const command::Stop&);

  // The search for K and B: coordinator_search.cpp.
  void begin_search();
  void continue_search();
  void end_search(std::uint32_t workers, std::uint32_t batch_size, const std::string& reason);
  void want(std::uint32_t workers, std::uint32_t batch_size, const std::string& reason);

  // The learning rate at other B: coordinator_rate.cpp.
  void settle_rate();
  double rate_factor_for(std::uint32_t batch_size);
  void follow_noise();

  bool fits_the_model();
  void require_buffers(const ProcessName& process, std::span<const float> values) const;
  std::vector<std::uint32_t> hosts_of_workers() const;
  void take_checkpoint(LoadedCheckpoint loaded);
  void begin_membership(const ConfigureWorkers& action);
  void let_workers_keep_state(const ConfigureWorkers& action, ConfigureWorker& message) const;
  std::vector<ProcessName> state_holders() const;
  void log_and_decide(RunEvent event);
  void request_evaluations();
  void log_iterations(JobRecord::Until until);  // those that all workers have reported
  void log_measured(std::optional<fact::Iterations> series, JobRecord::Until until);
  void feed_store();  // with what was measured so far
  void tell_store_problem();
  void tell_decision_problem();
  void tell_removed_log();
  std::string where_it_can_go_on() const;
  void close_store();
  void on_checkpoint(const CheckpointOutcome& outcome);

  Checkpoint checkpoint_base() const;
  ps::ChunkLayout layout() const;
  std::vector<ProcessName> workers() const;  // of the membership, by rank
  std::vector<ProcessName> shards() const;
  std::optional<std::uint32_t> rank_of(const ProcessName& worker) const;

  asio::io_context io_{1};
  SteadyClock clock_;
  const CoordinatorOptions options_;
  const std::unique_ptr<Provider> provider_;
  JobStart start_;
  const DataSize data_;
  const std::uint32_t shard_count_;
  const std::string config_json_;
  JobRecord record_;
  const double begin_seconds_;
  Controller controller_;
  std::optional<DecisionLog> decisions_;  // from the first event on
  bool decision_problem_told_ = false;
  IterationMerge iterations_;
  // What the controller was told of them.
  std::optional<std::uint32_t> fed_membership_;
  std::uint64_t fed_iterations_ = 0;
  std::vector<std::uint64_t> fed_by_rank_;
  double fed_progress_seconds_ = 0.0;
  std::optional<BatchController> batching_;  // where batches are dynamic
  FileDescriptor shared_file_;  // the memory that the workers share, kept from their loss
  Fleet fleet_;
  // By worker, where the worker's end is news to come.
  std::map<std::uint32_t, MachineLoss> machines_lost_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<ControlSocket> control_;
  asio::steady_timer tick_timer_;

  // What the processes said when they joined.
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::vector<std::uint16_t> shard_ports_;
  std::map<std::uint32_t, std::uint16_t> worker_ports_;  // by index

  // From which the present membership starts, until it trains.
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::filesystem::path checkpoint_folder_;
  std::string checkpoint_problem_;         // of the last one that was tried
  std::filesystem::path last_checkpoint_;  // that was written, or from which the job started
  // Of the state, how many steps it is ahead of the iterations that were done.
  std::uint64_t steps_ahead_ = 0;
  KnownBuffers known_buffers_;  // for workers that come later
  std::optional<EvaluationRound> evaluation_;
  // The worker that has been asked for its buffers, with which all are to evaluate.
  std::optional<ProcessName> buffers_lender_;
  CheckpointWriter checkpoints_;
  std::unique_ptr<StoreFeeder> store_;  // where the configuration names a store
  double last_fed_seconds_ = 0.0;
  std::optional<SearchSetting> search_;  // where K and B are searched for

  std::optional<EndJob> end_;
  bool has_thrown_ = false;  // something did that nobody waited for
  int interrupts_ = 0;       // that press
  bool interrupt_told_ = false;
  bool removed_log_told_ = false;
};

}  // namespace scavenger::elastic
