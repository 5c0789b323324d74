#include "elastic/coordinator/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <utility>

#include "elastic/coordinator/end_signals.h"
#include "elastic/coordinator/host.h"
#include "elastic/model_service/open_store.h"
#include "elastic/plan/run_record.h"
#include "elastic/plan/stored_fit.h"
#include "ps/shm/segment.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

// Of limits.iteration_seconds: then the controller is told who is behind.
constexpr double kStillShare = 0.4;
constexpr auto kTickPeriod = std::chrono::milliseconds(200);
constexpr double kPausePeriodSeconds = 5.0;
constexpr double kStorePeriodSeconds = 10.0;
constexpr double kStorePatienceSeconds = 15.0;  // at the end of the job

// A worker's price is that of its machine.
JobStart with_price(JobStart start, const Provider& provider) {
  if (!start.config.provider.is_remote()) return start;
  if (const auto price = provider.price({}, start.config.provider.spot))
    start.config.cluster.price_per_worker_hour = price->per_hour;
  return start;
}

}  // namespace

Coordinator::Coordinator(JobStart start, DataSize data, CoordinatorOptions options)
    : options_(std::move(options)),
      provider_(options_.make_provider(io_, start)),
      start_(with_price(std::move(start), *provider_)),
      data_(std::move(data)),
      shard_count_(shard_count(start_.config)),
      config_json_(json_text(to_json(start_.config))),
      record_(start_.folder, clock_, options_.display),
      begin_seconds_(clock_.now_seconds()),
      controller_(make_plan(start_, data_, shard_count_, record_.time_before()), begin_seconds_),
      iterations_(controller_.membership()),
      fleet_(*provider_, record_, *this, start_.config.provider.spot,
             start_.config.provider.is_remote()),
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
  for (const std::uint32_t index : controller_.ranks()) names.push_back({Role::kWorker, index});
  return names;
}

std::vector<ProcessName> Coordinator::shards() const {
  std::vector<ProcessName> names;
  for (std::uint32_t i = 0; i < shard_count_; ++i) names.push_back({Role::kShard, i});
  return names;
}

std::optional<std::uint32_t> Coordinator::rank_of(const ProcessName& worker) const {
  const auto found = std::ranges::find(controller_.ranks(), worker.index);
  if (worker.role != Role::kWorker || found == controller_.ranks().end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - controller_.ranks().begin());
}

ps::ChunkLayout Coordinator::layout() const {
  return {parameters_.flat_size(), start_.config.ps.chunk_bytes, std::max(1U, shard_count_)};
}

// ---- The life of the job. ----

int Coordinator::run() {
  begin_record();
  if (start_.config.model_store.is_set())
    store_ = std::make_unique<StoreFeeder>(
        [config = start_.config.model_store] { return open_model_store(config); });
  asio::signal_set signals(io_);
  add_end_signals(signals);
  watch_signals(signals);
  begin_search();
  meter_cost();
  if (!controller_.ending()) open_fleet();
  run_until_end();
  SCAVENGER_CHECK(end_.has_value());
  close_store();
  const bool has_report = record_.write_report();
  if (end_->bad_input) throw InputError({.what = end_->reason, .where = {}, .remedy = {}});
  record_.show_end(has_report);
  return exit_code_of(*end_);
}

// What a handler throws, or a coroutine that nobody waits for, makes the job impossible: it is
// ended in order, so that machines are returned and the log tells why. What goes wrong while it
// ends is thrown on.
void Coordinator::run_until_end() {
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception& error) {
      if (end_ || std::exchange(has_thrown_, true)) throw;
      const bool is_bad_input = dynamic_cast<const InputError*>(&error) != nullptr;
      feed_later(JobImpossible{error.what(), is_bad_input});
    }
  }
}

