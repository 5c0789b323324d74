// The coordinator's part that talks to the processes about their work: memberships, iterations,
// evaluations and checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/coordinator/coordinator.h"
#include "elastic/coordinator/state_sender.h"
#include "ps/core/optimizer.h"
#include "ps/host/host_synchroniser.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/version.h"
#include "runtime/checkpoint/layout_difference.h"
#include "runtime/config/metric.h"
#include "runtime/config/placement.h"
#include "runtime/metrics/metric_value.h"

namespace scavenger::elastic {
namespace {

// From one report of progress to the controller to the next, unless workers wait for a grant.
constexpr double kProgressSeconds = 0.025;

}  // namespace

void Coordinator::on_message(const ProcessName& process, const ControlMessage& message) {
  std::visit([&](const auto& what) { on(process, what); }, message);
}

template <typename Other>
void Coordinator::on(const ProcessName& process, const Other&) {
  throw ProtocolError(
      {.what = process.text() + " sent a message that is not expected", .where = {}, .remedy = {}});
}

// ---- Coming together. ----

void Coordinator::on_joined(const ProcessName& process, const Joined& message) {
  record_.log(fact::ProcessJoined{process.role, process.index, message.pid,
                                  cluster_->seconds_since_start(process)});
  if (process.role == Role::kShard) {
    shard_ports_[process.index] = message.port;
  } else if (worker_ports_[process.index] = message.port; parameters_.flat_size() == 0) {
    parameters_ = message.parameters;
    buffers_ = message.buffers;
    record_.log(make_model_event(start_.config, parameters_, buffers_));
  } else if (message.parameters != parameters_ || message.buffers != buffers_) {
    throw ProtocolError({.what = process.text() + " has built another model than the others",
                         .where = {},
                         .remedy = {}});
  }
  feed(ProcessJoined{process});
}

void Coordinator::on(const ProcessName& process, const Ready& message) {
  feed(ProcessReady{process, message.membership_epoch});
}

void Coordinator::on(const ProcessName& process, const Halted& message) {
  if (process.role == Role::kWorker && message.has_weights) {
    require_buffers(process, message.buffers);
    known_buffers_.offer(process.index, message.iteration, message.buffers);
  }
  feed(ProcessHalted{process, message.iteration, message.has_weights});
}

void Coordinator::require_buffers(const ProcessName& process, std::span<const float> values) const {
  if (values.size() == buffers_.flat_size()) return;
  throw ProtocolError(
      {.what = process.text() + " sent buffers of another model", .where = {}, .remedy = {}});
}

void Coordinator::on(const ProcessName& process, const Stuck& message) {
  feed(ProcessStuck{process, message.reason});
}

void Coordinator::on(const ProcessName& process, const Leaving& message) {
  feed_shortage(ProcessLeaving{process, message.reason}, process.text() + " leaves");
}

void Coordinator::carry_out(const FindCheckpoint&) {
  if (checkpoint_)
    return feed_later(CheckpointFound{checkpoint_->iteration, checkpoint_->position});
  checkpoints_.find_last(
      [this](const Error& damaged) {
        record_.log(fact::CheckpointDamaged{damaged.problem().where, damaged.what()});
      },
      [this](std::optional<LoadedCheckpoint> found) {
        if (!found) return feed(CheckpointFound{});
        take_checkpoint(std::move(*found));
        feed(CheckpointFound{checkpoint_->iteration, checkpoint_->position});
      });
}

void Coordinator::take_checkpoint(LoadedCheckpoint loaded) {
  checkpoint_ = std::make_shared<const Checkpoint>(std::move(loaded.content));
  checkpoint_folder_ = std::move(loaded.folder);
}

// Tells what is wrong if the checkpoint is of another model or optimizer, or if there are too many
// shards for it.
bool Coordinator::fits_the_model() {
  try {
    if (checkpoint_) {
      require_same_model(parameters_, buffers_, *checkpoint_, checkpoint_folder_);
      require_optimizer_state(start_.config.optimizer, *checkpoint_, checkpoint_folder_);
    }
  } catch (const CheckpointError& error) {
    feed_later(JobImpossible{error.what(), true});
    return false;
  }
  try {
    layout();
    return true;
  } catch (const ConfigError& error) {
    feed_later(JobImpossible{error.what(), true});
    return false;
  }
}

// By rank; none where all are on this machine without being asked to, and each brings its own.
std::vector<std::uint32_t> Coordinator::hosts_of_workers() const {
  std::vector<std::uint32_t> hosts;
  if (start_.config.provider.is_remote()) return controller_.ranks();  // each has its own
  for (const std::uint32_t worker : controller_.ranks())
    if (const auto host = host_index_of_worker(start_.config.cluster, worker))
      hosts.push_back(*host);
  return hosts;
}

void Coordinator::carry_out(const ConfigureShards& action) {
  if (!fits_the_model()) return;
  const bool restores = action.source == StateSource::kCheckpoint;
  for (const ProcessName& shard : shards()) {
    ConfigureShard message;
    message.index = shard.index;
    message.shards = shard_count_;
    message.flat_size = parameters_.flat_size();
    message.samples_per_epoch = data_.train_samples;
    message.membership = ps::contributors_of(controller_.membership(), hosts_of_workers());
    message.goes_on = action.source == StateSource::kPresent;
    message.has_state = restores;
    if (restores) message.optimizer_steps = checkpoint_->optimizer.step_count;
    cluster_->send(shard, message);
    if (restores)
      send_state(io_, cluster_->shared_connection(shard), checkpoint_, start_.config.optimizer,
                 layout(), shard.index, message.membership.epoch);
  }
}

// Whose state makes a checkpoint, by shard: the shards', or the first worker's, who has it all.
std::vector<ProcessName> Coordinator::state_holders() const {
  return shard_count_ > 0 ? shards() : std::vector{workers().front()};
}

// They meet at the source, which is sure to be there, and it gets the state of a checkpoint.
void Coordinator::let_workers_keep_state(const ConfigureWorkers& action,
                                         ConfigureWorker& message) const {
  SyncGroup& group = message.group;
  const std::uint32_t source = controller_.ranks()[action.source_rank];
  group.shards = {{address_of_worker(source), worker_ports_.at(source)}};
  group.source_rank = action.source_rank;
  group.shares_state = action.shares_state && group.membership.workers() > 1;
  group.optimizer_steps = group.membership.first_iteration + steps_ahead_;
  if (action.source == StateSource::kCheckpoint && group.rank == group.source_rank)
    message.state_pieces = static_cast<std::uint32_t>(
        layout().chunk_count() * (1 + ps::Optimizer(start_.config.optimizer).state_names().size()));
}

void Coordinator::carry_out(const ConfigureWorkers& action) {
  if (shard_count_ == 0 && !fits_the_model()) return;
  if (action.source == StateSource::kInitial) steps_ahead_ = 0;
  if (action.source == StateSource::kInitial) known_buffers_ = {};
  if (checkpoint_) known_buffers_.take(checkpoint_->iteration, checkpoint_->buffer_values);
  if (action.source == StateSource::kCheckpoint)
    steps_ahead_ = checkpoint_->optimizer.step_count - checkpoint_->iteration;
  begin_membership(action);
  for (const ProcessName& worker : workers()) {
    ConfigureWorker message;
    SyncGroup& group = message.group;
    group.rank = *rank_of(worker);
    group.membership = controller_.membership();
    group.slots = controller_.ranks();
    group.hosts = hosts_of_workers();
    if (!group.hosts.empty())
      for (const std::uint32_t each : group.slots)
        group.pids.push_back(cluster_->pid_of({Role::kWorker, each}));
    for (const ProcessName& shard : shards())
      group.shards.push_back({cluster_->address_of_shard(shard.index), shard_ports_[shard.index],
                              is_near(start_.config, worker.index, shard.index)});
    group.writes_initial_weights = action.source == StateSource::kInitial && group.rank == 0;
    group.threads = threads_for(worker.index);
    if (shard_count_ == 0) let_workers_keep_state(action, message);
    const bool is_new = std::ranges::find(action.newcomers, worker.index) != action.newcomers.end();
    if (checkpoint_ || (is_new && action.source == StateSource::kPresent))
      message.buffers = known_buffers_.values();
    message.has_buffers = !message.buffers.empty();
    cluster_->send(worker, message);
    if (message.state_pieces > 0)
      send_state(io_, cluster_->shared_connection(worker), checkpoint_, start_.config.optimizer,
                 layout(), 0, group.membership.epoch);
  }
}

void Coordinator::begin_membership(const ConfigureWorkers& action) {
  const Membership& membership = controller_.membership();
  const bool goes_on = action.source == StateSource::kPresent;
  for (fact::Iterations& series :
       iterations_.close(goes_on ? membership.first_iteration : iterations_.most_reported()))
    log_measured(std::move(series), JobRecord::Until::kLater);
  log_measured(std::nullopt, JobRecord::Until::kEndOfMembership);
  iterations_.begin(membership);
  fed_membership_ = membership.epoch;
  fed_iterations_ = membership.first_iteration;
  fed_by_rank_.assign(membership.workers(), membership.first_iteration);
  log_and_decide(fact::Membership{membership.epoch, membership.workers(), membership.batch_size,
                                  controller_.ranks(), membership.shares,
                                  membership.first_iteration, membership.first_position,
                                  action.reason, membership.rate_factor});
}

// ---- Training. ----

void Coordinator::carry_out(const GrantIterations& action) {
  checkpoint_.reset();  // all of it is where it belongs
  iterations_.allow(action.until);
  const Train train{action.until};
  for (const ProcessName& worker : workers()) cluster_->send(worker, train);
}

void Coordinator::on(const ProcessName& process, const IterationStats& stats) {
  const auto rank = rank_of(process);
  if (!rank)
    throw ProtocolError(
        {.what = "statistics came from outside of the membership", .where = {}, .remedy = {}});
  iterations_.add(*rank, stats);
  feed_progress(Progress::kWhereDue);
}

// The controller hears of what all workers have done, and not of each report: K workers that report
// twenty times a second would make its log grow with K.
void Coordinator::feed_progress(Progress progress) {
  const Membership& membership = controller_.membership();
  if (fed_membership_ != membership.epoch) return;  // there is another one to come
  const std::uint64_t done = iterations_.least_reported();
  double now_seconds = clock_.now_seconds();
  const bool is_due = done >= iterations_.allowed() || progress == Progress::kAll ||
                      now_seconds - fed_progress_seconds_ >= kProgressSeconds;
  const std::uint32_t workers = membership.workers();
  if (done > fed_iterations_ && is_due) {
    fed_iterations_ = done;
    fed_progress_seconds_ = now_seconds;
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      if (feed_at(IterationsDone{rank, done}, now_seconds)) now_seconds = clock_.now_seconds();
      if (fed_membership_ != controller_.membership().epoch) return;
    }
  }
  if (progress == Progress::kWhereDue) return;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const std::uint64_t own = iterations_.reported(rank);
    if (own <= std::max(fed_by_rank_[rank], fed_iterations_)) continue;
    fed_by_rank_[rank] = own;
    feed_at(IterationsDone{rank, own}, clock_.now_seconds());
  }
}

