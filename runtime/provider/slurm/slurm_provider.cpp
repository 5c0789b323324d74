#include "runtime/provider/slurm/slurm_provider.h"

#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/net/spawn.h"
#include "runtime/process/command.h"
#include "runtime/provider/launch_words.h"
#include "runtime/provider/slurm/slurm_text.h"
#include "runtime/schema/json.h"

namespace scavenger {
namespace {

constexpr double kCommandSeconds = 60.0;
constexpr double kReadSeconds = 0.1;  // between two looks at what the queue has told
constexpr double kSubmitAgainSeconds = 30.0;
constexpr const char* kNamePrefix = "scavenger-";

[[noreturn]] void refuse_job(RefusalKind kind, Problem problem,
                             std::optional<double> retry_after_seconds = std::nullopt) {
  throw MachineRefused({kind, std::move(problem), retry_after_seconds});
}

std::string this_host() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

awaitable<CommandResult> run(std::vector<std::string> words) {
  co_return co_await run_command(std::move(words), std::string(), kCommandSeconds);
}

std::string numeric_address(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return name;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  char text[NI_MAXHOST] = "";
  ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

awaitable<std::string> address_of(std::string node) {
  std::vector<std::string> words = {"scontrol", "--oneliner", "show", "node", node};
  const CommandResult result = co_await run(std::move(words));
  co_return numeric_address(slurm_node_address(result.output).value_or(node));
}

}  // namespace

SlurmSettings slurm_settings(const ProviderConfig& config) {
  const Json json = parse_json<Json>(config.settings);
  SlurmSettings settings;
  settings.partition = json.at("partition");
  settings.cores = json.at("cores");
  settings.price_per_hour = json.at("price_per_hour");
  settings.options = json.at("options").get<std::vector<std::string>>();
  settings.launch_options = json.at("launch_options").get<std::vector<std::string>>();
  settings.launch_prefix = json.at("launch_prefix").get<std::vector<std::string>>();
  settings.prelude = json.at("prelude").get<std::vector<std::string>>();
  settings.wait_seconds = json.at("wait_seconds");
  settings.program_folder = json.at("program_folder").get<std::string>();
  return settings;
}

std::string slurm_job_name(std::int64_t owner) {
  return fmt::format("{}{}-{}", kNamePrefix, this_host(), owner);
}

awaitable<std::vector<std::string>> cancel_abandoned_slurm_jobs() {
  std::vector<std::string> cancelled;
  std::vector<std::string> words = {"squeue", "--noheader", "--format=%i %j",
                                    "--user=" + std::to_string(::geteuid())};
  CommandResult list;
  try {
    list = co_await run(std::move(words));
  } catch (const SystemError&) {
    co_return cancelled;
  }
  if (!list.succeeded()) co_return cancelled;
  const std::string prefix = kNamePrefix + this_host() + "-";
  const std::vector<NamedSlurmJob> jobs = named_slurm_jobs(list.output);
  for (const auto& [job, name] : jobs) {
    const auto owner = owner_of_slurm_job(name, prefix);
    if (!owner || ::kill(*owner, 0) == 0 || errno == EPERM) continue;
    std::vector<std::string> cancel = {"scancel", job};
    const CommandResult done = co_await run(std::move(cancel));
    if (done.succeeded()) cancelled.push_back("Slurm job " + job);
  }
  co_return cancelled;
}

MachineCatalogue slurm_catalogue(const SlurmSettings& settings) {
  MachineCatalogue catalogue;
  catalogue.entries.push_back(
      {.type = settings.partition,
       .cores = static_cast<double>(settings.cores),
       .on_demand = MachinePrice{.per_hour = settings.price_per_hour, .source = {}}});
  return catalogue;
}

SlurmProvider::SlurmProvider(asio::io_context& io, SlurmSettings settings)
    : Lessor(io),
      settings_(std::move(settings)),
      catalogue_(slurm_catalogue(settings_)),
      queue_(io) {}

awaitable<void> SlurmProvider::open() {
  Problem problem{.what = {},
                  .where = "provider",
                  .remedy = "run scavenger-train where sbatch and squeue work"};
  std::vector<std::string> words = {"sinfo", "--noheader"};
  try {
    const CommandResult result = co_await run(std::move(words));
    if (!result.succeeded()) problem.what = "Slurm does not answer: " + result.failure();
  } catch (const SystemError& error) {
    problem.what = "there is no Slurm here: " + error.problem().what;
  }
  if (!problem.what.empty()) refuse_job(RefusalKind::kUnreachable, problem);
  for (const std::string& cancelled : co_await cancel_abandoned_slurm_jobs())
    log_info("cancelled what a killed job had left: {}", cancelled);
}

// Submits a job and returns its number. The job's script only waits; the worker is started as a
// step of the job.
awaitable<std::string> SlurmProvider::submit() const {
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--no-requeue",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--output=/dev/null",
                                    "--job-name=" + slurm_job_name(::getpid()),
                                    fmt::format("--cpus-per-task={}", settings_.cores)};
  if (!settings_.partition.empty()) words.push_back("--partition=" + settings_.partition);
  words.insert(words.end(), settings_.options.begin(), settings_.options.end());
  words.push_back("--wrap=exec sleep infinity");
  const CommandResult result = co_await run(std::move(words));
  const std::string why = result.failure();
  if (result.succeeded()) {
    if (const auto job = submitted_slurm_job(result.output)) co_return *job;
    refuse_job(RefusalKind::kBroken,
               {.what = "sbatch tells no job's number: " + why,
                .where = "provider",
                .remedy = "see what sbatch --parsable prints here; "
                          "scavenger-ctl clean cancels what it may have made"});
  }
  const auto says = [&](const char* part) { return why.find(part) != std::string::npos; };
  if (says("invalid partition") || says("Invalid") || says("not available"))
    refuse_job(RefusalKind::kInvalid,
               {.what = "Slurm does not take the job: " + why,
                .where = "provider",
                .remedy = "set provider.partition, cores and options to what "
                          "this cluster has (sinfo)"});
  if (says("Access") || says("ermission") || says("account"))
    refuse_job(RefusalKind::kPermission, {.what = "Slurm does not take the job: " + why,
                                          .where = "provider",
                                          .remedy = "ask for access, or set --account in "
                                                    "provider.options"});
  refuse_job(RefusalKind::kUnreachable,
             {.what = "Slurm does not take the job: " + why, .where = "provider", .remedy = {}},
             kSubmitAgainSeconds);
}

// Waits until the job runs, and returns the name of its node.
awaitable<std::string> SlurmProvider::wait_for_node(MachineId id, std::string job) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const std::string state = queue_.state(job);
    if (state == "RUNNING" && !queue_.node(job).empty()) co_return queue_.node(job);
    const bool waits =
        state == "PENDING" || state == "CONFIGURING" || state == "RUNNING" || state == "?";
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (!is_wanted(id) || !waits || waited.count() > settings_.wait_seconds)
      refuse_job(RefusalKind::kCapacity,
                 {.what = fmt::format("job {} is {}, after {:.0f} s", job,
                                      state.empty() ? "gone" : state, waited.count()),
                  .where = "Slurm's queue",
                  .remedy = "see squeue; ask for less, or raise provider.wait_seconds"},
                 kSubmitAgainSeconds);
    co_await pause(id, kReadSeconds);
  }
}

