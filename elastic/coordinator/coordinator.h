// Runs one job: feeds the controller what happens, and carries out what it decides.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "elastic/control/controller.h"
#include "elastic/coordinator/checkpoint_writer.h"
#include "elastic/coordinator/cluster.h"
#include "elastic/coordinator/iteration_merge.h"
#include "elastic/coordinator/job_facts.h"
#include "elastic/coordinator/job_start.h"
#include "elastic/report/event_log.h"
#include "elastic/report/progress_display.h"
#include "elastic/report/run_summary.h"
#include "runtime/base/file.h"

namespace scavenger::elastic {

struct CoordinatorOptions {
  std::filesystem::path program_folder;  // where scavenger-ps and scavenger-worker are
  // Where people look on. The stream must outlive the coordinator.
  std::ostream& output;
  int output_file_descriptor = 1;
  ProgressStyle progress = ProgressStyle::kLines;
  std::uint32_t host_cores = 1;
};

// Thread: the one that calls run().
class Coordinator final : private ClusterListener {
 public:
  // Throws InputError where another process works on the run folder.
  Coordinator(JobStart start, DataSize data, CoordinatorOptions options);
  ~Coordinator() override;

  // Until the job has ended; the exit code: 0, 1 (failed) or 130 (interrupted).
  int run();

 private:
  void start_processes();
  void watch_signals(asio::signal_set& signals);
  void tick();
  void feed(const ControllerEvent& event);

  void carry_out(const ConfigureShards& action);
  void carry_out(const ConfigureWorkers& action);
  void carry_out(const GrantIterations& action);
  void carry_out(const EvaluateModel& action);
  void carry_out(const TakeCheckpoint& action);
  void carry_out(const EndProcesses& action);
  void carry_out(const EndJob& action);
  void carry_out(const Announce& action);

  void on_joined(const ProcessName& process, const Joined& message) override;
  void on_message(const ProcessName& process, const ControlMessage& message) override;
  std::span<std::byte> state_destination(const ProcessName& process,
                                         const FrameHeader& header) override;
  void on_state(const ProcessName& process, const FrameHeader& header) override;
  void on_lost(const ProcessName& process, std::int64_t pid, const std::string& how,
               const std::string& log_tail) override;
  void on_all_ended() override;

  void on_worker(std::uint32_t rank, const IterationStats& stats);
  void on_worker(std::uint32_t rank, const Evaluated& part);
  void log_iterations();  // those that all workers have reported
  void on_checkpoint(const CheckpointOutcome& outcome);
  void send_state(const ProcessName& shard, std::uint32_t index);
  void write_report();

  void log(RunEvent event);
  Checkpoint checkpoint_base() const;
  std::vector<ProcessName> workers() const;
  std::vector<ProcessName> shards() const;

  asio::io_context io_{1};
  SteadyClock clock_;
  JobStart start_;
  const DataSize data_;
  const CoordinatorOptions options_;
  const std::uint32_t shard_count_;
  const std::string config_json_;
  EventLogWriter events_;
  std::string log_problem_;  // why the event log is behind, once it was said
  RunSummary summary_;
  ProgressDisplay progress_;
  Controller controller_;
  IterationMerge iterations_;
  FileDescriptor shared_file_;  // the memory that the workers share, kept from their loss
  std::unique_ptr<Cluster> cluster_;
  asio::steady_timer tick_timer_;

  // What the processes said when they joined.
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::vector<std::uint16_t> shard_ports_;

  struct EvaluationRound {
    Split split = Split::kTest;
    double start_seconds = 0.0;
    std::vector<Evaluated> parts;  // by rank
    std::uint32_t missing = 0;
  };
  std::optional<EvaluationRound> evaluation_;

  CheckpointWriter checkpoints_;

  std::optional<EndJob> end_;
  int interrupts_ = 0;
};

}  // namespace scavenger::elastic
