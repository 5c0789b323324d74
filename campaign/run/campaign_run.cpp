#include "campaign/run/campaign_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "campaign/result/validity.h"
#include "campaign/run/simulation_command.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"

namespace scavenger::campaign {
namespace {

constexpr double kSignsOfLifeSeconds = 1.0;
constexpr double kLongestWaitSeconds = 1e6;
constexpr double kEndPollSeconds = 0.05;
constexpr int kEndPolls = 100;  // until what still runs is killed

}  // namespace

CampaignRun::CampaignRun(asio::io_context& io, EventLoop& loop, Provider& provider,
                         CampaignStart start)
    : io_(io),
      loop_(loop),
      provider_(provider),
      start_(std::move(start)),
      campaign_(std::move(start_.campaign)),
      log_(start_.folder.log()),
      store_(start_.folder.path),
      inputs_(read_input_files(start_.folder.files())),
      disk_(loop.start_thread()),
      wake_(io),
      begin_seconds_(loop.clock().now_seconds()) {
  if (campaign_.config().surrogate)
    training_ = std::make_unique<SurrogateTraining>(
        io_, loop_, start_.folder, campaign_.config(), start_.program_folder,
        [this](const SurrogateTraining::Told& told) {
          std::visit([this](const auto& event) { feed(event); }, told);
        });
}

CampaignRun::~CampaignRun() = default;

double CampaignRun::seconds() const {
  return start_.seconds + loop_.clock().now_seconds() - begin_seconds_;
}

// ---- Beginning, and what happens. ----

void CampaignRun::begin() {
  provider_.begin(*this, [this](const std::optional<Refusal>& problem) {
    if (problem) throw InputError(problem->problem);
    open_links();
    feed(event::Started{start_.max_simulations, start_.max_cost, identity_of(start_.folder),
                        start_.most_machines, start_.tries_failed_again});
    if (early_stop_) feed(event::StopAsked{*early_stop_, false, false});
    watch_signs_of_life();
  });
}

void CampaignRun::open_links() {
  const MachinesConfig& machines = campaign_.config().machines;
  HostLinks::Settings settings;
  settings.program_folder = start_.program_folder;
  settings.log_folder = start_.folder.logs();
  settings.endpoint = {provider_.controller_address(), machines.port};
  if (settings.endpoint.host.empty()) settings.endpoint.host = machines.listen_address;
  settings.start_seconds = machines.start_seconds;
  settings.silence_seconds = machines.silence_seconds;
  HostListener& listener = *this;
  links_ = std::make_unique<HostLinks>(io_, loop_.clock(), listener, std::move(settings));
}

void CampaignRun::stop(const std::string& reason, bool at_once) {
  if (is_over_) return;
  if (links_) return feed(event::StopAsked{reason, at_once, false});
  early_stop_ = reason;  // the provider is not ready yet
}

bool CampaignRun::fail(const std::string& reason) {
  if (!links_ || is_over_) return false;
  is_draining_ = false;
  events_.clear();
  links_->kill_all();
  carry_out(action::Finish{"failed", reason});
  return true;
}

// Events that actions cause are taken after those actions.
void CampaignRun::feed(const CampaignEvent& event) {
  events_.push_back(event);
  if (std::exchange(is_draining_, true)) return;
  drain();
  is_draining_ = false;
  train_if_due();
  set_wake_timer();
}

void CampaignRun::drain() {
  while (!events_.empty() && !is_over_) {
    const CampaignEvent event = std::move(events_.front());
    events_.pop_front();
    const double now_seconds = seconds();
    last_step_seconds_ = now_seconds;
    const CampaignActions actions = campaign_.step(event, now_seconds);
    if (!write_log(log_line(now_seconds, event, actions))) return;
    for (const CampaignAction& decided : actions)
      std::visit([this](const auto& what) { carry_out(what); }, decided);
    start_.show(campaign_, event, now_seconds);
  }
}

// What is not in the log must not be done: without a log the campaign ends here. It can be resumed.
bool CampaignRun::write_log(const std::string& line) {
  try {
    log_.write(line);
    return true;
  } catch (const SystemError& error) {
    fail(error.what());
    return false;
  }
}

void CampaignRun::train_if_due() {
  if (training_ && !is_over_ && !training_->is_running() && campaign_.is_training_due())
    training_->begin(campaign_);
}

void CampaignRun::set_wake_timer() {
  const auto wake = campaign_.wake_seconds();
  wake_.cancel();
  if (!wake || is_over_) return;
  const double seconds_left = std::clamp(*wake - seconds(), 0.0, kLongestWaitSeconds);
  wake_.expires_after(std::chrono::microseconds(static_cast<std::int64_t>(seconds_left * 1e6) + 1));
  wake_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !is_over_) feed(event::Tick{});
  });
}

