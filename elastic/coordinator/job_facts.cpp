#include "elastic/coordinator/job_facts.h"

#include <nlohmann/json.hpp>

#include "elastic/coordinator/host.h"
#include "runtime/base/clock.h"
#include "runtime/base/digest.h"
#include "runtime/base/version.h"
#include "runtime/config/placement.h"
#include "runtime/data/sample_order.h"

namespace scavenger::elastic {
namespace {

Membership first_membership(const JobStart& start) {
  Membership membership;
  membership.epoch = 1;
  membership.batch_size = start.config.batch_size;
  membership.shares = split_batch(start.config.batch_size, start.config.cluster.workers);
  if (start.checkpoint) {
    const Checkpoint& checkpoint = start.checkpoint->content;
    membership.epoch = static_cast<std::uint32_t>(checkpoint.membership_epoch) + 1;
    membership.first_iteration = checkpoint.iteration;
    membership.first_position = checkpoint.position;
  }
  return membership;
}

}  // namespace

ControllerPlan make_plan(const JobStart& start, const DataSize& data, std::uint32_t shards,
                         double seconds_before) {
  ControllerPlan plan;
  plan.shards = shards;
  plan.membership = first_membership(start);
  plan.samples_per_epoch = data.train_samples;
  plan.stop = start.config.stop;
  plan.evaluation = start.config.evaluation;
  plan.checkpoint = start.config.checkpoint;
  plan.limits = start.config.limits;
  plan.faults = start.config.faults;
  plan.state_home = shards == 0                        ? StateHome::kWorkers
                    : uses_shared_memory(start.config) ? StateHome::kMemory
                                                       : StateHome::kShards;
  plan.seconds_before = seconds_before;
  plan.resumes_checkpoint = start.checkpoint.has_value();
  if (start.checkpoint) {
    const auto& history = start.checkpoint->content.history;
    if (history.contains("best_score") && history["best_score"].is_number())
      plan.best_score = history["best_score"].get<double>();
  }
  return plan;
}

fact::ProcessRole fact_role(Role role) {
  return role == Role::kWorker ? fact::ProcessRole::kWorker : fact::ProcessRole::kShard;
}

fact::EndStatus fact_status(Status status) {
  switch (status) {
    case Status::kTargetReached:
      return fact::EndStatus::kTargetReached;
    case Status::kMaxEpochs:
      return fact::EndStatus::kMaxEpochs;
    case Status::kMaxIterations:
      return fact::EndStatus::kMaxIterations;
    case Status::kMaxTime:
      return fact::EndStatus::kMaxTime;
    case Status::kInterrupted:
      return fact::EndStatus::kInterrupted;
    case Status::kFailed:
      return fact::EndStatus::kFailed;
  }
  return fact::EndStatus::kFailed;
}

int exit_code_of(Status status) {
  if (status == Status::kFailed) return 1;
  return status == Status::kInterrupted ? 130 : 0;
}

const char* name_of(Split split) {
  return split == Split::kTrain ? "train" : "test";
}

const char* name_of(Metric metric) {
  return metric == Metric::kAccuracy ? "accuracy" : "loss";
}

fact::Start make_start_event(const JobStart& start, const DataSize& data,
                             const std::string& config_json, double seconds_before) {
  fact::Start event;
  event.utc = utc_timestamp();
  event.job_id = sha256_hex(start.folder.path.string()).substr(0, 16);
  event.name = start.config.name;
  event.version = version();
  event.commit = commit();
  event.config_digest = sha256_hex(config_json);
  if (start.checkpoint)
    event.resumed_from_iteration = start.checkpoint->content.iteration;
  else if (start.is_resume)
    event.resumed_from_iteration = 0;
  event.time_before = seconds_before;
  event.workers = start.config.cluster.workers;
  event.price_per_worker_hour = start.config.cluster.price_per_worker_hour;
  event.samples_per_epoch = data.train_samples;
  if (const auto& target = start.config.stop.target)
    event.target = fact::Target{name_of(target->metric), name_of(target->split), target->value};
  event.limits = {start.config.stop.max_epochs, start.config.stop.max_iterations,
                  start.config.stop.max_seconds};
  return event;
}

}  // namespace scavenger::elastic
