#include "runtime/provider/slurm/slurm_commands.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/slurm/slurm_text.h"

namespace scavenger {
namespace {

constexpr double kCommandSeconds = 60.0;
constexpr double kSubmitAgainSeconds = 30.0;
constexpr const char* kNamePrefix = "scavenger-";

std::string this_host() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

[[noreturn]] void refuse_submission(RefusalKind kind, std::string what, std::string remedy,
                                    std::optional<double> retry_after_seconds = std::nullopt) {
  throw MachineRefused({kind,
                        {.what = std::move(what), .where = "provider", .remedy = std::move(remedy)},
                        retry_after_seconds});
}

// All that sbatch says: the last line may only name its help.
std::string whole_failure(const CommandResult& result) {
  constexpr std::size_t kMostBytes = 1000;
  std::string said = result.output.substr(0, kMostBytes);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (said.empty()) return result.failure();
  for (std::size_t end = said.find('\n'); end != std::string::npos; end = said.find('\n', end))
    said.replace(end, 1, "; ");
  return said;
}

[[noreturn]] void refuse_for(const std::string& why) {
  const auto says = [&](const char* part) { return why.find(part) != std::string::npos; };
  const std::string what = "Slurm does not take the job: " + why;
  // Limits of a user or an account pass: jobs end.
  if (says("QOSMax") || says("AssocMax") || says("Limit") || says("exceeds"))
    refuse_submission(RefusalKind::kQuota, what,
                      "see the limits of your account (sacctmgr show assoc)", kSubmitAgainSeconds);
  if (says("nvalid") || says("not available") || says("unrecognized") || says("nknown option"))
    refuse_submission(
        RefusalKind::kInvalid, what,
        "set provider.partition, cores, memory_gib, gpus and options to what this cluster has "
        "(sinfo)");
  if (says("Access") || says("ermission") || says("account"))
    refuse_submission(RefusalKind::kPermission, what,
                      "ask for access, or set --account in provider.options");
  refuse_submission(RefusalKind::kUnreachable, what, {}, kSubmitAgainSeconds);
}

struct OwnJobs {
  bool is_known = false;  // Slurm has answered
  std::vector<NamedSlurmJob> jobs;
};

awaitable<OwnJobs> own_jobs() {
  OwnJobs own;
  Words words = {"squeue", "--noheader", "--format=%i %j", "--user=" + std::to_string(::geteuid())};
  CommandResult list;
  try {
    list = co_await run_slurm(std::move(words));
  } catch (const SystemError&) {
    co_return own;
  }
  own.is_known = list.succeeded();
  if (own.is_known) own.jobs = named_slurm_jobs(list.output);
  co_return own;
}

}  // namespace

awaitable<CommandResult> run_slurm(Words words) {
  Words outside = outside_slurm_job(std::move(words));
  co_return co_await run_command(std::move(outside), std::string(), kCommandSeconds);
}

awaitable<std::string> submit_slurm_job(SlurmKind kind, double notice_seconds, std::string name) {
  Words words = slurm_submit_words(kind, notice_seconds, name);
  const CommandResult result = co_await run_slurm(std::move(words));
  if (!result.succeeded()) refuse_for(whole_failure(result));
  if (const auto job = submitted_slurm_job(result.output)) co_return *job;
  refuse_submission(
      RefusalKind::kBroken, "sbatch tells no job's number: " + result.failure(),
      "see what sbatch --parsable prints here; scavenger-ctl clean cancels what it may have "
      "made");
}

awaitable<bool> cancel_slurm_job(std::string job) {
  Words words = {"scancel", job};
  CommandResult result;
  try {
    result = co_await run_slurm(std::move(words));
  } catch (const SystemError& error) {  // no further process can be started
    log_warning("cannot cancel Slurm job {}: {}", job, error.what());
    co_return false;
  }
  const bool is_gone =
      result.succeeded() || result.output.find("Invalid job id") != std::string::npos;
  if (!is_gone) log_warning("cannot cancel Slurm job {}: {}", job, result.failure());
  co_return is_gone;
}

awaitable<double> slurm_gib_per_core(std::string job) {
  Words words = {"scontrol", "--oneliner", "show", "job", job};
  CommandResult shown;
  try {
    shown = co_await run_slurm(std::move(words));
  } catch (const SystemError& error) {  // no further process can be started
    log_warning("cannot ask for the memory of Slurm job {}: {}", job, error.what());
  }
  co_return slurm_memory_gib_per_core(shown.output).value_or(0.0);
}

std::string slurm_job_name(std::int64_t owner) {
  return fmt::format("{}{}-{}", kNamePrefix, this_host(), owner);
}

awaitable<std::vector<std::string>> cancel_abandoned_slurm_jobs() {
  std::vector<std::string> cancelled;
  const OwnJobs own = co_await own_jobs();
  const std::string prefix = kNamePrefix + this_host() + "-";
  for (const auto& [job, name] : own.jobs) {
    const auto owner = owner_of_slurm_job(name, prefix);
    if (!owner || ::kill(*owner, 0) == 0 || errno == EPERM) continue;
    if (co_await cancel_slurm_job(job)) cancelled.push_back("Slurm job " + job);
  }
  co_return cancelled;
}

awaitable<std::vector<std::string>> take_over_slurm_jobs(std::filesystem::path state_folder,
                                                         std::string own_name) {
  std::vector<std::string> cancelled;
  if (state_folder.empty()) co_return cancelled;
  const std::filesystem::path file = state_folder / "slurm_jobs";
  std::filesystem::create_directories(state_folder);
  Words names;
  if (std::filesystem::exists(file)) names = slurm_node_names(read_file(file));
  std::erase(names, own_name);
  std::string text = own_name + "\n";
  for (const std::string& name : names) text += name + "\n";
  write_file_atomically(file, text);
  if (names.empty()) co_return cancelled;
  const OwnJobs own = co_await own_jobs();
  bool are_gone = own.is_known;
  for (const auto& [job, name] : own.jobs) {
    if (std::ranges::find(names, name) == names.end()) continue;
    if (co_await cancel_slurm_job(job))
      cancelled.push_back("Slurm job " + job);
    else
      are_gone = false;
  }
  if (are_gone) write_file_atomically(file, own_name + "\n");
  co_return cancelled;
}

}  // namespace scavenger
