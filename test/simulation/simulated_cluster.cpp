#include "test/simulation/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <variant>

#include "ps/core/optimizer.h"
#include "runtime/base/version.h"

namespace scavenger::elastic {
namespace {

constexpr std::int64_t kParameters = 100;
constexpr double kReportSeconds = 0.05;

}  // namespace

SimulatedCluster::SimulatedCluster(VirtualLoop& loop, ClusterListener& listener, Settings settings,
                                   ClusterCounts& counts)
    : loop_(loop),
      listener_(listener),
      settings_(std::move(settings)),
      counts_(counts),
      random_(settings_.seed, "simulated cluster") {
  parameters_.add("w", {kParameters});
  if (settings_.model.buffers > 0)
    buffers_.add("b", {static_cast<std::int64_t>(settings_.model.buffers)});
}

void SimulatedCluster::require(bool holds, const std::string& what) {
  if (!holds) counts_.faults.push_back(fmt::format("at {:.2f} s: {}", loop_.now(), what));
}

// ---- Starting. ----

std::string SimulatedCluster::expect(const ProcessName& process) {
  auto expected = std::make_shared<Process>();
  expected->name = process;
  expected->start_seconds = loop_.now();
  processes_[process] = std::move(expected);
  return "ticket";
}

std::int64_t SimulatedCluster::start(const ProcessName& process, const ProcessPlace& place,
                                     std::uint32_t, std::uint16_t) {
  auto started = std::make_shared<Process>();
  started->name = process;
  started->pid = ++pids_;
  started->start_seconds = loop_.now();
  started->address = place.address;
  started->runs = true;
  processes_[process] = started;
  plan_mishaps(started);
  const double seconds = process.role == Role::kShard ? 0.5 : 2.0 + 6.0 * random_.uniform();
  loop_.after(seconds, [this, started] {
    if (!answers(*started) || ending_) return;
    started->has_joined = true;
    Joined joined{started->name.role,
                  started->name.index,
                  started->pid,
                  version_line("scavenger"),
                  1000,
                  {},
                  {}};
    if (started->name.role == Role::kWorker) {
      joined.parameters = parameters_;
      joined.buffers = buffers_;
    }
    listener_.on_joined(started->name, joined);
  });
  return started->pid;
}

std::int64_t SimulatedCluster::pid_of(const ProcessName& process) const {
  return processes_.at(process)->pid;
}

std::filesystem::path SimulatedCluster::log_of(const ProcessName& process) const {
  return process.text() + ".log";
}

double SimulatedCluster::seconds_since_start(const ProcessName& process) const {
  return loop_.now() - processes_.at(process)->start_seconds;
}

// ---- Mishaps. ----

double SimulatedCluster::when(double mean_seconds) {
  return -mean_seconds * std::log(1.0 - random_.uniform());
}

void SimulatedCluster::plan_mishaps(const ProcessPointer& process) {
  const Mishaps& mishaps = settings_.mishaps;
  const bool is_worker = process->name.role == Role::kWorker;
  const auto crash = [this, process] {
    if (!process->runs || process->is_released || ending_) return;
    ++counts_.crashes;
    die(process, "was killed by signal 11", 0.3 * random_.uniform());
  };
  if (random_.uniform() < mishaps.early_crash_share) loop_.after(random_.uniform(), crash);
  const double to_crash =
      is_worker ? mishaps.mean_seconds_to_crash : mishaps.mean_seconds_to_shard_crash;
  if (to_crash > 0.0) loop_.after(when(to_crash), crash);
  if (is_worker && mishaps.mean_seconds_to_hang > 0.0)
    loop_.after(when(mishaps.mean_seconds_to_hang), [this, process] {
      if (process->runs && !ending_) hang(*process);
    });
}

void SimulatedCluster::hang(Process& process) {
  ++counts_.hangs;
  if (random_.uniform() < 0.5)
    process.silent_since = loop_.now();
  else
    process.is_busy = true;
}

bool SimulatedCluster::answers(const Process& process) const {
  return process.runs && !process.silent_since && !process.is_busy;
}

void SimulatedCluster::check_signs_of_life() {
  for (const auto& [name, process] : std::map(processes_))
    if (process->runs && process->silent_since && process->has_joined && !process->is_released &&
        loop_.now() - *process->silent_since > settings_.config.limits.heartbeat_seconds)
      kill(name, "gave no sign of life");
}

void SimulatedCluster::lose_machine(const std::string& address) {
  for (const auto& [name, process] : std::map(processes_))
    if (process->address == address && process->runs)
      die(process, "was killed by signal 9", 4.0 * random_.uniform());
}

void SimulatedCluster::die(const ProcessPointer& process, const std::string& why,
                           double news_seconds) {
  if (!process->runs) return;
  process->runs = false;
  if (process->why.empty()) process->why = why;
  const auto& slots = group_.slots;
  const bool takes_part = process->name.role == Role::kShard ||
                          std::ranges::find(slots, process->name.index) != slots.end();
  if (takes_part && group_.computes) {
    ++try_number_;  // the others wait for its gradient
    ++counts_.interrupted;
    group_.computes = false;
  }
  loop_.after(news_seconds, [this, process] { announce(process); });
  if (takes_part && !ending_) note_stuck_workers();
}

// Some of them say that they have lost a connection, before anybody is known to be gone.
void SimulatedCluster::note_stuck_workers() {
  for (const std::uint32_t index : group_.slots) {
    const auto found = processes_.find({Role::kWorker, index});
    if (found == processes_.end() || random_.uniform() < 0.7) continue;
    const ProcessPointer& worker = found->second;
    after_task(worker, 0.1 * random_.uniform(),
               [this, worker] { say(worker, Stuck{"lost a connection"}, 0.0); });
  }
}

void SimulatedCluster::announce(const ProcessPointer& process) {
  if (process->is_gone) return;
  process->is_gone = true;
  if (ending_) return end_if_all_have();
  if (process->is_released) return leave(process);
  listener_.on_lost(
      {process->name, process->pid, process->why, {}, false, process->has_joined, false});
}

void SimulatedCluster::kill(const ProcessName& process, const std::string& why) {
  const ProcessPointer killed = processes_.at(process);
  if (killed->is_gone) return;
  killed->why = why;
  if (killed->runs) return die(killed, why, 0.01);
  loop_.post([this, killed] { announce(killed); });
}

void SimulatedCluster::release(const ProcessName& process) {
  const ProcessPointer released = processes_.at(process);
  released->is_released = true;
  if (released->is_gone) return leave(released);
  // One that starts may join while it is told to go.
  const double soonest_seconds = released->has_joined ? 0.3 : 0.0;
  loop_.after(soonest_seconds + 0.2 * random_.uniform(), [this, released] {
    released->runs = false;
    announce(released);
  });
}

// Later, since it may be a handler of the process that calls.
void SimulatedCluster::leave(const ProcessPointer& process) {
  loop_.post([this, process] {
    const auto found = processes_.find(process->name);
    if (found == processes_.end() || found->second != process) return;
    processes_.erase(found);
    if (!ending_) listener_.on_left(process->name);
  });
}

// ---- Ending. ----

bool SimulatedCluster::is_any_running() const {
  return std::ranges::any_of(processes_, [](const auto& entry) { return entry.second->runs; });
}

void SimulatedCluster::end_if_all_have() {
  if (is_any_running() || std::exchange(ended_, true)) return;
  loop_.post([this] { listener_.on_all_ended(); });
}

void SimulatedCluster::end_all() {
  ending_ = true;
  ++try_number_;
  for (const auto& [name, process] : std::map(processes_)) {
    if (!process->runs) continue;
    const double seconds =
        answers(*process) ? random_.uniform() : settings_.config.limits.stop_seconds;
    die(process, "was asked to end", seconds);
  }
  end_if_all_have();
}

void SimulatedCluster::kill_all() {
  ending_ = true;
  ++try_number_;
  for (const auto& [name, process] : std::map(processes_)) die(process, "was killed", 0.01);
  end_if_all_have();
}

// ---- Talking. ----

// In the order in which they were said.
void SimulatedCluster::say(const ProcessPointer& process, ControlMessage message, double seconds) {
  process->speaks_at = std::max(process->speaks_at, loop_.now() + seconds);
  ++counts_.messages;
  if (settings_.encodes) message = decode_control_message(encode(message));
  loop_.after(process->speaks_at - loop_.now(), [this, process, message = std::move(message)] {
    if (!answers(*process) || process->is_gone || ending_) return;
    listener_.on_message(process->name, message);
  });
}

void SimulatedCluster::after_task(const ProcessPointer& process, double seconds,
                                  std::function<void()> what) {
  loop_.after(seconds, [this, process, task = process->task, what = std::move(what)] {
    if (answers(*process) && process->task == task && !ending_) what();
  });
}

void SimulatedCluster::send(const ProcessName& name, const ControlMessage& message) {
  const ProcessPointer process = processes_.at(name);
  require(process->has_joined, "a message to " + name.text() + ", which has not joined");
  ++counts_.messages;
  if (!answers(*process)) return;
  if (!settings_.encodes)
    return std::visit([&](const auto& one) { receive(process, one); }, message);
  const ControlMessage decoded = decode_control_message(encode(message));
  std::visit([&](const auto& one) { receive(process, one); }, decoded);
}

void SimulatedCluster::send_state(const ProcessName& name, StatePart part) {
  const ProcessPointer shard = processes_.at(name);
  if (!answers(*shard)) return;
  const auto& weights = part.checkpoint->weights;
  shard->state = {true, static_cast<std::uint64_t>(weights.at(0)),
                  static_cast<std::uint64_t>(weights.at(1))};
  require(shard->state.iteration == part.checkpoint->iteration &&
              shard->state.samples == part.checkpoint->position,
          "a checkpoint's weights are of other samples than it says");
}

// The state of all shards is one: each sample is in it once.
void SimulatedCluster::receive(const ProcessPointer& process, const ConfigureShard& message) {
  const Membership& membership = message.membership;
  ++process->task;
  if (!message.goes_on && !message.has_state) process->state = {true, 0, 0};
  after_task(process, 0.02, [this, process, membership] {
    require(process->state.is_there, process->name.text() + " was to go on, and has no state");
    require(process->state.iteration == membership.first_iteration &&
                process->state.samples == membership.first_position,
            fmt::format("membership {} begins at iteration {}, sample {}, and the state has "
                        "iteration {}, sample {}",
                        membership.epoch, membership.first_iteration, membership.first_position,
                        process->state.iteration, process->state.samples));
    say(process, Ready{membership.epoch}, 0.0);
  });
}

void SimulatedCluster::receive(const ProcessPointer& process, const ConfigureWorker& message) {
  ++process->task;
  const SyncGroup& sync = message.group;
  if (group_.membership.epoch != sync.membership.epoch) {
    group_ = {sync.membership, sync.slots, sync.membership.first_iteration,
              sync.membership.first_iteration, false};
    ++try_number_;
    std::uint64_t sum = 0;
    for (const std::uint32_t share : sync.membership.shares) sum += share;
    require(sum == sync.membership.batch_size, "the shares are not the batch");
    require(std::ranges::is_sorted(sync.slots) &&
                std::ranges::adjacent_find(sync.slots) == sync.slots.end(),
            "a worker takes part twice");
  }
  require(sync.membership == group_.membership && sync.slots == group_.slots &&
              sync.slots.at(sync.rank) == process->name.index,
          "workers were told different memberships");
  require(message.buffers.size() == (message.has_buffers ? settings_.model.buffers : 0),
          "buffers of another model");
  process->stats = {};
  process->stats.first = sync.membership.first_iteration;
  after_task(process, 0.03 + 0.04 * random_.uniform(), [this, process] {
    process->has_weights = true;
    say(process, Ready{group_.membership.epoch}, 0.0);
  });
}

void SimulatedCluster::receive(const ProcessPointer& process, const Halt&) {
  ++process->task;
  if (std::exchange(group_.computes, false)) {
    ++try_number_;
    ++counts_.interrupted;
  }
  if (process->name.role == Role::kShard)
    return say(process, Halted{process->state.iteration, process->state.is_there, {}}, 0.01);
  report(process);
  say(process,
      Halted{group_.done, process->has_weights,
             std::vector<float>(process->has_weights ? settings_.model.buffers : 0)},
      0.01);
}

void SimulatedCluster::receive(const ProcessPointer& process, const SendBuffers&) {
  say(process, Buffers{std::vector<float>(settings_.model.buffers)}, 0.01);
}

double SimulatedCluster::accuracy() const {
  const double progress = progress_.at(group_.done);
  return progress >= 1.0 ? 0.95 : 0.5 * progress;
}

void SimulatedCluster::receive(const ProcessPointer& process, const Evaluate& message) {
  require(!group_.computes, "an evaluation while an iteration is running");
  EvaluationSums sums;
  sums.samples = sums.predictions = message.last - message.first;
  sums.correct =
      static_cast<std::uint64_t>(std::llround(accuracy() * static_cast<double>(sums.samples)));
  sums.loss = sums.negative_log_likelihood = 0.5 * static_cast<double>(sums.samples);
  after_task(process, 0.3 + 0.2 * random_.uniform(),
             [this, process, sums] { say(process, Evaluated{sums}, 0.0); });
}

void SimulatedCluster::receive(const ProcessPointer& process, const Snapshot& message) {
  require(!group_.computes, "a checkpoint while an iteration is running");
  require(message.iteration == process->state.iteration, "a checkpoint of another iteration");
  const State state = process->state;
  say(process, SnapshotTaken{message.iteration, message.iteration}, 0.02);
  loop_.after(0.05 + 0.05 * random_.uniform(), [this, process, state] {
    if (answers(*process) && !ending_) send_pieces(process, state);
  });
}

void SimulatedCluster::send_pieces(const ProcessPointer& shard, const State& state) {
  const ps::ChunkLayout layout(parameters_.flat_size(), settings_.config.ps.chunk_bytes,
                               settings_.shards);
  const std::size_t vectors = 1 + ps::Optimizer(settings_.config.optimizer).state_names().size();
  for (std::uint32_t vector = 0; vector < vectors; ++vector)
    for (const std::uint32_t chunk : layout.chunks_of(shard->name.index)) {
      std::vector<float> values(layout.range(chunk).size);
      if (vector == 0 && chunk == 0) {
        values.at(0) = static_cast<float>(state.iteration);
        values.at(1) = static_cast<float>(state.samples);
      }
      const FrameHeader header{
          .type = FrameType::kState,
          .chunk = chunk,
          .iteration = state.iteration,
          .rank = vector,
          .payload_bytes = static_cast<std::uint32_t>(values.size() * sizeof(float))};
      const auto place = listener_.state_destination(shard->name, header);
      std::memcpy(place.data(), values.data(), place.size());
      listener_.on_state(shard->name, header);
    }
}

// ---- Training. ----

void SimulatedCluster::receive(const ProcessPointer&, const Train& message) {
  group_.granted = std::max(group_.granted, message.until_iteration);
  if (!group_.computes) begin_iteration();
}

void SimulatedCluster::begin_iteration() {
  if (group_.done >= group_.granted) return;
  group_.computes = true;
  const Truth& truth = settings_.model.truth;
  const double seconds =
      truth.iteration_seconds(group_.membership.workers(), group_.membership.batch_size) *
      std::exp(truth.scatter * random_.normal());
  loop_.after(seconds, [this, mine = try_number_, seconds] {
    if (mine != try_number_ || ending_) return;  // somebody was lost, or all were halted
    const auto is_there = [this](std::uint32_t index) {
      return answers(*processes_.at({Role::kWorker, index}));
    };
    if (!std::ranges::all_of(group_.slots, is_there)) return;  // all wait for one that hangs
    for (std::uint32_t rank = 0; rank < group_.slots.size(); ++rank)
      append_stats(*processes_.at({Role::kWorker, group_.slots[rank]}), rank, seconds);
    end_iteration();
  });
}

void SimulatedCluster::end_iteration() {
  group_.computes = false;
  ++group_.done;
  ++counts_.iterations;
  const double batch_size = group_.membership.batch_size;
  const double needed = settings_.model.epochs *
                        (1.0 + batch_size / settings_.model.truth.noise_scale) *
                        static_cast<double>(settings_.model.samples) / batch_size;
  progress_.resize(group_.done);
  progress_.push_back(progress_.back() + 1.0 / needed);
  for (std::uint32_t shard = 0; shard < settings_.shards; ++shard) {
    State& state = processes_.at({Role::kShard, shard})->state;
    ++state.iteration;
    state.samples += group_.membership.batch_size;
  }
  const std::uint64_t mine = try_number_;
  for (const std::uint32_t index : group_.slots) {
    const ProcessPointer worker = processes_.at({Role::kWorker, index});
    if (group_.done >= group_.granted || loop_.now() - worker->reported_seconds >= kReportSeconds)
      report(worker);
  }
  if (mine == try_number_) begin_iteration();
}

void SimulatedCluster::append_stats(Process& worker, std::uint32_t rank, double seconds) {
  const Truth& truth = settings_.model.truth;
  const auto norm = [&](double samples) {
    return (1.0 + truth.noise_scale / samples) * std::exp(0.05 * random_.normal());
  };
  IterationStats& stats = worker.stats;
  const Membership& membership = group_.membership;
  if (stats.loss_sum.empty()) stats.learning_rate = 0.1;
  stats.loss_sum.push_back(membership.shares[rank]);
  stats.seconds.push_back(seconds);
  for (auto* series : {&stats.data_wait_seconds, &stats.forward_seconds, &stats.backward_seconds,
                       &stats.sync_wait_seconds})
    series->push_back(0.25 * seconds);
  stats.local_sqr_norm.push_back(norm(membership.shares[rank]));
  stats.global_sqr_norm.push_back(norm(membership.batch_size));
  if (membership.workers() > 1 || group_.done % truth.half_batches_every != 0) return;
  const std::uint32_t half = membership.batch_size / 2;
  stats.half_batches.push_back({group_.done,
                                half,
                                membership.batch_size - half,
                                0.001,
                                {norm(half)},
                                {norm(membership.batch_size - half)},
                                {norm(membership.batch_size)}});
}

void SimulatedCluster::report(const ProcessPointer& worker) {
  if (worker->stats.loss_sum.empty()) return;
  IterationStats next;
  next.first = worker->stats.first + worker->stats.loss_sum.size();
  worker->reported_seconds = loop_.now();
  say(worker, std::exchange(worker->stats, std::move(next)), 0.001);
}

}  // namespace scavenger::elastic
