#include "elastic/coordinator/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/coordinator/host.h"
#include "elastic/coordinator/job_facts.h"
#include "elastic/report/json_report.h"
#include "ps/core/optimizer.h"
#include "ps/shm/segment.h"
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

}  // namespace

Coordinator::Coordinator(JobStart start, DataSize data, CoordinatorOptions options)
    : start_(std::move(start)),
      data_(data),
      options_(std::move(options)),
      shard_count_(shard_count(start_.config)),
      config_json_(to_json(start_.config).dump()),
      events_(start_.folder.events(), clock_),
      progress_(
          options_.output, clock_, options_.progress,
          [file = options_.output_file_descriptor] { return terminal_width(file); },
          [file = options_.output_file_descriptor] { return can_write_now(file); }),
      controller_(make_plan(start_, data_, shard_count_, events_.time_before()),
                  clock_.now_seconds()),
      iterations_(controller_.membership()),
      tick_timer_(io_),
      shard_ports_(shard_count_),
      checkpoints_(
          io_, clock_, start_.folder.checkpoints(),
          {start_.config.checkpoint.keep_last, start_.config.checkpoint.keep_best},
          [this] { feed(CheckpointSafe{}); },
          [this](const CheckpointOutcome& outcome) { on_checkpoint(outcome); }) {}

Coordinator::~Coordinator() = default;

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
  fact::Start start_event = make_start_event(start_, data_, config_json_, events_.time_before());
  start_event.host = describe_host(options_.host_cores);
  log(std::move(start_event));
  if (events_.bytes_cut() > 0)
    log(fact::Warning{fmt::format("a torn last line of {} bytes was cut off the event log",
                                  events_.bytes_cut())});
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
  if (uses_shared_memory(start_.config)) shared_file_ = ps::make_shared_file();
  settings.shared_file = shared_file_.get();
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
  log_iterations();
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
  log_iterations();
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
    SyncGroup& group = message.group;
    group.rank = worker.index;
    group.membership = membership;
    for (const ProcessName& each : workers()) group.slots.push_back(each.index);
    for (const std::uint16_t port : shard_ports_) group.shards.push_back({"127.0.0.1", port});
    group.writes_initial_weights = worker.index == 0 && !start_.checkpoint;
    message.has_buffers = start_.checkpoint.has_value();
    if (start_.checkpoint) message.buffers = start_.checkpoint->content.buffer_values;
    cluster_->send(worker, message);
  }
  start_.checkpoint.reset();  // all of it is where it belongs
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
  if (const auto* taken = std::get_if<SnapshotTaken>(&message))
    return checkpoints_.shard_has_copied(taken->optimizer_steps);
  if (const auto* buffers = std::get_if<Buffers>(&message))
    return checkpoints_.buffers_arrived(buffers->values);
  throw ProtocolError(
      {.what = process.text() + " sent a message that is not expected", .where = {}, .remedy = {}});
}

void Coordinator::on_worker(std::uint32_t rank, const IterationStats& stats) {
  iterations_.add(rank, stats);
  feed(IterationsDone{rank, iterations_.reported(rank)});
}

// ---- Evaluation: each worker does its part of the split. ----

void Coordinator::carry_out(const EvaluateModel& action) {
  log_iterations();
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

void Coordinator::log_iterations() {
  if (auto merged = iterations_.take()) log(std::move(*merged));
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
    log(fact::TargetReached{name_of(target->metric), name_of(target->split),
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
  log_iterations();
  std::vector<std::string> state_names;
  for (const std::string_view name : ps::Optimizer(start_.config.optimizer).state_names())
    state_names.emplace_back(name);
  const ps::ChunkLayout layout(parameters_.flat_size(), start_.config.ps.chunk_bytes, shard_count_);
  const bool has_buffers = buffers_.flat_size() > 0;
  checkpoints_.begin(checkpoint_base(), layout, std::move(state_names),
                     shard_count_ + (has_buffers ? 1 : 0), action.is_best);
  const Snapshot snapshot{controller_.iterations_done()};
  for (const ProcessName& shard : shards()) cluster_->send(shard, snapshot);
  if (has_buffers) cluster_->send({Role::kWorker, 0}, SendBuffers{});
}

std::span<std::byte> Coordinator::state_destination(const ProcessName&, const FrameHeader& header) {
  return checkpoints_.destination(header);
}

void Coordinator::on_state(const ProcessName&, const FrameHeader& header) {
  checkpoints_.arrived(header);
}

void Coordinator::on_checkpoint(const CheckpointOutcome& outcome) {
  if (outcome.error.empty())
    log(fact::Checkpoint{
        outcome.iteration,
        (std::filesystem::path("checkpoints") / outcome.written.folder.filename()).string(),
        outcome.written.bytes, outcome.stall_seconds, outcome.write_seconds, outcome.is_best});
  else
    log(fact::CheckpointFailed{outcome.iteration, outcome.error});
  feed(CheckpointDone{outcome.error.empty()});
}

// ---- Losing. ----

void Coordinator::on_lost(const ProcessName& process, std::int64_t pid, const std::string& how,
                          const std::string& log_tail) {
  log(fact::ProcessLost{fact_role(process.role), process.index, pid, how, log_tail});
  feed(ProcessLost{process, how});
}

// ---- The record. ----

void Coordinator::log(RunEvent event) {
  const LoggedEvent logged = events_.append(std::move(event));
  if (events_.problem() != log_problem_) {
    log_problem_ = events_.problem();
    progress_.clear();
    if (!log_problem_.empty()) log_error("{}", log_problem_);
  }
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
