#include "elastic/coordinator/work/job_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "elastic/coordinator/work/checkpoint_base.h"
#include "ps/core/optimizer.h"
#include "runtime/base/error.h"
#include "runtime/base/overloaded.h"
#include "runtime/config/metric.h"
#include "runtime/config/placement.h"
#include "runtime/metrics/metric_value.h"

namespace scavenger::elastic {
namespace {

std::vector<ProcessName> workers_of(const Controller& controller) {  // by rank
  std::vector<ProcessName> names;
  for (const std::uint32_t index : controller.ranks()) names.push_back({Role::kWorker, index});
  return names;
}

std::vector<ProcessName> shards_of(const JobConfig& config) {
  std::vector<ProcessName> names;
  for (std::uint32_t i = 0; i < shard_count(config); ++i) names.push_back({Role::kShard, i});
  return names;
}

// Whose state makes a checkpoint, by shard: the shards', or the first worker's, which has it all.
std::vector<ProcessName> state_holders(const JobConfig& config, const Controller& controller) {
  return shard_count(config) > 0 ? shards_of(config) : std::vector{workers_of(controller).front()};
}

std::optional<std::uint32_t> rank_of(const Controller& controller, const ProcessName& worker) {
  const std::vector<std::uint32_t>& ranks = controller.ranks();  // by index
  const auto found = std::ranges::lower_bound(ranks, worker.index);
  if (worker.role != Role::kWorker || found == ranks.end() || *found != worker.index)
    return std::nullopt;
  return static_cast<std::uint32_t>(found - ranks.begin());
}

}  // namespace

JobWork::JobWork(WorkSurroundings around, const JobStart& start, const DataSize& data,
                 const std::string& config_json, LogEvent log)
    : around_(around),
      config_(start.config),
      data_(data),
      config_json_(config_json),
      log_(std::move(log)),
      model_(config_, shard_count(config_), data.train_samples),
      progress_(around.loop.clock(), controller().membership(),
                [this](std::uint32_t rank, std::uint64_t count, double now_seconds) {
                  return around_.controller.feed_at(IterationsDone{rank, count}, now_seconds);
                }),
      evaluations_([this](const ProcessName& process, const ControlMessage& message) {
        cluster().send(process, message);
      }),
      checkpoints_(
          around.loop, around.disk, start.folder.checkpoints(),
          {config_.checkpoint.keep_last, config_.checkpoint.keep_best},
          [this] { around_.controller.feed(CheckpointSafe{}); },
          [this](const CheckpointOutcome& outcome) { on_checkpoint(outcome); }) {}

// ---- Coming together. ----

void JobWork::on_joined(const ProcessName& process, const Joined& message) {
  if (model_.join(process, message))
    log_(make_model_event(config_, model_.parameters(), model_.buffers()));
  around_.controller.feed(ProcessJoined{process});
}

void JobWork::start_from(LoadedCheckpoint loaded) {
  last_checkpoint_ = loaded.folder;
  model_.start_from(std::move(loaded));
}

void JobWork::carry_out(const FindCheckpoint&) {
  if (model_.checkpoint()) return around_.loop.post([this] { on_found(std::nullopt); });
  checkpoints_.find_last(
      [this](const Error& damaged) {
        log_(fact::CheckpointDamaged{damaged.problem().where, damaged.what()});
      },
      [this](std::optional<LoadedCheckpoint> found) { on_found(std::move(found)); });
}

// How many iterations are lost with a state depends on which worker has done how many.
void JobWork::on_found(std::optional<LoadedCheckpoint> found) {
  if (found) model_.start_from(std::move(*found));
  CheckpointFound event;
  if (model_.checkpoint()) event = {model_.checkpoint()->iteration, model_.checkpoint()->position};
  feed_progress(ProgressFeed::Detail::kAll);
  around_.controller.feed(event);
}

// Tells what is wrong if the checkpoint is of another model or optimizer, or if there are too many
// shards for it.
bool JobWork::fits_the_model() {
  const std::optional<std::string> problem = model_.problem();
  if (problem) around_.controller.feed_later(JobImpossible{*problem, true});
  return !problem;
}

void JobWork::carry_out(const HaltProcesses& action) {
  evaluations_.give_up();
  for (const ProcessName& process : action.processes) cluster().send(process, Halt{});
}

void JobWork::carry_out(const ConfigureShards& action) {
  if (!fits_the_model()) return;
  for (const ProcessName& shard : shards_of(config_)) {
    const ConfigureShard message =
        model_.shard_message(action, controller().membership(), controller().ranks(), shard.index);
    cluster().send(shard, message);
    if (message.has_state)
      cluster().send_state(
          shard, {model_.checkpoint(), model_.layout(), shard.index, message.membership.epoch});
  }
}

MembershipPlaces JobWork::places() {
  MembershipPlaces places{controller().membership(), {}, {}};
  for (const std::uint32_t worker : controller().ranks())
    places.workers.push_back(around_.staffing.place_of(worker));
  for (std::uint32_t shard = 0; shard < shard_count(config_); ++shard)
    places.shard_addresses.push_back(cluster().address_of_shard(shard));
  return places;
}

void JobWork::carry_out(const ConfigureWorkers& action) {
  if (shard_count(config_) == 0 && !fits_the_model()) return;
  model_.begin(action);
  begin_membership(action);
  const MembershipPlaces all = places();
  for (std::uint32_t rank = 0; rank < all.workers.size(); ++rank) {
    const ProcessName worker{Role::kWorker, all.workers[rank].index};
    const ConfigureWorker message = model_.worker_message(action, all, rank);
    cluster().send(worker, message);
    if (message.state_pieces > 0)
      cluster().send_state(
          worker, {model_.checkpoint(), model_.layout(), 0, message.group.membership.epoch});
  }
}

void JobWork::begin_membership(const ConfigureWorkers& action) {
  const Membership& membership = controller().membership();
  std::optional<std::uint64_t> until;
  if (action.source == StateSource::kPresent) until = membership.first_iteration;
  for (fact::Iterations& series : progress_.close(until))
    log_measured(std::move(series), JobRecord::Until::kLater);
  log_measured(std::nullopt, JobRecord::Until::kEndOfMembership);
  progress_.begin(membership);
  log_(fact::Membership{membership.epoch, membership.workers(), membership.batch_size,
                        controller().ranks(), membership.shares, membership.first_iteration,
                        membership.first_position, action.reason, membership.rate_factor});
}

// ---- Training. ----

void JobWork::carry_out(const GrantIterations& action) {
  model_.forget_checkpoint();  // all of it is where it belongs
  progress_.allow(action.until);
  const Train train{action.until};
  for (const ProcessName& worker : workers_of(controller())) cluster().send(worker, train);
}

void JobWork::feed_progress(ProgressFeed::Detail detail) {
  progress_.feed(detail, [this] { return controller().membership().epoch; });
}

// What a look has seen is decided on before more iterations are granted there.
void JobWork::tell_progress() {
  if (!controller().is_at_look()) return feed_progress(ProgressFeed::Detail::kIfDue);
  log_iterations(JobRecord::Until::kLater);
  around_.loop.post([this] { feed_progress(ProgressFeed::Detail::kIfDue); });
}

void JobWork::log_iterations(JobRecord::Until until) {
  log_measured(progress_.take(), until);
}

void JobWork::log_measured(std::optional<fact::Iterations> series, JobRecord::Until until) {
  for (RunEvent& event : around_.record.condense(std::move(series), until)) log_(std::move(event));
}

// ---- Messages. ----

void JobWork::on_message(const ProcessName& process, const ControlMessage& message) {
  RecordedController& controller = around_.controller;
  const Overloaded handlers{
      [&](const Ready& ready) { controller.feed(ProcessReady{process, ready.membership_epoch}); },
      [&](const Halted& halted) {
        if (process.role == Role::kWorker && halted.has_weights) {
          model_.require_buffers(process, halted.buffers);
          model_.offer_buffers(process.index, halted.iteration, halted.buffers);
        }
        controller.feed(ProcessHalted{process, halted.iteration, halted.has_weights});
      },
      [&](const Stuck& stuck) { controller.feed(ProcessStuck{process, stuck.reason}); },
      [&](const Leaving& leaving) { around_.staffing.leave(process, leaving.reason); },
      [&](const IterationStats& stats) {
        const auto rank = rank_of(controller.controller(), process);
        if (!rank)
          throw ProtocolError({.what = "statistics came from outside of the membership",
                               .where = {},
                               .remedy = {}});
        progress_.add(*rank, stats);
        tell_progress();
      },
      [&](const SampleMemory& memory) {
        log_(fact::SampleMemory{process.index, memory.bytes_per_sample, memory.room_samples});
      },
      [&](const DeviceUse& use) {
        log_(fact::DeviceUse{process.index, use.device, use.most_used_bytes,
                             use.most_reserved_bytes, use.total_bytes, use.graphs});
      },
      [&](const Notice& notice) { log_(fact::Warning{process.text() + ": " + notice.text}); },
      [&](const ScriptValues& logged) {
        if (logged.names.size() != logged.values.size())
          throw ProtocolError(
              {.what = process.text() + " logged names without values", .where = {}, .remedy = {}});
        log_(fact::ScriptValues{logged.iteration, logged.names, logged.values});
      },
      [&](const Evaluated& part) { on_evaluated(process, part); },
      [&](const SnapshotTaken& taken) { checkpoints_.state_copied(process, taken); },
      [&](const Buffers& buffers) { on_buffers(process, buffers); },
      [&](const auto&) {
        throw ProtocolError({.what = process.text() + " sent a message that is not expected",
                             .where = {},
                             .remedy = {}});
      }};
  std::visit(handlers, message);
}

// For the evaluation that waits for them, or for a checkpoint: the one comes after the other.
void JobWork::on_buffers(const ProcessName& process, const Buffers& message) {
  model_.take_buffers(controller().iterations_done(), message.values);
  if (!evaluations_.awaits_buffers_of(process))
    return checkpoints_.buffers_arrived(process, message.values);
  model_.require_buffers(process, message.values);
  evaluations_.lend(process, message);
}

std::span<std::byte> JobWork::state_destination(const ProcessName& process,
                                                const FrameHeader& header) {
  return checkpoints_.destination(process, header);
}

void JobWork::on_state(const ProcessName&, const FrameHeader& header) {
  checkpoints_.arrived(header);
}

// How many iterations are lost with a state depends on which worker has done how many.
void JobWork::before_loss(const ProcessName& process) {
  evaluations_.lose(process);
  feed_progress(ProgressFeed::Detail::kAll);
}

void JobWork::after_loss(const ProcessName& process) {
  checkpoints_.lose(process);
}

// ---- Evaluation. ----

void JobWork::carry_out(const EvaluateModel& action) {
  log_iterations(JobRecord::Until::kBoundary);
  const std::uint64_t samples =
      action.split == Split::kTrain ? data_.train_samples : data_.test_samples;
  EvaluationRound round(action.split, samples, config_.evaluation.batch_size,
                        controller().membership().shares, around_.loop.clock().now_seconds());
  evaluations_.begin(std::move(round), workers_of(controller()), model_.buffers().flat_size() > 0);
}

void JobWork::on_evaluated(const ProcessName& process, const Evaluated& part) {
  const auto rank = rank_of(controller(), process);
  if (!rank) return;
  const std::optional<EvaluationRound> round = evaluations_.add(*rank, part);
  if (!round) return;
  const EvaluationSums total = round->total();
  const std::uint64_t done = controller().iterations_done();
  const double epoch = static_cast<double>(controller().membership().position_at(done)) /
                       static_cast<double>(data_.train_samples);
  fact::Evaluation event = make_evaluation_event(config_, total);
  event.iteration = done;
  event.epoch = epoch;
  event.split = round->split();
  event.seconds = around_.loop.clock().now_seconds() - round->start_seconds();
  log_(event);
  const double value = metric_value(judged_metric(config_.stop), total);
  EvaluationDone evaluated{value, {}};
  if (const auto& early = config_.stop.early_stopping)
    evaluated.stopping_value = metric_value(early->metric, total);
  around_.controller.feed(evaluated);
  const auto& ending = controller().ending();
  if (const auto& target = config_.stop.target;
      target && ending && ending->status == Status::kTargetReached)
    log_(fact::TargetReached{target->metric, target->split, value, done, epoch});
  around_.record.write_report();
}

// ---- Checkpoints: copied at the boundary, written while training goes on. ----

void JobWork::carry_out(const TakeCheckpoint& action) {
  log_iterations(JobRecord::Until::kBoundary);
  const std::vector<std::string> state_names = ps::state_names_of(config_.optimizer);
  const std::vector<ProcessName> holders = state_holders(config_, controller());
  std::optional<ProcessName> buffers_from;
  if (model_.buffers().flat_size() > 0) buffers_from = workers_of(controller()).front();
  Checkpoint base = checkpoint_base(config_, config_json_, data_, controller(), around_.record);
  base.parameters = model_.parameters();
  base.buffers = model_.buffers();
  checkpoints_.begin(std::move(base), model_.layout(), state_names, holders, buffers_from,
                     action.is_best);
  const Snapshot snapshot{controller().iterations_done()};
  for (const ProcessName& holder : holders) cluster().send(holder, snapshot);
  if (buffers_from) cluster().send(*buffers_from, SendBuffers{});
}

void JobWork::on_checkpoint(const CheckpointOutcome& outcome) {
  checkpoint_problem_ = outcome.error;
  if (outcome.error.empty()) last_checkpoint_ = outcome.written.folder;
  if (outcome.error.empty())
    log_(fact::Checkpoint{
        outcome.iteration,
        (std::filesystem::path("checkpoints") / outcome.written.folder.filename()).string(),
        outcome.written.bytes, outcome.stall_seconds, outcome.write_seconds, outcome.is_best});
  else
    log_(fact::CheckpointFailed{outcome.iteration, outcome.error});
  around_.controller.feed(CheckpointDone{outcome.error.empty(), outcome.by_loss});
}

std::string JobWork::where_it_can_go_on() const {
  std::string text;
  if (!checkpoint_problem_.empty())
    text = fmt::format(" ({}; make room, then go on by --resume)", checkpoint_problem_);
  return text + (last_checkpoint_.empty()
                     ? "; there is no checkpoint yet"
                     : "; the last good checkpoint is " + last_checkpoint_.string());
}

}  // namespace scavenger::elastic
