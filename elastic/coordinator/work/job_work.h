// The work of a job's processes: makes memberships, grants iterations, evaluates, takes
// checkpoints, and tells the controller and the log what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/coordinator/checkpoints/checkpoint_writer.h"
#include "elastic/coordinator/job/job_facts.h"
#include "elastic/coordinator/job/job_record.h"
#include "elastic/coordinator/job/recorded_controller.h"
#include "elastic/coordinator/staffing/staffing.h"
#include "elastic/coordinator/work/evaluations.h"
#include "elastic/coordinator/work/model_state.h"
#include "elastic/coordinator/work/progress_feed.h"

namespace scavenger::elastic {

// What the work is done with. All must outlive it.
struct WorkSurroundings {
  EventLoop& loop;
  Disk& disk;  // for checkpoints
  RecordedController& controller;
  JobRecord& record;
  Staffing& staffing;
};

// Thread: the event loop's. It has more than 25 methods, since it has one for each action of the
// controller and each kind of news that has to do with the work.
class JobWork final : public WorkListener {
 public:
  // `start` and `data` must outlive it. `log`: into the record, for the advisors, too.
  JobWork(WorkSurroundings around, const JobStart& start, const DataSize& data,
          const std::string& config_json, LogEvent log);

  // ---- Actions of the controller. ----
  void carry_out(const HaltProcesses& action);
  void carry_out(const FindCheckpoint& action);
  void carry_out(const ConfigureShards& action);
  void carry_out(const ConfigureWorkers& action);
  void carry_out(const GrantIterations& action);
  void carry_out(const EvaluateModel& action);
  void carry_out(const TakeCheckpoint& action);

  // The checkpoint that the job goes on from.
  void start_from(LoadedCheckpoint loaded);
  void feed_progress(ProgressFeed::Detail detail);
  double seconds_since_progress() const { return progress_.seconds_since_progress(); }
  void log_iterations(JobRecord::Until until);  // those that all workers have reported
  // Of a job that has failed.
  std::string where_it_can_go_on() const;

  void on_joined(const ProcessName& process, const Joined& message) override;
  void on_message(const ProcessName& process, const ControlMessage& message) override;
  std::span<std::byte> state_destination(const ProcessName& process,
                                         const FrameHeader& header) override;
  void on_state(const ProcessName& process, const FrameHeader& header) override;
  void before_loss(const ProcessName& process) override;
  void after_loss(const ProcessName& process) override;

 private:
  const Controller& controller() const { return around_.controller.controller(); }
  Cluster& cluster() { return around_.staffing.cluster(); }
  bool fits_the_model();
  MembershipPlaces places();
  void begin_membership(const ConfigureWorkers& action);
  void tell_progress();
  void log_measured(std::optional<fact::Iterations> series, JobRecord::Until until);
  void on_found(std::optional<LoadedCheckpoint> found);
  void on_evaluated(const ProcessName& process, const Evaluated& part);
  void on_buffers(const ProcessName& process, const Buffers& message);
  void on_checkpoint(const CheckpointOutcome& outcome);

  const WorkSurroundings around_;
  const JobConfig& config_;
  const DataSize& data_;
  const std::string& config_json_;
  const LogEvent log_;
  ModelState model_;
  ProgressFeed progress_;
  Evaluations evaluations_;
  std::string checkpoint_problem_;         // of the last one that was tried
  std::filesystem::path last_checkpoint_;  // that was written, or from which the job started
  CheckpointWriter checkpoints_;
};

}  // namespace scavenger::elastic
