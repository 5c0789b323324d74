#include "elastic/coordinator/staffing/staffing.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "elastic/coordinator/job/host.h"
#include "runtime/base/error.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1))
    line += c == '\n' ? std::string(" | ") : std::string(1, c);
  return line;
}

}  // namespace

Staffing::Staffing(Provider& provider, RecordedController& controller, LogEvent log,
                   StaffingListener& listener, Settings settings)
    : controller_(controller),
      log_(std::move(log)),
      listener_(listener),
      settings_(std::move(settings)),
      fleet_(provider, log_, *this, settings_.config.provider.spot,
             settings_.config.provider.is_remote()) {}

Staffing::~Staffing() = default;

// ---- Starting. ----

void Staffing::open(WorkListener& work, const std::vector<ProcessName>& first) {
  work_ = &work;
  ClusterListener& listener = *this;
  cluster_ = settings_.open_cluster(listener);
  for (const ProcessName& process : first) start(process);
}

void Staffing::prefer(std::string machine_type, std::vector<std::string> others, bool once) {
  fleet_.forget_unless([this](std::uint32_t worker) {
    return controller_.controller().expects({Role::kWorker, worker});
  });
  if (once)
    fleet_.prefer_once(std::move(machine_type));
  else
    fleet_.prefer(std::move(machine_type), std::move(others));
}

void Staffing::start(const ProcessName& process) {
  if (process.role == Role::kWorker) {
    // One that starts by itself may come before its machine is told of.
    const std::string ticket = cluster_->expect(process);
    return fleet_.want(process.index, ticket);
  }
  ProcessPlace place{cluster_->address_of_shard(process.index), {}};
  if (const HostConfig* const host = host_of_shard(settings_.config, process.index))
    place.launch = host->launch;
  start_at(process, place);
}

void Staffing::start_at(const ProcessName& process, const ProcessPlace& place) {
  const std::uint32_t threads = process.role == Role::kWorker ? threads_for(process.index) : 1;
  const std::uint16_t first_port = settings_.config.ps.port;
  const bool any_port = process.role != Role::kShard || first_port == 0;
  const auto port = static_cast<std::uint16_t>(any_port ? 0 : first_port + process.index);
  const std::int64_t pid = cluster_->start(process, place, threads, port);
  const auto log_file = std::filesystem::path("logs") / cluster_->log_of(process).filename();
  log_(fact::ProcessStarted{process.role, process.index, pid, log_file.string()});
  controller_.feed_later(ProcessStarted{process});
}

// On this machine, with as many workers as there are to be.
std::uint32_t Staffing::threads_for(std::uint32_t worker) const {
  ClusterConfig cluster = settings_.config.cluster;
  cluster.workers = controller_.controller().wanted_workers();
  const Machine* const machine = fleet_.machine_of(worker);
  if (!settings_.config.provider.is_remote() || machine == nullptr)
    return threads_of(cluster, worker, settings_.host_cores);
  if (cluster.threads_per_worker > 0) return cluster.threads_per_worker;
  return machine->cores > 0 ? machine->cores : settings_.host_cores;
}

WorkerPlace Staffing::place_of(std::uint32_t worker) const {
  const Machine* const machine = fleet_.machine_of(worker);
  return {worker, cluster_->pid_of({Role::kWorker, worker}),
          machine != nullptr ? machine->address : std::string(), threads_for(worker)};
}

// ---- What happens to processes. ----

void Staffing::on_joined(const ProcessName& process, const Joined& message) {
  log_(fact::ProcessJoined{process.role, process.index, message.pid,
                           cluster_->seconds_since_start(process)});
  work_->on_joined(process, message);
}

void Staffing::on_message(const ProcessName& process, const ControlMessage& message) {
  work_->on_message(process, message);
}

std::span<std::byte> Staffing::state_destination(const ProcessName& process,
                                                 const FrameHeader& header) {
  return work_->state_destination(process, header);
}

void Staffing::on_state(const ProcessName& process, const FrameHeader& header) {
  work_->on_state(process, header);
}

