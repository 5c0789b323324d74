// The coordinator's part that gets machines for the workers and starts processes on them, and
// meters what they cost.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "elastic/coordinator/coordinator.h"
#include "elastic/coordinator/host.h"
#include "runtime/base/error.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {

void Coordinator::open_fleet() {
  fleet_.begin([this](const std::optional<Refusal>& problem) {
    if (problem) return feed(JobImpossible{text_of(*problem)});
    if (controller_.ending()) return;  // the user did not wait
    open_cluster();
    tick();
  });
}

void Coordinator::start_process(const ProcessName& process) {
  if (process.role == Role::kWorker) {
    cluster_->expect(process);  // one that starts by itself may come before its machine is told of
    return fleet_.want(process.index, cluster_->ticket_of_stranger(process, config_json_));
  }
  ProcessPlace place{cluster_->address_of_shard(process.index), {}};
  if (const HostConfig* const host = host_of_shard(start_.config, process.index))
    place.launch = host->launch;
  start_at(process, place);
}

void Coordinator::start_at(const ProcessName& process, const ProcessPlace& place) {
  const std::uint32_t threads = process.role == Role::kWorker ? threads_for(process.index) : 1;
  const std::uint16_t first_port = start_.config.ps.port;
  const bool any_port = process.role != Role::kShard || first_port == 0;
  const auto port = static_cast<std::uint16_t>(any_port ? 0 : first_port + process.index);
  const std::int64_t pid = cluster_->start(process, place, threads, port, config_json_);
  const auto log_file = std::filesystem::path("logs") / cluster_->log_of(process).filename();
  record_.log(fact::ProcessStarted{process.role, process.index, pid, log_file.string()});
  feed_later(ProcessStarted{process});
}

// On this machine, with as many workers as there are to be.
std::uint32_t Coordinator::threads_for(std::uint32_t worker) const {
  ClusterConfig cluster = start_.config.cluster;
  cluster.workers = controller_.wanted_workers();
  const Machine* const machine = fleet_.machine_of(worker);
  if (!start_.config.provider.is_remote() || machine == nullptr)
    return threads_of(cluster, worker, options_.host_cores);
  if (cluster.threads_per_worker > 0) return cluster.threads_per_worker;
  return machine->cores > 0 ? machine->cores : options_.host_cores;
}

// What may leave the job with fewer workers than were wanted, which ends a search for their number.
void Coordinator::feed_shortage(const ControllerEvent& event, const std::string& why) {
  const std::uint32_t wanted = controller_.wanted_workers();
  feed(event);
  if (controller_.wanted_workers() < wanted)
    end_search(controller_.wanted_workers(), controller_.wanted_batch_size(),
               "goes on with fewer workers: " + why);
}

void Coordinator::on_machine_ready(std::uint32_t worker, const Machine& machine) {
  const ProcessName process{Role::kWorker, worker};
  if (batching_) {
    fact::Machine ready;  // as it was just logged
    ready.change = fact::MachineChange::kReady;
    ready.worker = worker;
    ready.machine_type = machine.type;
    batching_->observe(ready);
    feed_later(SharesWanted{batching_->rule(), {}});
  }
  if (machine.starts_worker) return feed_later(ProcessStarted{process});
  try {
    start_at(process, {machine.address, machine.launch, machine.program_folder});
  } catch (const SystemError& error) {
    feed_later(JobImpossible{error.what()});
  }
}

void Coordinator::on_machine_refused(std::uint32_t worker, const Refusal& refusal) {
  feed_shortage(
      MachineRefused{{Role::kWorker, worker}, text_of(refusal), refusal.retry_after_seconds},
      "no machine can be had");
}

void Coordinator::on_machine_notice(std::uint32_t worker, const MachineNotice& notice) {
  feed_shortage(ProcessLeaving{{Role::kWorker, worker},
                               fmt::format("its machine has notice: {}", notice.reason)},
                "a machine is taken away");
}

void Coordinator::on_machine_lost(std::uint32_t worker, const MachineLoss& loss) {
  const ProcessName process{Role::kWorker, worker};
  machines_lost_[worker] = loss;
  cluster_->kill(process, fmt::format("lost its machine, which {}", loss.how));
}

std::string Coordinator::address_of_worker(std::uint32_t worker) const {
  const Machine* const machine = fleet_.machine_of(worker);
  return machine != nullptr ? machine->address : std::string();
}

// What the job has cost until now, and goes on to cost.
void Coordinator::meter_cost() {
  const RunNumbers& numbers = record_.numbers();
  const ClusterConfig& cluster = start_.config.cluster;
  CostMetered metered{numbers.cost_at(record_.now()),
                      controller_.membership().workers() * cluster.price_per_worker_hour};
  if (start_.config.provider.is_remote()) {
    metered.dollars = numbers.bill.cost(record_.now());
    metered.dollars_per_hour = numbers.bill.cost_per_hour();
    metered.dollars_to_return = fleet_.dollars_to_return();
  }
  feed(metered);
}

}  // namespace scavenger::elastic
