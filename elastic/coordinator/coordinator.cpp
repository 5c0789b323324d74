#include "elastic/coordinator/coordinator.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "elastic/coordinator/job/host.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/overloaded.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

// Of limits.iteration_seconds: then the controller is told which workers are behind.
constexpr double kStillShare = 0.4;
constexpr double kTickSeconds = 0.2;
constexpr double kPausePeriodSeconds = 5.0;

// A worker's price is that of its machine.
JobStart with_price(JobStart start, const Provider& provider) {
  if (!start.config.provider.is_remote()) return start;
  if (const auto price = provider.price({}, start.config.provider.spot))
    start.config.cluster.price_per_worker_hour = price->per_hour;
  return start;
}

std::vector<ProcessName> first_processes(const JobConfig& config, const Controller& controller) {
  std::vector<ProcessName> processes;
  for (std::uint32_t i = 0; i < shard_count(config); ++i) processes.push_back({Role::kShard, i});
  for (std::uint32_t i = 0; i < controller.membership().workers(); ++i)
    processes.push_back({Role::kWorker, i});
  return processes;
}

}  // namespace

Coordinator::Coordinator(JobStart start, DataSize data, JobWorld world)
    : world_(std::move(world)),
      start_(with_price(std::move(start), world_.provider)),
      data_(std::move(data)),
      config_json_(json_text(to_json(start_.config))),
      record_(start_.folder, world_.loop.clock(), world_.display),
      recorded_(world_.loop,
                make_plan(start_, data_, shard_count(start_.config), record_.time_before()),
                [this](const ControllerAction& action) { carry_out(action); }) {}

Coordinator::~Coordinator() = default;

// ---- The life of the job. ----

void Coordinator::begin() {
  recorded_.begin(start_.folder, config_json_);
  advisors_ = make_advisors(start_, world_.provider.catalogue());
  record_.recall([this](const RunEvent& event) {
    for (const auto& advisor : advisors_.all) advisor->recall(event);
  });
  write_config(start_.folder, start_.config);
  fact::Start event = make_start_event(start_, data_, config_json_, record_.time_before());
  event.host = describe_host(world_.host_cores);
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
  if (!advisors_.problem.empty()) record_.log(fact::Warning{advisors_.problem});
  for (const auto& advisor : advisors_.all) take(advisor->begin(view()));
  if (start_.config.model_store.is_set()) store_.emplace(start_.config, world_.loop.clock());
}

int Coordinator::run() {
  const auto log_event = [this](RunEvent event) { log(std::move(event)); };
  const auto open_cluster = [this](ClusterListener& listener) {
    return world_.open_cluster(start_, config_json_, listener);
  };
  StaffingListener& listener = *this;
  staffing_ = std::make_unique<Staffing>(
      world_.provider, recorded_, log_event, listener,
      Staffing::Settings{start_.config, world_.host_cores, open_cluster});
  staffing_->prefer(machine_type_, other_types_);
  if (spot_) staffing_->ask_for_spot(*spot_);
  work_ = std::make_unique<JobWork>(
      WorkSurroundings{world_.loop, world_.disk, recorded_, record_, *staffing_}, start_, data_,
      config_json_, log_event);
  if (start_.checkpoint) work_->start_from(*std::exchange(start_.checkpoint, std::nullopt));
  meter_cost();
  if (!controller().ending()) open();
  run_until_end();
  SCAVENGER_CHECK(end_.has_value());
  if (store_) store_->close(record_.numbers());
  const bool has_report = record_.write_report();
  if (end_->bad_input) throw InputError({.what = end_->reason, .where = {}, .remedy = {}});
  record_.show_end(has_report);
  return exit_code_of(*end_);
}

// What a handler throws, or a coroutine that is not waited for, makes the job impossible: it is
// ended in order, so that machines are returned and the log tells why. What goes wrong while it
// ends is thrown on.
void Coordinator::run_until_end() {
  for (;;) {
    try {
      world_.loop.run();
      return;
    } catch (const std::exception& error) {
      if (end_ || std::exchange(has_thrown_, true)) throw;
      const bool is_bad_input = dynamic_cast<const InputError*>(&error) != nullptr;
      recorded_.feed_later(JobImpossible{error.what(), is_bad_input});
    }
  }
}