void Coordinator::begin_record() {
  decisions_.emplace(start_.folder.path);
  decisions_->begin(config_json_, make_plan(start_, data_, shard_count_, record_.time_before()),
                    begin_seconds_);
  if (start_.config.batching.dynamic)
    batching_.emplace(batching_settings(start_.config, provider_->catalogue()));
  record_.recall([this](const RunEvent& event) {
    if (batching_) batching_->observe(event);
  });
  if (batching_) feed(SharesWanted{batching_->rule(), {}});
  write_config(start_.folder, start_.config);
  fact::Start event = make_start_event(start_, data_, config_json_, record_.time_before());
  event.host = describe_host(options_.host_cores);
  record_.log(std::move(event));
  if (record_.bytes_cut() > 0)
    record_.log(fact::Warning{fmt::format("a torn last line of {} bytes was cut off the event log",
                                          record_.bytes_cut())});
  for (const DamagedCheckpoint& damaged : start_.damaged)
    record_.log(fact::CheckpointDamaged{damaged.folder, damaged.reason});
  if (start_.is_resume && !start_.checkpoint)
    record_.log(fact::Warning{"there is no checkpoint yet: the job starts from its beginning"});
  if (!data_.vocabulary.empty())
    write_vocabularies(start_.folder, data_.vocabulary, data_.target_vocabulary);
  settle_rate();
  if (start_.checkpoint) last_checkpoint_ = start_.checkpoint->folder;
  if (start_.checkpoint) take_checkpoint(std::move(*start_.checkpoint));
  start_.checkpoint.reset();
}

void Coordinator::open_cluster() {
  Cluster::Settings settings;
  settings.program_folder = options_.program_folder;
  settings.log_folder = start_.folder.logs();
  settings.config = start_.config;
  settings.address = provider_->controller_address();
  if (settings.address.empty()) settings.address = start_.config.cluster.listen_address;
  settings.limits = start_.config.limits;
  settings.state_payload_limit_bytes = static_cast<std::uint32_t>(start_.config.ps.chunk_bytes);
  if (uses_shared_memory(start_.config)) shared_file_ = make_shared_file();
  settings.shared_file = shared_file_.get();
  ClusterListener& listener = *this;
  cluster_ = std::make_unique<Cluster>(io_, clock_, listener, JobCredentials::generate(), settings);
  control_ = std::make_unique<ControlSocket>(
      io_, start_.folder.path, [this](const JobCommand& command) { return obey(command); });
  for (const ProcessName& shard : shards()) start_process(shard);
  for (std::uint32_t i = 0; i < controller_.membership().workers(); ++i)
    start_process({Role::kWorker, i});
}

void Coordinator::watch_signals(asio::signal_set& signals) {
  signals.async_wait([this, &signals](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (is_pressing(signal)) ++interrupts_;
    if (interrupts_ <= 1) {
      interrupt("the user");
    } else {
      end_ = EndJob{Status::kInterrupted, "ended at once by the user"};
      if (interrupts_ > 2 || !cluster_) return carry_out(EndJob(*end_));
      cluster_->kill_all();
    }
    watch_signals(signals);
  });
}

void Coordinator::interrupt(const std::string& by) {
  feed(Interrupted{by});
  const auto& ending = controller_.ending();
  const bool is_news =
      ending && ending->status == Status::kInterrupted && controller_.state_name() != "ending";
  if (!is_news || std::exchange(interrupt_told_, true)) return;
  record_.tell(
      "interrupted: finishing the iteration and writing a checkpoint (again: end at once)");
}

// While nothing happens the log would stand still, and with it what the job has cost.
void Coordinator::log_pause() {
  const bool paused = controller_.is_paused();
  const bool is_told = record_.numbers().paused_since.has_value();
  const double silence_seconds = record_.now() - record_.numbers().seconds;
  if (paused == is_told && !(paused && silence_seconds >= kPausePeriodSeconds)) return;
  record_.log(fact::Pause{paused, controller_.iterations_done()});
  if (paused != is_told) record_.write_report();
}