void CampaignRun::watch_signs_of_life() {
  loop_.after(kSignsOfLifeSeconds, [this] {
    if (is_over_) return;
    links_->check_signs_of_life();
    watch_signs_of_life();
  });
}

// ---- Machines. ----

void CampaignRun::carry_out(const action::RequestMachine& action) {
  std::uint32_t index = 0;
  const auto is_taken = [&] {
    return std::ranges::any_of(worker_indices_,
                               [&](const auto& entry) { return entry.second == index; });
  };
  while (is_taken()) ++index;
  worker_indices_[action.machine] = index;
  MachineRequest request;
  request.worker = index;
  request.type = action.type;
  request.spot = campaign_.config().provider.spot;
  request.ticket = links_->expect(action.machine);
  provider_.request(action.machine, request);
}

std::uint32_t CampaignRun::cores_of(const Machine& machine) const {
  // Local machines are all this one, and share its cores.
  if (campaign_.config().provider.type == ProviderType::kLocal)
    return std::max(1U, machine.cores / start_.most_machines);
  if (machine.cores > 0) return machine.cores;
  for (const CatalogueEntry& entry : provider_.catalogue().entries)
    if (entry.type == machine.type) return std::max(1U, static_cast<std::uint32_t>(entry.cores));
  return 1;
}

void CampaignRun::on_ready(MachineId id, const Machine& machine) {
  machines_[id] = machine;
  event::MachineReady ready;
  ready.machine = id;
  ready.name = machine.name;
  ready.type = machine.type;
  ready.zone = machine.zone;
  ready.spot = machine.spot;
  ready.cores = cores_of(machine);
  ready.price_per_hour = machine.price.per_hour;
  const bool has_other_price = machine.spot && machine.price.on_demand_per_hour > 0.0;
  ready.on_demand_price_per_hour =
      has_other_price ? machine.price.on_demand_per_hour : machine.price.per_hour;
  ready.minimum_seconds = machine.price.minimum_seconds;
  ready.returning_seconds = machine.price.returning_seconds;
  ready.charged_seconds = machine.charged_seconds;
  feed(ready);
}

void CampaignRun::on_delayed(MachineId id, const Refusal& refusal) {
  const std::string reason = Error(refusal.problem).what();
  log_info("no machine yet: {}", reason);
  feed(event::MachineDelayed{id, reason});
}

void CampaignRun::on_refused(MachineId id, const Refusal& refusal) {
  worker_indices_.erase(id);
  links_->end(id);
  feed(event::MachineRefused{id, Error(refusal.problem).what(),
                             refusal.retry_after_seconds.value_or(-1.0)});
}

void CampaignRun::on_notice(MachineId id, const MachineNotice& notice) {
  feed(event::MachineNotice{id, notice.seconds});
}

void CampaignRun::forget_tasks_of(MachineId machine) {
  std::erase_if(tasks_, [&](const auto& entry) { return entry.second.machine == machine; });
}

void CampaignRun::on_lost(MachineId id, const MachineLoss& loss) {
  links_->end(id);
  forget_tasks_of(id);
  machines_.erase(id);
  early_hosts_.erase(id);
  worker_indices_.erase(id);
  feed(event::MachineLost{id, loss.how, loss.was_taken});
}