awaitable<Machine> SlurmProvider::obtain(MachineId id, const MachineRequest&) {
  const std::string job = co_await submit();
  jobs_[id] = job;
  queue_.follow(job);
  const std::string node = co_await wait_for_node(id, job);
  Machine machine;
  machine.name = "job-" + job;
  machine.zone = node;
  machine.type = settings_.partition;
  machine.cores = settings_.cores;
  machine.price.per_hour = settings_.price_per_hour;
  machine.address = co_await address_of(node);
  machine.launch = {"srun",       "--jobid=" + job, "--overlap",  "--nodes=1",
                    "--ntasks=1", "--quiet",        "--mpi=none", "--unbuffered"};
  const std::vector<std::string> site = site_words(settings_.prelude, settings_.launch_prefix);
  machine.launch.insert(machine.launch.end(), settings_.launch_options.begin(),
                        settings_.launch_options.end());
  machine.launch.insert(machine.launch.end(), site.begin(), site.end());
  machine.program_folder = settings_.program_folder;
  spawn(io(), watch(id, job));
  co_return machine;
}

// Reports a lost machine. It gives no notice, since Slurm itself sends SIGTERM to the job's steps
// before the job ends.
awaitable<void> SlurmProvider::watch(MachineId id, std::string job) {
  while (is_wanted(id)) {
    co_await rest(kReadSeconds);
    if (!is_wanted(id)) co_return;
    const std::string state = queue_.state(job);
    if (state == "RUNNING" || state == "?") continue;
    lose(id, {"was ended by Slurm: " + (state.empty() ? "the job is gone" : state)});
  }
}

awaitable<void> SlurmProvider::give_back(MachineId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) co_return;
  queue_.forget(found->second);
  std::vector<std::string> words = {"scancel", found->second};
  const CommandResult result = co_await run(std::move(words));
  if (result.succeeded() || result.output.find("Invalid job id") != std::string::npos)
    jobs_.erase(id);
  else
    log_warning("cannot cancel Slurm job {}: {}", found->second, result.failure());
}

awaitable<std::vector<std::string>> SlurmProvider::close() {
  std::vector<std::string> left;
  for (const auto& [id, job] : jobs_) left.push_back("Slurm job " + job);
  co_return left;
}

namespace {

class SlurmFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    return slurm_catalogue(slurm_settings(config.provider));
  }
  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost&) const override {
    return std::make_unique<SlurmProvider>(io, slurm_settings(config.provider));
  }
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
