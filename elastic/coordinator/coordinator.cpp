#include "elastic/coordinator/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/coordinator/host.h"
#include "elastic/report/json_report.h"
#include "ps/core/optimizer.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/checkpoint/layout_difference.h"
#include "runtime/config/config_file.h"
#include "runtime/data/sample_order.h"

namespace scavenger::elastic {
namespace {

constexpr auto kTickPeriod = std::chrono::milliseconds(200);

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

}  // namespace

// Writes checkpoints, one after the other, beside training.
struct Coordinator::Writer {
  asio::thread_pool thread{1};
};

Coordinator::Coordinator(JobStart start, DataSize data, CoordinatorOptions options)
    : start_(std::move(start)),
      data_(data),
      options_(std::move(options)),
      shard_count_(std::max(1U, start_.config.ps.shards)),
      config_json_(to_json(start_.config).dump()),
      events_(start_.folder.events(), clock_),
      progress_(std::cout, clock_, options_.progress, [] { return terminal_width(1); }),
      store_(disk_, start_.folder.checkpoints(),
             {start_.config.checkpoint.keep_last, start_.config.checkpoint.keep_best}),
      controller_(make_plan(start_, data_, shard_count_, events_.time_before()),
                  clock_.now_seconds()),
      iterations_(controller_.membership()),
      tick_timer_(io_),
      shard_ports_(shard_count_),
      writer_(std::make_unique<Writer>()) {}

Coordinator::~Coordinator() {
  writer_->thread.join();
}

std::vector<ProcessName> Coordinator::workers() const {
  std::vector<ProcessName> names;
  for (std::uint32_t i = 0; i < controller_.membership().workers(); ++i)
    names.push_back({Role::kWorker, i});
  return names;
}

std::vector<ProcessName> Coordinator::shards() const {
  std::vector<ProcessName> names;
  for (std::uint32_t i = 0; i < shard_count_; ++i) names.push_back({Role::kShard, i});
  return names;
}

// ---- The life of the job. ----

int Coordinator::run() {
  if (events_.time_before() > 0.0) {  // the numbers of earlier processes
    EventLogReader earlier(start_.folder.events());
    while (const auto logged = earlier.next()) summary_.apply(*logged);
  }
  write_config(start_.folder, start_.config);
  log(start_event());
  for (const DamagedCheckpoint& damaged : start_.damaged)
    log(fact::CheckpointDamaged{damaged.folder, damaged.reason});
  if (start_.is_resume && !start_.checkpoint)
    log(fact::Warning{"there is no checkpoint yet: the job starts from its beginning"});
  asio::signal_set signals(io_, SIGINT, SIGTERM);
  watch_signals(signals);
  start_processes();
  tick();
  io_.run();
  SCAVENGER_CHECK(end_.has_value());
  write_report();
  progress_.show_end(summary_.numbers(), start_.folder.path.string());
  return exit_code_of(end_->status);
}

void Coordinator::start_processes() {
  Cluster::Settings settings;
  settings.program_folder = options_.program_folder;
  settings.log_folder = start_.folder.logs();
  settings.limits = start_.config.limits;
  settings.state_payload_limit_bytes = static_cast<std::uint32_t>(start_.config.ps.chunk_bytes);
  ClusterListener& listener = *this;
  cluster_ = std::make_unique<Cluster>(io_, clock_, listener, JobCredentials::generate(), settings);
  const std::uint32_t threads = threads_per_worker(start_.config.cluster, options_.host_cores);
  const auto start_one = [&](const ProcessName& process, std::uint16_t port) {
    const std::int64_t pid = cluster_->start(process, threads, port, config_json_);
    const auto log_file = std::filesystem::path("logs") / cluster_->log_of(process).filename();
    log(fact::ProcessStarted{fact_role(process.role), process.index, pid, log_file.string()});
  };
  const std::uint16_t first_port = start_.config.ps.port;
  for (const ProcessName& shard : shards())
    start_one(shard, first_port == 0 ? std::uint16_t{0}
                                     : static_cast<std::uint16_t>(first_port + shard.index));
  for (const ProcessName& worker : workers()) start_one(worker, 0);
}

void Coordinator::watch_signals(asio::signal_set& signals) {
  signals.async_wait([this, &signals](const boost::system::error_code& error, int) {
    if (error) return;
    if (++interrupts_ == 1) {
      feed(Interrupted{});
    } else {
      end_ = EndJob{Status::kInterrupted, "ended at once by the user"};
      cluster_->kill_all();
    }
    watch_signals(signals);
  });
}

void Coordinator::tick() {
  cluster_->check_signs_of_life();
  feed(TimePassed{});
  progress_.tick(summary_.numbers());
  tick_timer_.expires_after(kTickPeriod);
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Coordinator::feed(const ControllerEvent& event) {
  for (const ControllerAction& action : controller_.step(event, clock_.now_seconds()))
    std::visit([this](const auto& what) { carry_out(what); }, action);
}

void Coordinator::on_all_ended() {
  feed(AllProcessesEnded{});
  if (end_ && !io_.stopped()) carry_out(*end_);  // where the user did not wait for the controller
}

void Coordinator::carry_out(const EndProcesses&) {
  const auto& ending = controller_.ending();
  if (ending && ending->status == Status::kFailed)
    cluster_->kill_all();  // the others may wait for who is gone, and there is nothing to lose
  else
    cluster_->end_all();
}

void Coordinator::carry_out(const EndJob& action) {
  end_ = action;
  const std::uint64_t done = controller_.iterations_done();
  log(fact::End{fact_status(action.status), action.reason, done,
                controller_.membership().position_at(done), exit_code_of(action.status)});
  events_.sync();
  io_.stop();
}

void Coordinator::carry_out(const Announce& action) {
  log(fact::Warning{action.text});
}

// ---- Coming together. ----

void Coordinator::on_joined(const ProcessName& process, const Joined& message) {
  log(fact::ProcessJoined{fact_role(process.role), process.index, message.pid,
                          cluster_->seconds_since_start(process)});
  if (process.role == Role::kShard) {
    shard_ports_[process.index] = message.port;
  } else if (parameters_.flat_size() == 0) {
    parameters_ = message.parameters;
    buffers_ = message.buffers;
  } else if (message.parameters != parameters_ || message.buffers != buffers_) {
    throw ProtocolError({.what = process.text() + " has built another model than the others",
                         .where = {},
                         .remedy = {}});
  }
  feed(ProcessJoined{process});
}

void Coordinator::carry_out(const ConfigureShards&) {
  if (start_.checkpoint) {
    try {
      require_same_model(parameters_, buffers_, start_.checkpoint->content,
                         start_.checkpoint->folder);
    } catch (const CheckpointError& error) {
      asio::post(io_, [this, what = std::string(error.what())] { feed(JobImpossible{what}); });
      return;
    }
  }
  const auto chunks =
      ps::ChunkLayout::count_chunks(parameters_.flat_size(), start_.config.ps.chunk_bytes);
  if (shard_count_ > chunks) {
    const std::string what = fmt::format(
        "ps.shards: {} shards are too many for {} chunks of the model; use fewer, or a smaller "
        "ps.chunk_bytes",
        shard_count_, chunks);
    asio::post(io_, [this, what] { feed(JobImpossible{what}); });
    return;
  }
  for (const ProcessName& shard : shards()) {
    ConfigureShard message;
    message.index = shard.index;
    message.shards = shard_count_;
    message.flat_size = parameters_.flat_size();
    message.samples_per_epoch = data_.train_samples;
    message.membership = controller_.membership();
    message.has_state = start_.checkpoint.has_value();
    if (start_.checkpoint)
      message.optimizer_steps = start_.checkpoint->content.optimizer.step_count;
    cluster_->send(shard, message);
    if (start_.checkpoint) send_state(shard, shard.index);
  }
}

void Coordinator::send_state(const ProcessName& shard, std::uint32_t index) {
  const Checkpoint& checkpoint = start_.checkpoint->content;
  const ps::ChunkLayout layout(parameters_.flat_size(), start_.config.ps.chunk_bytes, shard_count_);
  std::vector<std::span<const float>> vectors = {checkpoint.weights};
  for (const std::string_view name : ps::Optimizer(start_.config.optimizer).state_names())
    vectors.emplace_back(checkpoint.optimizer.slots.at(std::string(name)));
  // The checkpoint stays in memory as long as we do, so nothing is copied.
  asio::co_spawn(
      io_,
      [](std::shared_ptr<FrameConnection> connection, ps::ChunkLayout chunks,
         std::uint32_t of_shard, std::vector<std::span<const float>> pieces) -> awaitable<void> {
        for (std::uint32_t vector = 0; vector < pieces.size(); ++vector)
          for (const std::uint32_t chunk : chunks.chunks_of(of_shard)) {
            const ps::ChunkRange range = chunks.range(chunk);
            connection->post({.type = FrameType::kState, .chunk = chunk, .rank = vector},
                             std::as_bytes(pieces[vector].subspan(range.first, range.size)));
            co_await connection->wait_until_queued_at_most(std::size_t{8} << 20);
          }
      }(cluster_->shared_connection(shard), layout, index, std::move(vectors)),
      asio::detached);
}

void Coordinator::carry_out(const ConfigureWorkers&) {
  const Membership& membership = controller_.membership();
  log(fact::Membership{membership.epoch, membership.workers(), membership.batch_size,
                       membership.shares, membership.first_iteration, membership.first_position,
                       start_.is_resume ? "resumed" : "start"});
  for (const ProcessName& worker : workers()) {
    ConfigureWorker message;
    message.rank = worker.index;
    message.membership = membership;
    for (const std::uint16_t port : shard_ports_) message.shards.push_back({"127.0.0.1", port});
    message.writes_initial_weights = worker.index == 0 && !start_.checkpoint;
    message.has_buffers = start_.checkpoint.has_value();
    if (start_.checkpoint) message.buffers = start_.checkpoint->content.buffer_values;
    cluster_->send(worker, message);
  }
}

// ---- Training. ----

void Coordinator::carry_out(const GrantIterations& action) {
  const Train train{action.until};
  for (const ProcessName& worker : workers()) cluster_->send(worker, train);
}

void Coordinator::on_message(const ProcessName& process, const ControlMessage& message) {
  if (std::holds_alternative<Ready>(message)) return feed(ProcessReady{process});
  if (const auto* stats = std::get_if<IterationStats>(&message))
    return on_worker(process.index, *stats);
  if (const auto* part = std::get_if<Evaluated>(&message)) return on_worker(process.index, *part);
  if (const auto* taken = std::get_if<SnapshotTaken>(&message); taken != nullptr && checkpoint_) {
    checkpoint_->collector.set_optimizer_steps(taken->optimizer_steps);
    return snapshot_part_arrived();
  }
  if (const auto* buffers = std::get_if<Buffers>(&message); buffers != nullptr && checkpoint_) {
    checkpoint_->collector.set_buffers(buffers->values);
    return snapshot_part_arrived();
  }
  throw ProtocolError(
      {.what = process.text() + " sent a message that is not expected", .where = {}, .remedy = {}});
}

void Coordinator::on_worker(std::uint32_t rank, const IterationStats& stats) {
  iterations_.add(rank, stats);
  if (auto merged = iterations_.take()) log(std::move(*merged));
  feed(IterationsDone{rank, iterations_.reported(rank)});
}

// ---- Evaluation: each worker does its part of the split. ----

void Coordinator::carry_out(const EvaluateModel& action) {
  const std::uint32_t count = controller_.membership().workers();
  const std::uint64_t samples =
      action.split == Split::kTrain ? data_.train_samples : data_.test_samples;
  evaluation_ =
      EvaluationRound{action.split, clock_.now_seconds(), std::vector<Evaluated>(count), count};
  for (const ProcessName& worker : workers()) {
    Evaluate request;
    request.split = name_of(action.split);
    request.first = samples * worker.index / count;
    request.last = samples * (worker.index + 1) / count;
    request.batch_size = start_.config.evaluation.batch_size;
    cluster_->send(worker, request);
  }
}

void Coordinator::on_worker(std::uint32_t rank, const Evaluated& part) {
  if (!evaluation_)
    throw ProtocolError({.what = "nobody asked for an evaluation", .where = {}, .remedy = {}});
  evaluation_->parts[rank] = part;
  if (--evaluation_->missing > 0) return;
  Evaluated total;
  for (const Evaluated& one : evaluation_->parts) {
    total.samples += one.samples;
    total.correct += one.correct;
    total.loss_sum += one.loss_sum;
  }
  const double samples = static_cast<double>(total.samples);
  const double loss = total.loss_sum / samples;
  const double accuracy = static_cast<double>(total.correct) / samples;
  const std::uint64_t done = controller_.iterations_done();
  const double epoch = static_cast<double>(controller_.membership().position_at(done)) /
                       static_cast<double>(data_.train_samples);
  log(fact::Evaluation{done, epoch, name_of(evaluation_->split), total.samples, loss, accuracy,
                       clock_.now_seconds() - evaluation_->start_seconds});
  evaluation_.reset();
  feed(EvaluationDone{loss, accuracy});
  if (const auto& target = start_.config.stop.target;
      target && controller_.ending() && controller_.ending()->status == Status::kTargetReached)
    log(fact::TargetReached{target->metric == Metric::kAccuracy ? "accuracy" : "loss",
                            name_of(target->split),
                            target->metric == Metric::kAccuracy ? accuracy : loss, done, epoch});
  write_report();
}

// ---- Checkpoints: copied at the boundary, written beside training. ----

Checkpoint Coordinator::checkpoint_base() const {
  Checkpoint checkpoint;
  const Membership& membership = controller_.membership();
  checkpoint.iteration = controller_.iterations_done();
  checkpoint.position = membership.position_at(checkpoint.iteration);
  checkpoint.membership_epoch = membership.epoch;
  checkpoint.seed = start_.config.seed;
  checkpoint.config = nlohmann::json::parse(config_json_);
  checkpoint.config_digest = sha256_hex(config_json_);
  checkpoint.parameters = parameters_;
  checkpoint.buffers = buffers_;
  checkpoint.history = {{"seconds", events_.now()}, {"cost_dollars", summary_.numbers().cost}};
  if (controller_.best_score()) checkpoint.history["best_score"] = *controller_.best_score();
  checkpoint.scavenger_version = version();
  checkpoint.scavenger_commit = commit();
  return checkpoint;
}

void Coordinator::carry_out(const TakeCheckpoint& action) {
  std::vector<std::string> state_names;
  for (const std::string_view name : ps::Optimizer(start_.config.optimizer).state_names())
    state_names.emplace_back(name);
  const ps::ChunkLayout layout(parameters_.flat_size(), start_.config.ps.chunk_bytes, shard_count_);
  checkpoint_ =
      std::make_unique<CheckpointRound>(checkpoint_base(), layout, std::move(state_names));
  checkpoint_->start_seconds = clock_.now_seconds();
  checkpoint_->is_best = action.is_best;
  checkpoint_->missing_parts = shard_count_;
  const Snapshot snapshot{controller_.iterations_done()};
  for (const ProcessName& shard : shards()) cluster_->send(shard, snapshot);
  if (buffers_.flat_size() > 0) {
    ++checkpoint_->missing_parts;
    cluster_->send({Role::kWorker, 0}, SendBuffers{});
  }
}

void Coordinator::snapshot_part_arrived() {
  if (--checkpoint_->missing_parts > 0) return;
  checkpoint_->stall_seconds = clock_.now_seconds() - checkpoint_->start_seconds;
  feed(CheckpointSafe{});
  write_checkpoint_if_complete();
}

std::span<std::byte> Coordinator::state_destination(const ProcessName& process,
                                                    const FrameHeader& header) {
  if (!checkpoint_ || process.role != Role::kShard)
    throw ProtocolError(
        {.what = process.text() + " sent state that nobody asked for", .where = {}, .remedy = {}});
  return checkpoint_->collector.destination(header);
}

void Coordinator::on_state(const ProcessName&, const FrameHeader& header) {
  checkpoint_->collector.arrived(header);
  write_checkpoint_if_complete();
}

void Coordinator::write_checkpoint_if_complete() {
  if (checkpoint_->missing_parts > 0 || !checkpoint_->collector.complete() || checkpoint_->writing)
    return;
  checkpoint_->writing = true;
  asio::post(writer_->thread, [this] {
    std::string error;
    WrittenCheckpoint written;
    try {
      written = store_.write(checkpoint_->collector.checkpoint(), checkpoint_->is_best);
    } catch (const Error& failure) {
      error = failure.what();
    }
    asio::post(io_, [this, error, written] { checkpoint_written(error, written); });
  });
}

void Coordinator::checkpoint_written(const std::string& error, const WrittenCheckpoint& written) {
  const std::unique_ptr<CheckpointRound> round = std::move(checkpoint_);
  const std::uint64_t iteration = round->collector.checkpoint().iteration;
  if (error.empty())
    log(fact::Checkpoint{
        iteration, (std::filesystem::path("checkpoints") / written.folder.filename()).string(),
        written.bytes, round->stall_seconds, clock_.now_seconds() - round->start_seconds,
        round->is_best});
  else
    log(fact::CheckpointFailed{iteration, error});
  feed(CheckpointDone{error.empty()});
}

// ---- Losing. ----

void Coordinator::on_lost(const ProcessName& process, std::int64_t pid, const std::string& how,
                          const std::string& log_tail) {
  log(fact::ProcessLost{fact_role(process.role), process.index, pid, how, log_tail});
  feed(ProcessLost{process, how});
}

// ---- The record. ----

RunEvent Coordinator::start_event() const {
  fact::Start event;
  event.utc = utc_timestamp();
  event.job_id = sha256_hex(start_.folder.path.string()).substr(0, 16);
  event.name = start_.config.name;
  event.version = version();
  event.commit = commit();
  event.config_digest = sha256_hex(config_json_);
  event.host = describe_host(options_.host_cores);
  if (start_.checkpoint)
    event.resumed_from_iteration = start_.checkpoint->content.iteration;
  else if (start_.is_resume)
    event.resumed_from_iteration = 0;
  event.time_before = events_.time_before();
  event.workers = start_.config.cluster.workers;
  event.price_per_worker_hour = start_.config.cluster.price_per_worker_hour;
  event.samples_per_epoch = data_.train_samples;
  if (const auto& target = start_.config.stop.target)
    event.target = fact::Target{target->metric == Metric::kAccuracy ? "accuracy" : "loss",
                                name_of(target->split), target->value};
  event.limits = {start_.config.stop.max_epochs, start_.config.stop.max_iterations,
                  start_.config.stop.max_seconds};
  return event;
}

void Coordinator::log(RunEvent event) {
  const LoggedEvent logged = events_.append(std::move(event));
  summary_.apply(logged);
  progress_.show_event(logged, summary_.numbers());
}

void Coordinator::write_report() {
  try {
    write_json_report(start_.folder.report(), summary_.numbers());
  } catch (const SystemError& error) {  // training is worth more than its report
    log(fact::Warning{error.what()});
  }
}

}  // namespace scavenger::elastic
