#include "runtime/provider/slurm/slurm_provider.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/net/spawn.h"
#include "runtime/provider/slurm/slurm_address.h"
#include "runtime/provider/slurm/slurm_commands.h"
#include "runtime/provider/slurm/slurm_text.h"
#include "runtime/provider/slurm/slurm_words.h"

namespace scavenger {
namespace {

constexpr double kReadSeconds = 0.1;    // between two looks at what the queue has told
constexpr double kAgainSeconds = 30.0;  // between two tries if there is no room

[[noreturn]] void refuse(RefusalKind kind, std::string what, std::string where, std::string remedy,
                         std::optional<double> retry_after_seconds = std::nullopt) {
  throw MachineRefused(
      {kind,
       {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)},
       retry_after_seconds});
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_final(const Refusal& refusal) {
  return refusal.kind == RefusalKind::kInvalid || refusal.kind == RefusalKind::kPermission;
}

}  // namespace

SlurmProvider::SlurmProvider(asio::io_context& io, const Clock& clock, SlurmSettings settings)
    : Lessor(io),
      clock_(clock),
      settings_(std::move(settings)),
      catalogue_(slurm_catalogue(settings_)),
      queue_(io, clock) {}

// ---- Before the first request. ----

awaitable<void> SlurmProvider::open() {
  if (settings_.uses_allocation && variable("SLURM_JOB_ID").empty())
    refuse(RefusalKind::kInvalid, "this process does not run in a Slurm job", "provider.allocation",
           "start it with sbatch or salloc, or leave out provider.allocation");
  if (settings_.uses_allocation && !variable("SLURM_HET_SIZE").empty())
    refuse(RefusalKind::kInvalid,
           "this process runs in a heterogeneous job, of whose components a step would get the "
           "first one only",
           "provider.allocation",
           "ask for all nodes in one component, or leave out provider.allocation and list the "
           "kinds in provider.machines");
  std::string problem;
  CommandResult nodes;
  Words words = {"sinfo", "--noheader", "--Node", "--format=%N"};
  if (settings_.uses_allocation)
    words = {"scontrol", "show", "hostnames", variable("SLURM_JOB_NODELIST")};
  try {
    nodes = co_await run_slurm(std::move(words));
    if (!nodes.succeeded()) problem = "Slurm does not answer: " + nodes.failure();
  } catch (const SystemError& error) {
    problem = "there is no Slurm here: " + error.problem().what;
  }
  if (!problem.empty())
    refuse(RefusalKind::kUnreachable, problem, "provider",
           "run scavenger-train where sbatch and squeue work");
  const std::vector<std::string> names = slurm_node_names(nodes.output);
  if (settings_.uses_allocation) take_allocation(names);
  std::string address;
  if (!names.empty()) address = co_await slurm_address_of(names.front());
  find_address(address);
  std::vector<std::string> cancelled =
      co_await take_over_slurm_jobs(settings_.state_folder, slurm_job_name(::getpid()));
  for (std::string& job : co_await cancel_abandoned_slurm_jobs())
    cancelled.push_back(std::move(job));
  for (const std::string& job : cancelled)
    log_info("cancelled what a killed process had left: {}", job);
}

// Of the interface that is named; else the user's choice; else the one from which nodes are
// reached.
void SlurmProvider::find_address(const std::string& node_address) {
  if (!settings_.interface.empty()) {
    const auto own = address_of_interface(settings_.interface);
    if (!own)
      refuse(RefusalKind::kInvalid,
             fmt::format("this machine has no interface {} with an address", settings_.interface),
             "provider.interface",
             "name one that this machine and all nodes have (ip -brief address)");
    controller_address_ = *own;
  } else if (settings_.listen_address == SlurmSettings().listen_address && !node_address.empty()) {
    controller_address_ = address_towards(node_address).value_or(std::string());
  }
}

void SlurmProvider::take_allocation(const std::vector<std::string>& nodes) {
  const std::string number = variable("SLURM_JOB_ID");
  const auto cores = slurm_cores_per_node(variable("SLURM_JOB_CPUS_PER_NODE"));
  if (cores.empty() || cores.size() != nodes.size())
    refuse(RefusalKind::kInvalid,
           "the nodes of job " + number + " and their processors cannot be read",
           "SLURM_JOB_NODELIST and SLURM_JOB_CPUS_PER_NODE", "start it with sbatch or salloc");
  const SlurmKind& kind = settings_.kinds.front();
  const auto each = std::max(1U, static_cast<std::uint32_t>(kind.machine.cores));
  std::uint32_t places = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const JobPointer job = std::make_shared<SlurmJob>();
    job->kind = &kind;
    job->places = cores[i] / each;
    job->number = number;
    job->node = nodes[i];
    job->is_ours = false;
    places += job->places;
    jobs_.push_back(job);
    spawn(io(), attend(job));
  }
  if (places == 0)
    refuse(RefusalKind::kInvalid,
           fmt::format("no node of job {} has {} processors for a worker", number, each),
           "provider.cores", "lower it, or ask for more in the job");
  queue_.follow(number);
}