// What decides sees what was logged, in its order, so that a replay of the log decides the same.
void Coordinator::log_and_decide(RunEvent event) {
  const LoggedEvent logged = record_.log(std::move(event));
  if (batching_)
    if (auto proposal = batching_->observe(logged.event))
      feed_later(SharesWanted{std::move(proposal->rule), std::move(proposal->reason)});
  if (!is_measurement(logged.event)) return;
  continue_search();
  follow_noise();
}

void Coordinator::log_iterations(JobRecord::Until until) {
  log_measured(iterations_.take(), until);
}

void Coordinator::log_measured(std::optional<fact::Iterations> series, JobRecord::Until until) {
  for (RunEvent& event : record_.condense(std::move(series), until))
    log_and_decide(std::move(event));
}

// ---- Evaluation. ----

void Coordinator::carry_out(const EvaluateModel& action) {
  log_iterations(JobRecord::Until::kBoundary);
  const std::uint64_t samples =
      action.split == Split::kTrain ? data_.train_samples : data_.test_samples;
  evaluation_.emplace(action.split, samples, start_.config.evaluation.batch_size,
                      controller_.membership().shares, clock_.now_seconds());
  if (buffers_.flat_size() == 0) return request_evaluations();
  buffers_lender_ = workers().front();
  cluster_->send(*buffers_lender_, SendBuffers{});
}