void CampaignRun::on_released(MachineId id) {
  machines_.erase(id);
  early_hosts_.erase(id);
  worker_indices_.erase(id);
  feed(event::MachineReleased{id});
}

void CampaignRun::carry_out(const action::StartHost& start) {
  try {
    links_->start(start.machine, machines_.at(start.machine));
  } catch (const SystemError& error) {
    feed(event::HostLost{start.machine, error.what()});
    return;
  }
  if (early_hosts_.erase(start.machine) > 0) feed(event::HostJoined{start.machine});
}

void CampaignRun::carry_out(const action::ReleaseMachine& release) {
  links_->end(release.machine);
  provider_.release(release.machine);
}

// One that its machine has started may be here before the provider says that the machine is.
void CampaignRun::on_host_joined(MachineId machine) {
  if (!machines_.contains(machine)) {
    early_hosts_.insert(machine);
    return;
  }
  feed(event::HostJoined{machine});
}

void CampaignRun::on_host_lost(MachineId machine, const std::string& how) {
  log_warning("machine {}: {}", machine, how);
  forget_tasks_of(machine);
  feed(event::HostLost{machine, how});
}

void CampaignRun::on_host_leaving(MachineId machine) {
  feed(event::MachineNotice{machine, 0.0});
}

// ---- Tasks. ----

message::Run CampaignRun::command_of(TaskId task, PointIndex point, std::uint64_t from,
                                     std::uint64_t until) const {
  return segment_command(campaign_.config(), campaign_.space(), task, point, from, until);
}

void CampaignRun::carry_out(const action::StartTask& start) {
  tasks_[start.task] = {
      .machine = start.machine, .point = start.point, .files = {}, .being_kept = 0};
  std::vector<TaskFile> files =
      filled_files(campaign_.config(), campaign_.space(), start.point, inputs_);
  if (start.kept > 0) {
    const std::uint64_t intact = store_.newest_intact(start.point, start.kept);
    if (intact < start.kept) {
      log_warning("the last checkpoint of {} is damaged", campaign_.space().text_at(start.point));
      return feed(event::CheckpointDamaged{start.task, intact});
    }
    for (TaskFile& file : store_.read_checkpoint(start.point, start.kept))
      files.push_back(std::move(file));
  }
  links_->send_files(start.machine, start.task, std::move(files),
                     command_of(start.task, start.point, start.from, start.until));
}

void CampaignRun::carry_out(const action::RunSegment& run) {
  const TaskLink& link = tasks_.at(run.task);
  links_->send(link.machine, command_of(run.task, link.point, run.from, run.until));
}

void CampaignRun::carry_out(const action::StopTask& stop) {
  links_->send(tasks_.at(stop.task).machine, message::Stop{stop.task});
}

void CampaignRun::carry_out(const action::EndTask& end) {
  const auto found = tasks_.find(end.task);
  if (found == tasks_.end()) return;
  links_->drop_files(found->second.machine, end.task);
  links_->send(found->second.machine, message::End{end.task});
  tasks_.erase(found);
}

// Null if it is no task of that machine, or not any more.
CampaignRun::TaskLink* CampaignRun::link_of(TaskId task, MachineId machine) {
  const auto found = tasks_.find(task);
  const bool is_one =
      found != tasks_.end() && found->second.machine == machine && campaign_.tasks().contains(task);
  return is_one ? &found->second : nullptr;
}

void CampaignRun::on_task_message(MachineId machine, const TaskMessage& message) {
  if (const auto* began = std::get_if<message::Began>(&message)) {
    if (link_of(began->task, machine) != nullptr) feed(event::SegmentBegan{began->task});
  } else if (const auto* ended = std::get_if<message::Ended>(&message)) {
    if (link_of(ended->task, machine) == nullptr) return;
    if (ended->how == "kept") return feed(event::SegmentEnded{ended->task});
    feed(event::TaskFailed{ended->task, ended->how, ended->reason, ended->log_tail});
  } else if (const auto* file = std::get_if<message::PutFile>(&message)) {
    if (TaskLink* const link = link_of(file->task, machine)) link->files.begin(*file);
  } else if (const auto* all = std::get_if<message::Delivered>(&message)) {
    if (TaskLink* const link = link_of(all->task, machine)) keep(all->task, *link, all->is_final);
  }
}