// ---- Places. ----

SlurmKinds SlurmProvider::kinds_for(const std::string& type) const {
  SlurmKinds kinds;
  for (const SlurmKind& kind : settings_.kinds)
    if (type.empty() || kind.machine.type == type) kinds.push_back(&kind);
  return slurm_kinds_in_order(std::move(kinds), jobs_);
}

SlurmProvider::JobPointer SlurmProvider::job_of(MachineId id) const {
  const auto found =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->workers.contains(id); });
  return found == jobs_.end() ? nullptr : *found;
}

awaitable<Machine> SlurmProvider::obtain(MachineId id, const MachineRequest& request) {
  const SlurmKinds kinds = kinds_for(request.type);
  if (kinds.empty())
    refuse(RefusalKind::kInvalid, "there is no such kind: " + request.type, "provider.machines",
           "name one of those that are listed there");
  const double begin = clock_.now_seconds();
  std::optional<Refusal> last;
  for (std::size_t i = 0; i < kinds.size() && is_wanted(id); ++i) {
    const double left_seconds = settings_.wait_seconds - seconds_since(begin);
    if (slurm_kind_is_used_up(*kinds[i], jobs_) || (last && left_seconds <= 0.0)) continue;
    if (last) tell_delayed(id, *last);
    try {
      co_return co_await take(id, kinds[i], left_seconds / static_cast<double>(kinds.size() - i));
    } catch (const MachineRefused& refused) {
      last = refused.refusal();
    }
    last->machine_type = kinds[i]->machine.type;
    if (is_final(*last)) break;
    co_await give_back(id);
  }
  if (!last)
    refuse(RefusalKind::kCapacity, "no worker of these kinds may be added", "provider",
           "raise `count` of one, or add kinds", kAgainSeconds);
  throw MachineRefused(std::move(*last));
}

// In a job that has room, or else in a new one.
awaitable<Machine> SlurmProvider::take(MachineId id, const SlurmKind* kind, double limit_seconds) {
  JobPointer job = slurm_job_with_room(jobs_, *kind);
  if (jobs_.empty() && settings_.uses_allocation)
    refuse(RefusalKind::kInvalid, "the allocation has ended", "provider.allocation",
           "resume the job in a new one (--resume)");
  if (!job && settings_.uses_allocation)
    refuse(RefusalKind::kCapacity, "all places of the allocation are taken", "provider.allocation",
           "lower cluster.workers or provider.cores, or ask for more in the job", kAgainSeconds);
  bool is_early = false;  // it may have waited for its worker
  if (job) {
    is_early = std::exchange(job->is_spare, false);
    job->workers.insert(id);
  } else {
    job = add_job(*kind);
    job->workers.insert(id);
    co_await submit(job);
  }
  co_await wait_until_it_runs(id, job, limit_seconds);
  co_return co_await machine_in(id, job, is_early);
}

awaitable<void> SlurmProvider::wait_until_it_runs(MachineId id, JobPointer job,
                                                  double limit_seconds) {
  const double begin = clock_.now_seconds();
  while (!job->runs) {
    if (job->refusal) throw MachineRefused(*job->refusal);
    const std::string state = job->number.empty() ? "?" : queue_.state(job->number);
    const bool waits = state == "?" || is_queued_in_slurm(state) || is_running_in_slurm(state);
    const double waited_seconds = seconds_since(begin);
    if (!is_wanted(id) || !waits || waited_seconds > limit_seconds)
      refuse(RefusalKind::kCapacity,
             fmt::format("job {} is {}, after {:.0f} s", job->number,
                         state.empty() ? "gone" : state, waited_seconds),
             "Slurm's queue", "see squeue; ask for less, or raise provider.wait_seconds",
             kAgainSeconds);
    co_await pause(id, kReadSeconds);
  }
}