void Coordinator::tick() {
  cluster_->check_signs_of_life();
  log_iterations(JobRecord::Until::kLater);
  log_pause();
  meter_cost();
  const bool stands_still = clock_.now_seconds() - fed_progress_seconds_ >
                            kStillShare * start_.config.limits.iteration_seconds;
  feed_progress(stands_still ? Progress::kAll : Progress::kWhereDue);
  feed(TimePassed{});
  if (clock_.now_seconds() - last_fed_seconds_ > kStorePeriodSeconds) feed_store();
  tell_store_problem();
  tell_decision_problem();
  tell_removed_log();
  record_.show_tick();
  tick_timer_.expires_after(kTickPeriod);
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Coordinator::feed_store() {
  last_fed_seconds_ = clock_.now_seconds();
  if (!store_ || !record_.numbers().model) return;
  const fact::Host& host = record_.numbers().start.host;
  perfmodel::ModelRecord record =
      record_of(start_.config, record_.numbers(), machine_type(start_.config, host));
  if (!record.times.empty()) store_->offer(std::move(record));
}

// The event log has ended.
void Coordinator::close_store() {
  if (!store_) return;
  feed_store();
  store_->finish(kStorePatienceSeconds);
  if (const auto problem = store_->take_problem())
    return log_warning("measurements could not be stored: {}", *problem);
  try {
    refresh_fit(*open_model_store(start_.config.model_store),
                signature_of(start_.config, record_.numbers()).id());
  } catch (const Error& error) {
    log_warning("the stored model was not fitted: {}", error.what());
  }
}

void Coordinator::tell_store_problem() {
  if (!store_) return;
  if (const auto problem = store_->take_problem())
    record_.log(fact::Warning{"measurements could not be stored: " + *problem});
}

void Coordinator::tell_decision_problem() {
  if (decisions_->problem().empty() || std::exchange(decision_problem_told_, true)) return;
  record_.log(fact::Warning{"decisions are not recorded any more: " + decisions_->problem()});
}

// The log goes on in a file that nobody finds: who looks on is told, and the exit code tells.
void Coordinator::tell_removed_log() {
  if (!record_.log_is_removed() || std::exchange(removed_log_told_, true)) return;
  log_error(
      "{}: the event log was removed while the job trains: it cannot be resumed or reported, "
      "and will end with exit code 1",
      start_.folder.events().string());
}

void Coordinator::feed(const ControllerEvent& event) {
  // How many iterations are lost with a state depends on who has done how many.
  if (std::holds_alternative<ProcessLost>(event) || std::holds_alternative<CheckpointFound>(event))
    feed_progress(Progress::kAll);
  feed_at(event, clock_.now_seconds());
}

bool Coordinator::feed_at(const ControllerEvent& event, double now_seconds) {
  const std::vector<ControllerAction> actions = controller_.step(event, now_seconds);
  decisions_->add(event, now_seconds, actions);
  for (const ControllerAction& action : actions)
    std::visit([this](const auto& what) { carry_out(what); }, action);
  return !actions.empty();
}

// For what is found while actions are being carried out.
void Coordinator::feed_later(const ControllerEvent& event) {
  asio::post(io_, [this, event] { feed(event); });
}

void Coordinator::on_all_ended() {
  fleet_.end([this] {
    feed(AllProcessesEnded{});
    // Where the user did not wait for the controller.
    if (end_ && !io_.stopped()) carry_out(EndJob(*end_));
  });
}

void Coordinator::carry_out(const EndProcesses&) {
  log_iterations(JobRecord::Until::kEndOfMembership);
  const auto& ending = controller_.ending();
  if (!cluster_) return feed_later(AllProcessesEnded{});
  if (ending && ending->status == Status::kFailed)
    cluster_->kill_all();  // the others may wait for who is gone, and there is nothing to lose
  else
    cluster_->end_all();
}

void Coordinator::carry_out(const EndJob& action) {
  end_ = action;
  if (record_.log_is_removed() && end_->status != Status::kFailed)
    end_ = EndJob{Status::kFailed, end_->reason + ", but its event log was removed while it ran"};
  if (end_->status == Status::kFailed && !end_->bad_input) end_->reason += where_it_can_go_on();
  const std::uint64_t done = controller_.iterations_done();
  record_.log(fact::End{end_->status, end_->reason, done,
                        controller_.membership().position_at(done), exit_code_of(*end_)});
  record_.sync();
  io_.stop();
}

// Of a job that has failed.
std::string Coordinator::where_it_can_go_on() const {
  std::string text;
  if (!checkpoint_problem_.empty())
    text = fmt::format(" ({}; make room, then go on by --resume)", checkpoint_problem_);
  return text + (last_checkpoint_.empty()
                     ? "; there is no checkpoint yet"
                     : "; the last good checkpoint is " + last_checkpoint_.string());
}

void Coordinator::carry_out(const Announce& action) {
  record_.log(fact::Warning{action.text});
}

// ---- Losing. ----

void Coordinator::on_lost(const LostProcess& lost) {
  if (buffers_lender_ == lost.process) buffers_lender_.reset();
  const bool is_worker = lost.process.role == Role::kWorker;
  const auto machine_loss = is_worker ? machines_lost_.extract(lost.process.index)
                                      : decltype(machines_lost_)::node_type();
  // One that ended by itself before its worker came may have ended because the worker did.
  const bool with_machine = machine_loss && (machine_loss.mapped().was_taken || lost.has_joined);
  // Where a worker does not even begin, it may be its machine that is of no use.
  const bool is_rented = is_worker && start_.config.provider.is_remote();
  const bool by_itself =
      lost.by_itself && !with_machine && (lost.has_joined || lost.bad_input || !is_rented);
  // Who ends in order, for what it was given, is not lost: the job's end tells why.
  if (!by_itself || !lost.bad_input)
    record_.log(fact::ProcessLost{
        lost.process.role, lost.process.index, lost.pid, lost.how,
        machine_loss && lost.log_tail.empty() ? machine_loss.mapped().last_words : lost.log_tail});
  if (is_rented && !lost.has_joined) fleet_.release(lost.process.index);
  feed_shortage(ProcessLost{lost.process, lost.how, by_itself, with_machine, lost.bad_input},
                fmt::format("{} {}", lost.process.text(), lost.how));
  checkpoints_.lose(lost.process);
  // What starts its worker by itself does so once; and who is not replaced needs no machine.
  const Machine* const machine = is_worker ? fleet_.machine_of(lost.process.index) : nullptr;
  if (machine != nullptr && (machine->starts_worker || !controller_.expects(lost.process)))
    fleet_.release(lost.process.index);
}

void Coordinator::carry_out(const StartProcess& action) {
  try {
    start_process(action.process);
  } catch (const SystemError& error) {
    feed_later(JobImpossible{error.what()});
  }
}

void Coordinator::carry_out(const ReleaseProcess& action) {
  cluster_->release(action.process);
}

void Coordinator::on_left(const ProcessName& process) {
  fleet_.release(process.index);
  feed(ProcessLeft{process});
}

void Coordinator::carry_out(const KillProcess& action) {
  cluster_->kill(action.process, action.why);
}

void Coordinator::carry_out(const HaltProcesses& action) {
  evaluation_.reset();
  for (const ProcessName& process : action.processes) cluster_->send(process, Halt{});
}

void Coordinator::carry_out(const TellRecovery& action) {
  std::vector<std::string> lost;
  for (const ProcessName& process : action.lost) lost.push_back(process.text());
  log_and_decide(fact::Recovery{controller_.membership().epoch, lost, action.iteration,
                                action.iterations_lost, action.seconds});
}

}  // namespace scavenger::elastic