// ---- What comes home. ----

void CampaignRun::on_piece(MachineId machine, const Piece& piece) {
  if (TaskLink* const link = link_of(piece.task, machine)) link->files.add(piece.bytes);
}

// The step that a stopped segment has reached; one that was not stopped has reached its end.
std::uint64_t CampaignRun::reached_by(const TaskRecord& task,
                                      const std::vector<TaskFile>& files) const {
  if (!task.was_stopped) return task.until;
  const auto& reached = campaign_.config().simulation.stop.reached;
  if (!reached) return task.from;  // the next command has the same end, and goes on inside of it
  std::vector<ResultFile> all;
  for (const TaskFile& file : files) all.push_back({file.name, file.content});
  try {
    return read_reached_step(all, *reached);
  } catch (const DataError& error) {
    log_warning("a stopped segment does not say how far it is: {}", error.what());
    return task.from;
  }
}

void CampaignRun::keep(TaskId id, TaskLink& link, bool is_final) {
  auto files = std::make_shared<std::vector<TaskFile>>(link.files.take());
  const TaskRecord& task = campaign_.tasks().at(id);
  const std::uint64_t until = reached_by(task, *files);
  // On a slow disk a second one may come before the first is kept.
  const std::uint64_t number =
      campaign_.simulations().at(link.point).segments.size() + ++link.being_kept;
  auto failure = std::make_shared<std::string>();
  disk_->run(
      [this, files, failure, number, point = link.point] {
        try {
          store_.keep(point, number, *files);
        } catch (const std::exception& error) {
          *failure = error.what();
        }
      },
      [this, failure, id, is_final, until] {
        const auto found = tasks_.find(id);
        if (found != tasks_.end()) --found->second.being_kept;
        if (!failure->empty()) return feed(event::StopAsked{*failure, false, true});
        if (is_final)
          feed(event::SegmentKept{id, until});
        else
          feed(event::CheckpointKept{id});
      });
}

// ---- Results. ----

std::string CampaignRun::fault_of_result(PointIndex point) const {
  const SimulationConfig& simulation = campaign_.config().simulation;
  const SimulationRecord& record = campaign_.simulations().at(point);
  const std::vector<KeptSegment>& kept = record.segments;
  try {
    std::vector<SegmentResult> segments;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const bool is_needed =
          i + 1 == kept.size() ||
          (simulation.result.merge == MergeRule::kMeanBySteps && kept[i].until > kept[i].from);
      if (is_needed)
        segments.push_back({kept[i].until - kept[i].from, store_.read_results(point, i + 1)});
    }
    const std::vector<ResultFile> files = merge_results(segments, simulation.result);
    if (const auto fault = fault_of(files, simulation.result, simulation.valid)) return *fault;
    store_.keep_result(point, record.multiple, files);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

void CampaignRun::carry_out(const action::Judge& judge) {
  feed(event::Judged{judge.point, fault_of_result(judge.point), {}});
}

// ---- The end. ----

void CampaignRun::carry_out(const action::Finish& finish) {
  finish_ = finish;
  is_over_ = true;
  if (training_) training_->stop();
  provider_.end([this](const std::vector<std::string>& left) {
    if (!left.empty())
      log_warning(
          "some machines could not be returned: {}; remove them by hand, they may cost money",
          join_words(left));
    await_processes();
  });
}

void CampaignRun::await_processes() {
  if (!links_->any_running()) return loop_.stop();
  if (ending_polls_++ == kEndPolls) links_->kill_all();
  loop_.after(kEndPollSeconds, [this] { await_processes(); });
}

}  // namespace scavenger::campaign