void Coordinator::open() {
  staffing_->begin([this](const std::optional<Refusal>& problem) {
    if (problem)
      return recorded_.feed(
          JobImpossible{text_of(*problem), problem->kind == RefusalKind::kInvalid});
    if (controller().ending()) return;  // the user did not wait
    if (world_.hear_commands)
      commands_ = world_.hear_commands([this](const JobCommand& command) { return obey(command); });
    staffing_->open(*work_, first_processes(start_.config, controller()));
    tick();
  });
}

void Coordinator::tick() {
  staffing_->cluster().check_signs_of_life();
  work_->log_iterations(JobRecord::Until::kLater);
  log_pause();
  meter_cost();
  const bool stands_still =
      work_->seconds_since_progress() > kStillShare * start_.config.limits.iteration_seconds;
  work_->feed_progress(stands_still ? ProgressFeed::Detail::kAll : ProgressFeed::Detail::kIfDue);
  recorded_.feed(TimePassed{});
  tell_problems();
  record_.show_tick();
  world_.loop.after(kTickSeconds, [this] { tick(); });
}

void Coordinator::interrupt(bool presses) {
  if (presses) ++interrupts_;
  if (interrupts_ <= 1) return stop_at_boundary("the user");
  end_ = EndJob{Status::kInterrupted, "ended at once by the user"};
  if (interrupts_ > 2 || !staffing_->is_open()) return end_job(EndJob(*end_));
  staffing_->end(Staffing::Farewell::kAtOnce);
}

void Coordinator::stop_at_boundary(const std::string& by) {
  recorded_.feed(Interrupted{by});
  const auto& ending = controller().ending();
  const bool is_news =
      ending && ending->status == Status::kInterrupted && controller().state_name() != "ending";
  if (!is_news || std::exchange(interrupt_told_, true)) return;
  record_.tell(
      "interrupted: finishing the iteration and writing a checkpoint (again: end at once)");
}

// ---- The record, and who advises by it. ----

// The advisors see what was logged, in its order, so that a replay of the log decides the same.
void Coordinator::log(RunEvent event) {
  const LoggedEvent logged = record_.log(std::move(event));
  for (const auto& advisor : advisors_.all) take(advisor->observe(logged.event, view()));
}

void Coordinator::take(Advice advice) {
  for (RunEvent& event : advice.events) record_.log(std::move(event));
  if (advice.spot) {
    spot_ = advice.spot;
    if (staffing_) staffing_->ask_for_spot(*spot_);
  }
  if (advice.machine_type) {
    machine_type_ = *advice.machine_type;
    other_types_ = advice.other_types;
    if (staffing_) staffing_->prefer(machine_type_, other_types_);
  }
  if (advice.next_machine_type && staffing_)
    staffing_->prefer(*advice.next_machine_type, {}, /*once=*/true);
  if (advice.shape) reshape(*advice.shape);
  for (const ControllerEvent& wish : advice.wishes) recorded_.feed_later(wish);
}

// A resumed job goes on as it was last told.
void Coordinator::reshape(const Advice::Shape& shape) {
  JobConfig config = start_.config;
  config.cluster.workers = shape.workers;
  config.batch_size = shape.batch_size;
  write_config(start_.folder, config);
  RateFactor rate{controller().wanted_rate_factor(), {}};
  if (shape.batch_size != controller().wanted_batch_size())
    rate = advisors_.rate->factor_for(shape.batch_size, record_.numbers());
  for (RunEvent& event : rate.events) record_.log(std::move(event));
  if (!shape.dismissed.empty()) recorded_.feed_later(WorkersDismissed{shape.dismissed});
  recorded_.feed_later(ReshapeWanted{.workers = shape.workers,
                                     .batch_size = shape.batch_size,
                                     .reason = shape.reason,
                                     .rate_factor = rate.factor,
                                     .is_look = shape.is_look});
}

// While nothing happens the log would stand still, and with it what the job has cost.
void Coordinator::log_pause() {
  const bool paused = controller().is_paused();
  const bool is_told = record_.numbers().paused_since.has_value();
  const double silence_seconds = record_.now() - record_.numbers().seconds;
  if (paused == is_told && !(paused && silence_seconds >= kPausePeriodSeconds)) return;
  record_.log(fact::Pause{paused, controller().iterations_done()});
  if (paused != is_told) record_.write_report();
}