void Staffing::on_lost(const LostProcess& lost) {
  const bool is_worker = lost.process.role == Role::kWorker;
  const auto machine_loss = is_worker ? machines_lost_.extract(lost.process.index)
                                      : decltype(machines_lost_)::node_type();
  // One that ended by itself before its worker came may have ended because the worker did.
  const bool with_machine = machine_loss && (machine_loss.mapped().was_taken || lost.has_joined);
  // If a worker does not even begin, its machine may be of no use.
  const bool is_rented = is_worker && settings_.config.provider.is_remote();
  const bool by_itself =
      lost.by_itself && !with_machine && (lost.has_joined || lost.bad_input || !is_rented);
  // All workers run the same code, so the first to tell of an exception speaks for all.
  if (by_itself && !lost.traceback.empty() && !std::exchange(has_told_user_error_, true))
    log_(fact::UserError{lost.process.index, lost.how, lost.traceback});
  // A process that ends in order, for what it was given, is not lost: the job's end tells why.
  if (!by_itself || !lost.bad_input)
    log_(fact::ProcessLost{
        lost.process.role, lost.process.index, lost.pid, lost.how,
        machine_loss && lost.log_tail.empty() ? machine_loss.mapped().last_words : lost.log_tail});
  // A machine that starts its worker by itself does so once. It goes before the loss is told,
  // because the replacement, which is asked for then, would wait on it for a worker.
  const Machine* const machine = is_worker ? fleet_.machine_of(lost.process.index) : nullptr;
  const bool is_used_up = machine != nullptr && machine->starts_worker;
  // Its connection may end before the provider hears that the machine was taken.
  const bool is_in_doubt = is_used_up && lost.has_joined && !by_itself;
  if (is_in_doubt)
    fleet_.abandon(lost.process.index);
  else if (is_used_up || (is_rented && !lost.has_joined))
    fleet_.release(lost.process.index);
  work_->before_loss(lost.process);
  listener_.on_shortage(
      ProcessLost{lost.process, lost.how, by_itself, with_machine, lost.bad_input, is_in_doubt},
      fmt::format("{} {}", lost.process.text(), lost.how));
  work_->after_loss(lost.process);
  // A worker that is not replaced needs no machine.
  if (is_worker && !controller_.controller().expects(lost.process))
    fleet_.release(lost.process.index);
}

void Staffing::on_left(const ProcessName& process) {
  fleet_.release(process.index);
  fleet_.forget(process.index);
  controller_.feed(ProcessLeft{process});
}

void Staffing::leave(const ProcessName& process, const std::string& reason) {
  fleet_.note_leaving(process.index);
  listener_.on_shortage(ProcessLeaving{process, reason}, process.text() + " leaves");
}

void Staffing::end(Farewell farewell) {
  if (farewell == Farewell::kAtOnce)
    cluster_->kill_all();
  else
    cluster_->end_all();
}

void Staffing::on_all_ended() {
  fleet_.end([this] { listener_.on_all_gone(); });
}

// ---- What happens to machines. ----

void Staffing::on_machine_ready(std::uint32_t worker, const Machine& machine) {
  const ProcessName process{Role::kWorker, worker};
  if (machine.starts_worker) return controller_.feed_later(ProcessStarted{process});
  try {
    start_at(process, {machine.address, machine.launch, machine.program_folder});
  } catch (const SystemError& error) {
    controller_.feed_later(JobImpossible{error.what()});
  }
}

void Staffing::on_machine_refused(std::uint32_t worker, const Refusal& refusal) {
  listener_.on_shortage(
      MachineRefused{{Role::kWorker, worker}, text_of(refusal), refusal.retry_after_seconds},
      "no machine can be had");
}

void Staffing::on_machine_notice(std::uint32_t worker, const MachineNotice& notice) {
  listener_.on_shortage(ProcessLeaving{{Role::kWorker, worker},
                                       fmt::format("its machine has notice: {}", notice.reason)},
                        "a machine is taken away");
}

void Staffing::on_machine_lost(std::uint32_t worker, const MachineLoss& loss) {
  machines_lost_[worker] = loss;
  cluster_->kill({Role::kWorker, worker}, fmt::format("lost its machine, which {}", loss.how));
}

void Staffing::on_machine_judged(std::uint32_t worker, const std::optional<MachineLoss>& loss) {
  LossJudged judged{{Role::kWorker, worker}, "was lost, and its machine was not", false};
  judged.with_machine = loss && loss->was_taken;
  if (loss) judged.how = (judged.with_machine ? "lost its machine, which " : "") + loss->how;
  if (loss && !judged.with_machine)
    log_(fact::Warning{fmt::format(
        "{} {}{}", judged.process.text(), judged.how,
        loss->last_words.empty() ? "" : "; it wrote last: " + in_one_line(loss->last_words))});
  controller_.feed_later(judged);
}

}  // namespace scavenger::elastic