void Coordinator::request_evaluations() {
  for (const ProcessName& worker : workers())
    cluster_->send(worker, evaluation_->request_for(*rank_of(worker)));
}

void Coordinator::on(const ProcessName& process, const SampleMemory& memory) {
  record_.log(fact::SampleMemory{process.index, memory.bytes_per_sample, memory.room_samples});
}

void Coordinator::on(const ProcessName& process, const Evaluated& part) {
  const auto rank = rank_of(process);
  if (!evaluation_ || !rank) return;  // it ended while all were being halted
  if (!evaluation_->add(*rank, part)) return;
  const EvaluationSums total = evaluation_->total();
  const std::uint64_t done = controller_.iterations_done();
  const double epoch = static_cast<double>(controller_.membership().position_at(done)) /
                       static_cast<double>(data_.train_samples);
  fact::Evaluation event = make_evaluation_event(start_.config, total);
  event.iteration = done;
  event.epoch = epoch;
  event.split = evaluation_->split();
  event.seconds = clock_.now_seconds() - evaluation_->start_seconds();
  record_.log(std::move(event));
  evaluation_.reset();
  const double value = metric_value(judged_metric(start_.config.stop), total);
  EvaluationDone evaluated{value, {}};
  if (const auto& early = start_.config.stop.early_stopping)
    evaluated.stopping_value = metric_value(early->metric, total);
  feed(evaluated);
  if (const auto& target = start_.config.stop.target;
      target && controller_.ending() && controller_.ending()->status == Status::kTargetReached)
    record_.log(fact::TargetReached{target->metric, target->split, value, done, epoch});
  record_.write_report();
}