// What the job has cost until now, and goes on to cost.
void Coordinator::meter_cost() {
  const RunNumbers& numbers = record_.numbers();
  const ClusterConfig& cluster = start_.config.cluster;
  CostMetered metered{numbers.cost_at(record_.now()),
                      controller().membership().workers() * cluster.price_per_worker_hour};
  if (start_.config.provider.is_remote()) {
    metered.dollars = numbers.bill.cost(record_.now());
    metered.dollars_per_hour = numbers.bill.cost_per_hour();
    metered.dollars_to_return = staffing_->dollars_to_return();
  }
  recorded_.feed(metered);
}

void Coordinator::tell_problems() {
  if (store_)
    if (const auto problem = store_->tick(record_.numbers()))
      record_.log(fact::Warning{"measurements could not be stored: " + *problem});
  if (const auto problem = recorded_.take_problem())
    record_.log(fact::Warning{"decisions are not recorded any more: " + *problem});
  // The log goes on in a file that cannot be found: viewers are told, and the exit code tells.
  if (!record_.log_is_removed() || std::exchange(removed_log_told_, true)) return;
  log_error(
      "{}: the event log was removed while the job trains: it cannot be resumed or reported, "
      "and will end with exit code 1",
      start_.folder.events().string());
}

// ---- What the controller decides. ----

void Coordinator::carry_out(const ControllerAction& action) {
  const Overloaded handlers{
      [&](const StartProcess& start) { start_process(start); },
      [&](const ReleaseProcess& release) { staffing_->cluster().release(release.process); },
      [&](const KillProcess& kill) { staffing_->cluster().kill(kill.process, kill.why); },
      [&](const TellRecovery& recovery) { tell_recovery(recovery); },
      [&](const EndProcesses&) { end_processes(); },
      [&](const EndJob& end) { end_job(end); },
      [&](const Announce& news) { record_.log(fact::Warning{news.text}); },
      [&](const auto& work) { work_->carry_out(work); }};
  std::visit(handlers, action);
}

void Coordinator::start_process(const StartProcess& action) {
  try {
    staffing_->start(action.process);
  } catch (const SystemError& error) {
    recorded_.feed_later(JobImpossible{error.what()});
  }
}

void Coordinator::tell_recovery(const TellRecovery& action) {
  std::vector<std::string> lost;
  for (const ProcessName& process : action.lost) lost.push_back(process.text());
  log(fact::Recovery{controller().membership().epoch, lost, action.iteration,
                     action.iterations_lost, action.seconds});
}

void Coordinator::end_processes() {
  work_->log_iterations(JobRecord::Until::kEndOfMembership);
  const auto& ending = controller().ending();
  if (!staffing_->is_open()) return recorded_.feed_later(AllProcessesEnded{});
  // Of a job that has failed, the others may wait for one that is gone, and nothing can be lost.
  const bool has_failed = ending && ending->status == Status::kFailed;
  staffing_->end(has_failed ? Staffing::Farewell::kAtOnce : Staffing::Farewell::kInOrder);
}

void Coordinator::on_all_gone() {
  recorded_.feed(AllProcessesEnded{});
  // If the user did not wait for the controller.
  if (end_ && !world_.loop.is_stopped()) end_job(EndJob(*end_));
}

void Coordinator::end_job(const EndJob& action) {
  end_ = action;
  if (record_.log_is_removed() && end_->status != Status::kFailed)
    end_ = EndJob{Status::kFailed, end_->reason + ", but its event log was removed while it ran"};
  if (end_->status == Status::kFailed && !end_->bad_input)
    end_->reason += work_->where_it_can_go_on();
  const std::uint64_t done = controller().iterations_done();
  record_.log(fact::End{end_->status, end_->reason, done,
                        controller().membership().position_at(done), exit_code_of(*end_)});
  record_.sync();
  world_.loop.stop();
}

// What may leave the job with fewer workers than were wanted, which ends a search for their number.
void Coordinator::on_shortage(const ControllerEvent& event, const std::string& why) {
  const std::uint32_t wanted = controller().wanted_workers();
  recorded_.feed(event);
  if (controller().wanted_workers() >= wanted) return;
  const Advice::Shape left{controller().wanted_workers(), controller().wanted_batch_size(),
                           "goes on with fewer workers: " + why};
  for (const auto& advisor : advisors_.all) take(advisor->overrule(left, view()));
}

}  // namespace scavenger::elastic