// Of the interface, if one is named: then a step of the job looks.
awaitable<std::string> SlurmProvider::address_of(MachineId id, JobPointer job) {
  const std::string node = job->node;
  const auto known = node_addresses_.find(node);
  if (known != node_addresses_.end()) co_return known->second;
  Words words = {"srun",       "--jobid=" + job->number,
                 "--overlap",  "--nodes=1",
                 "--ntasks=1", "--nodelist=" + node,
                 "--quiet",    "--mpi=none",
                 "ip",         "-oneline",
                 "address",    "show",
                 "dev",        settings_.interface};
  CommandResult result = co_await run_slurm(std::move(words));
  result.output = step_output(result.output);
  if (const auto own = interface_address(result.output)) co_return node_addresses_[node] = *own;
  const std::string what = fmt::format("node {} tells no address of its interface {}: {}", node,
                                       settings_.interface, result.failure());
  const bool has_answered =
      result.succeeded() || result.output.find("does not exist") != std::string::npos;
  if (!has_answered || !is_wanted(id))  // Slurm did not run it, or it was cut off
    refuse(RefusalKind::kUnreachable, what, "provider.interface", "see whether srun works there",
           kAgainSeconds);
  // If any node has told one, a later job may be on such a node. If none has, it is the name.
  refuse(RefusalKind::kBroken, what, "provider.interface",
         "name one that all nodes have, or leave it out",
         node_addresses_.empty() ? std::nullopt : std::optional(kAgainSeconds));
}

awaitable<Machine> SlurmProvider::machine_in(MachineId id, JobPointer job, bool is_early) {
  const bool shares_node = job->places > 1;
  SlurmKind kind = *job->kind;
  // Whole mebibytes, downwards, so that all workers of the job fit.
  if (shares_node && kind.machine.memory_gib <= 0.0)
    kind.machine.memory_gib =
        std::floor(job->gib_per_core * std::max(1.0, kind.machine.cores) * 1024.0) / 1024.0;
  Machine machine;
  machine.name = shares_node || !job->is_ours ? fmt::format("job-{}-{}", job->number, id)
                                              : "job-" + job->number;
  machine.zone = job->node;
  machine.type = kind.machine.type;
  machine.cores = static_cast<std::uint32_t>(std::max(1.0, kind.machine.cores));
  machine.price = price_of(kind.machine, false);
  if (is_early) machine.charged_seconds = seconds_since(job->runs_since);
  machine.address = co_await address_of(id, job);
  machine.launch = outside_slurm_job(slurm_step_words(
      settings_, kind, job->number, job->is_ours ? std::string() : job->node, shares_node));
  machine.program_folder = settings_.program_folder;
  co_return machine;
}

awaitable<void> SlurmProvider::give_back(MachineId id) {
  const JobPointer job = job_of(id);
  if (!job) co_return;
  job->workers.erase(id);
  job->leaving.erase(id);
  if (job->workers.empty() && job->is_ours) co_await drop(job);
}

awaitable<std::vector<std::string>> SlurmProvider::close() {
  for (const JobPointer& job : std::vector(jobs_)) co_await drop(job);
  while (submissions_ > 0) co_await rest(kReadSeconds);
  std::vector<std::string> left;
  for (const JobPointer& job : jobs_)
    if (job->is_ours) left.push_back("Slurm job " + job->number);
  co_return left;
}

namespace {

class SlurmFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    return slurm_catalogue(slurm_settings(config.provider));
  }
  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost& host) const override {
    SlurmSettings settings = slurm_settings(config.provider);
    settings.listen_address = config.cluster.listen_address;
    settings.state_folder = host.state_folder;
    static const SteadyClock clock;
    return std::make_unique<SlurmProvider>(io, clock, std::move(settings));
  }
  void check(const JobConfig& config) const override { slurm_settings(config.provider); }
  awaitable<std::vector<std::string>> clean() const override {
    return cancel_abandoned_slurm_jobs();
  }
};

}  // namespace

const ProviderFactory& slurm_provider_factory() {
  static const SlurmFactory factory;
  return factory;
}

}  // namespace scavenger