// ---- Checkpoints: copied at the boundary, written beside training. ----

Checkpoint Coordinator::checkpoint_base() const {
  Checkpoint checkpoint;
  const Membership& membership = controller_.membership();
  checkpoint.iteration = controller_.iterations_done();
  checkpoint.position = membership.position_at(checkpoint.iteration);
  checkpoint.membership_epoch = membership.epoch;
  checkpoint.seed = start_.config.seed;
  checkpoint.config = parse_json(config_json_);
  checkpoint.config_digest = sha256_hex(config_json_);
  checkpoint.parameters = parameters_;
  checkpoint.buffers = buffers_;
  checkpoint.vocabulary = data_.vocabulary;
  checkpoint.target_vocabulary = data_.target_vocabulary;
  checkpoint.history = {{"seconds", record_.now()}, {"cost_dollars", record_.numbers().cost}};
  checkpoint.history["data_shape"] = shape_history(data_.shape);
  checkpoint.history["learning_rate"] =
      rate_history(start_.config.optimizer, controller_.membership());
  if (controller_.best_score()) checkpoint.history["best_score"] = *controller_.best_score();
  if (const auto& early = start_.config.stop.early_stopping; early && controller_.early_stop())
    checkpoint.history["early_stopping"] =
        early_stop_history(early->metric, *controller_.early_stop());
  checkpoint.scavenger_version = version();
  checkpoint.scavenger_commit = commit();
  return checkpoint;
}

void Coordinator::carry_out(const TakeCheckpoint& action) {
  log_iterations(JobRecord::Until::kBoundary);
  std::vector<std::string> state_names;
  for (const std::string_view name : ps::Optimizer(start_.config.optimizer).state_names())
    state_names.emplace_back(name);
  const std::vector<ProcessName> holders = state_holders();
  std::optional<ProcessName> buffers_from;
  if (buffers_.flat_size() > 0) buffers_from = workers().front();
  checkpoints_.begin(checkpoint_base(), layout(), state_names, holders, buffers_from,
                     action.is_best);
  const Snapshot snapshot{controller_.iterations_done()};
  for (const ProcessName& holder : holders) cluster_->send(holder, snapshot);
  if (buffers_from) cluster_->send(*buffers_from, SendBuffers{});
}

void Coordinator::on(const ProcessName& process, const SnapshotTaken& message) {
  checkpoints_.state_copied(process, message);
}

// For the evaluation that waits for them, or for a checkpoint: the one comes after the other.
void Coordinator::on(const ProcessName& process, const Buffers& message) {
  if (message.values.size() == buffers_.flat_size())
    known_buffers_.take(controller_.iterations_done(), message.values);
  if (buffers_lender_ != process) return checkpoints_.buffers_arrived(process, message.values);
  buffers_lender_.reset();
  require_buffers(process, message.values);
  if (!evaluation_) return;  // it ended while all were being halted
  for (const ProcessName& worker : workers())
    if (worker != process) cluster_->send(worker, message);
  request_evaluations();
}

std::span<std::byte> Coordinator::state_destination(const ProcessName& process,
                                                    const FrameHeader& header) {
  return checkpoints_.destination(process, header);
}

void Coordinator::on_state(const ProcessName&, const FrameHeader& header) {
  checkpoints_.arrived(header);
}

void Coordinator::on_checkpoint(const CheckpointOutcome& outcome) {
  checkpoint_problem_ = outcome.error;
  if (outcome.error.empty()) last_checkpoint_ = outcome.written.folder;
  if (outcome.error.empty())
    record_.log(fact::Checkpoint{
        outcome.iteration,
        (std::filesystem::path("checkpoints") / outcome.written.folder.filename()).string(),
        outcome.written.bytes, outcome.stall_seconds, outcome.write_seconds, outcome.is_best});
  else
    record_.log(fact::CheckpointFailed{outcome.iteration, outcome.error});
  feed(CheckpointDone{outcome.error.empty(), outcome.by_loss});
}

}  // namespace scavenger::elastic
