// Providers that need a running service, which test/integration/providers/real_providers_test.py
// starts and names in the environment.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/version.h"
#include "runtime/provider/slurm/slurm_commands.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/ssh/ssh_provider.h"
#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/provider/conformance.h"

using namespace scavenger;

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Two hosts that are this machine: the first takes three workers.
SshSettings ssh_to_this_machine() {
  SshSettings settings;
  settings.hosts = {{.destination = "127.0.0.1", .address = "127.0.0.1", .workers = 3},
                    {.destination = "localhost", .address = "127.0.0.1", .workers = 1}};
  settings.options = {"-F", environment("SCAVENGER_TEST_SSH_CONFIG")};
  return settings;
}

const SteadyClock clock_of_test;

ProviderTrial::Make ssh_maker(const SshSettings& settings) {
  return [settings](asio::io_context& io) {
    return std::make_unique<SshProvider>(io, clock_of_test, settings,
                                         environment("SCAVENGER_TEST_PROGRAMS"),
                                         version_line("scavenger-worker"));
  };
}

// What a provider says to a request.
Refusal refusal_of(ProviderTrial& trial, MachineId id = 1) {
  trial.request(id);
  trial.run_until([&] { return trial.diary().refusals.contains(id); });
  return trial.diary().refusals.at(id);
}

}  // namespace

#define SKIP_WITHOUT(variable)                                                   \
  if (environment(variable).empty()) {                                           \
    WARN("skipped: " variable                                                    \
         " is not set; test/integration/providers/real_providers_test.py does"); \
    return;                                                                      \
  }

TEST_CASE("ssh: the contract of providers", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  check_conformance(ssh_maker(ssh_to_this_machine()));
}

TEST_CASE("ssh: with a prelude and a prefix", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  SshSettings settings = ssh_to_this_machine();
  settings.prelude = {"SITE='two words'", "export SITE"};
  settings.launch_prefix = {"env", "IMAGE=x"};
  ProviderTrial trial(ssh_maker(settings));
  const Machine machine = trial.ready(1);
  check_commands(trial, machine);
  const Words command = {"sh", "-c", "echo $SITE $IMAGE"};
  CHECK(trial.run_there(machine, command).last_line() == "two words x");
}

TEST_CASE("ssh: hosts are filled in order, as far as they take workers", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  ProviderTrial trial(ssh_maker(ssh_to_this_machine()));
  for (MachineId id = 1; id <= 3; ++id) CHECK(trial.ready(id).zone == "127.0.0.1");
  CHECK(trial.ready(4).zone == "localhost");
  trial.request(5);
  trial.run_until([&] { return !trial.words(5).empty(); });
  CHECK(trial.diary().refusals.at(5).kind == RefusalKind::kCapacity);
  CHECK(trial.diary().refusals.at(5).retry_after_seconds > 0.0);
  trial.release(2);
  trial.run_until([&] { return trial.words(2).size() == 2; });
  CHECK(trial.ready(6).zone == "127.0.0.1");
}

TEST_CASE("ssh: a host that does not answer is passed over for the next one", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  SshSettings settings = ssh_to_this_machine();
  settings.hosts[0].destination = "nobody-here.invalid";
  ProviderTrial trial(ssh_maker(settings));

  CHECK(trial.ready(1).zone == "localhost");
  CHECK(trial.words(1) == Words{"delayed", "ready"});
  CHECK(refusal_of(trial, 2).retry_after_seconds > 0.0);
}

TEST_CASE("ssh: hosts that cannot be reached are asked again for ten minutes", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  SshSettings settings = ssh_to_this_machine();
  for (SshHost& host : settings.hosts) host.destination = "nobody-here.invalid";
  ManualClock clock;  // begins at 1000 s
  ProviderTrial trial([&](asio::io_context& io) {
    return std::make_unique<SshProvider>(io, clock, settings,
                                         environment("SCAVENGER_TEST_PROGRAMS"),
                                         version_line("scavenger-worker"));
  });
  CHECK(refusal_of(trial, 1).retry_after_seconds > 0.0);
  clock.seconds = 1599.0;
  CHECK(refusal_of(trial, 2).retry_after_seconds > 0.0);
  clock.seconds = 1600.0;
  CHECK_FALSE(refusal_of(trial, 3).retry_after_seconds);
}

TEST_CASE("ssh: hosts without the programs, or with others, are told with a remedy", "[ssh]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SSH_CONFIG");
  SshSettings settings = ssh_to_this_machine();
  settings.program_folder = "/no/such/folder";
  ProviderTrial without(ssh_maker(settings));
  const Refusal nothing = refusal_of(without);
  CHECK(nothing.kind == RefusalKind::kBroken);
  CHECK_THAT(nothing.problem.what, Catch::Contains("/no/such/folder/scavenger-worker"));
  CHECK_THAT(nothing.problem.remedy, Catch::Contains("provider.program_folder"));
  CHECK_FALSE(nothing.retry_after_seconds);

  ProviderTrial other([](asio::io_context& io) {
    return std::make_unique<SshProvider>(io, clock_of_test, ssh_to_this_machine(),
                                         environment("SCAVENGER_TEST_PROGRAMS"),
                                         "scavenger-worker 99.0.0");
  });
  const Refusal another = refusal_of(other);
  CHECK(another.kind == RefusalKind::kBroken);
  CHECK_THAT(another.problem.what, Catch::Contains("99.0.0"));
}

TEST_CASE("slurm: the contract of providers", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  check_conformance([](asio::io_context& io) {
    SlurmSettings settings;
    settings.wait_seconds = 30.0;
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
}

TEST_CASE("slurm: with words for srun, a prelude and a prefix", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.launch_options = {"--export=ALL,STEP=s"};
    settings.prelude = {"SITE='two words'", "export SITE"};
    settings.launch_prefix = {"env", "IMAGE=x"};
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  const Machine machine = trial.ready(1);
  check_commands(trial, machine);
  const Words command = {"sh", "-c", "echo $SITE $IMAGE $STEP"};
  CHECK(trial.run_there(machine, command).last_line() == "two words x s");
}

TEST_CASE("slurm: two workers share a job, each with its part of the node", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.kinds[0].workers_per_job = 2;
    settings.interface = "lo";
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  CHECK(trial.provider().controller_address() == "127.0.0.1");
  trial.request(1, 0);
  trial.request(2, 1);
  trial.run_until([&] { return !trial.words(1).empty() && !trial.words(2).empty(); });
  REQUIRE(trial.words(1) == Words{"ready"});
  REQUIRE(trial.words(2) == Words{"ready"});
  const Machine first = trial.diary().machines.at(1);
  const Machine second = trial.diary().machines.at(2);
  CHECK(first.name != second.name);
  CHECK(first.name.substr(0, first.name.rfind('-')) ==
        second.name.substr(0, second.name.rfind('-')));
  CHECK(first.zone == second.zone);
  CHECK(first.address == "127.0.0.1");
  check_commands(trial, first);
  // Both at once: each waits until the other has begun, too.
  TemporaryFolder folder;
  const auto meet = [&](const char* mine, const char* other) {
    return Words{"sh", "-c",
                 "touch " + (folder.path() / mine).string() + "; until [ -e " +
                     (folder.path() / other).string() + " ]; do sleep 0.1; done; echo met"};
  };
  std::optional<CommandResult> met;
  Words words = first.launch;
  for (const std::string& word : meet("a", "b")) words.push_back(word);
  asio::co_spawn(trial.io(), run_command(std::move(words), std::string(), 30.0),
                 [&](const std::exception_ptr&, CommandResult done) { met = std::move(done); });
  CHECK(trial.run_there(second, meet("b", "a")).last_line() == "met");
  trial.run_until([&] { return met.has_value(); });
  CHECK(met->last_line() == "met");
  // The place of one that was released is free again, in the same job.
  trial.release(1);
  trial.run_until([&] { return trial.words(1).size() == 2; });
  const Machine third = trial.ready(3);
  CHECK(third.zone == second.zone);
  CHECK(third.name.starts_with(second.name.substr(0, second.name.rfind('-'))));
}

TEST_CASE("slurm: before the known end of a job another one runs for its worker", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.kinds[0].time_limit_minutes = 10;
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  const std::string first = trial.ready(1).name.substr(4);
  REQUIRE(std::system(("scontrol update TimeLimit=1 JobId=" + first).c_str()) == 0);
  trial.run_until([&] { return trial.words(1).size() > 1; });
  CHECK(trial.words(1) == Words{"ready", "notice"});
  const Machine& next = trial.ready(2);
  CHECK(next.name.substr(4) != first);
  CHECK(next.charged_seconds >= 0.0);
  trial.release(1);
  trial.run_until([&] { return trial.words(1).size() == 3; });
  CHECK(trial.words(1).back() == "released");
  CHECK(trial.words(2) == Words{"ready"});
}

TEST_CASE("slurm: a worker that leaves before the end of its job is replaced once", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.kinds[0].time_limit_minutes = 10;
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  const std::string left = trial.ready(1).name.substr(4), other = trial.ready(2).name.substr(4);
  trial.provider().note_leaving(1);
  for (const std::string& job : {left, other})
    REQUIRE(std::system(("scontrol update TimeLimit=1 JobId=" + job).c_str()) == 0);
  // Both ends are seen at once, and only one of them is prepared for.
  trial.run_until([&] { return trial.words(2).size() > 1; });
  trial.run_on();
  CHECK(trial.words(1) == Words{"ready"});
  trial.ready(3);
  trial.run_on();
  CHECK(std::system(("test $(squeue --noheader --states=pending,running --name=" +
                     slurm_job_name(::getpid()) + " | wc -l) = 3")
                        .c_str()) == 0);
}

TEST_CASE("slurm: the nodes of the job around a process are its places", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  const auto make = [](asio::io_context& io) {
    SlurmSettings settings;
    settings.uses_allocation = true;
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  };
  if (environment("SLURM_JOB_ID").empty()) {
    asio::io_context io;
    ProviderDiary diary;
    const auto provider = make(io);
    std::optional<Refusal> problem;
    provider->begin(diary, [&](std::optional<Refusal> found) { problem = std::move(found); });
    io.run();
    REQUIRE(problem);
    CHECK_THAT(problem->problem.remedy, Catch::Contains("salloc"));
    return;
  }
  ProviderTrial trial(make);  // two nodes of two processors
  std::map<std::string, int> nodes;
  for (MachineId id = 1; id <= 4; ++id) ++nodes[trial.ready(id).zone];
  CHECK(nodes == std::map<std::string, int>{{"w1", 2}, {"w2", 2}});
  check_commands(trial, trial.diary().machines.at(3));
  trial.request(5);
  trial.run_until([&] { return !trial.words(5).empty(); });
  CHECK(trial.diary().refusals.at(5).kind == RefusalKind::kCapacity);
  trial.release(2);
  trial.run_until([&] { return trial.words(2).size() == 2; });
  CHECK(trial.ready(6).zone == trial.diary().machines.at(2).zone);
}

TEST_CASE("slurm: a kind that no node has is passed over for the next one", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.kinds.resize(2);
    settings.kinds[0].machine.type = "later";
    settings.kinds[0].options = {"--begin=now+1hour"};
    settings.kinds[1].machine.type = "now";
    settings.wait_seconds = 16.0;  // half of it for each: Slurm may look at its queue late
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  CHECK(trial.ready(1).type == "now");
  CHECK(trial.words(1) == Words{"delayed", "ready"});
}

TEST_CASE("slurm: the next process cancels what a killed one of the same job has left", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  TemporaryFolder folder;
  std::ofstream(folder.path() / "slurm_jobs") << "scavenger-elsewhere-7\n";  // of another host
  REQUIRE(std::system("sbatch --job-name=scavenger-elsewhere-7 --output=/dev/null "
                      "--wrap='exec sleep 300' >/dev/null") == 0);
  const auto make = [&](asio::io_context& io) {
    SlurmSettings settings;
    settings.state_folder = folder.path();
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  };
  ProviderTrial trial(make);
  CHECK(std::system("test -z \"$(squeue --noheader --states=pending,running "
                    "--name=scavenger-elsewhere-7)\"") == 0);
  CHECK(read_file(folder.path() / "slurm_jobs") == slurm_job_name(::getpid()) + "\n");
}

TEST_CASE("slurm: a job that is cancelled by somebody else is a lost machine", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    return std::make_unique<SlurmProvider>(io, clock_of_test, SlurmSettings());
  });
  const Machine machine = trial.ready(1);
  const std::string job = machine.name.substr(machine.name.find('-') + 1);
  REQUIRE(std::system(("scancel " + job).c_str()) == 0);
  trial.run_until([&] { return trial.words(1).size() == 2; });
  CHECK(trial.words(1) == Words{"ready", "lost"});
}

TEST_CASE("slurm: what Slurm does not take is told with a remedy", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.kinds[0].partition = "nowhere";
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  const Refusal refusal = refusal_of(trial);
  CHECK(refusal.kind == RefusalKind::kInvalid);
  CHECK_FALSE(refusal.retry_after_seconds);
  CHECK_THAT(refusal.problem.remedy, Catch::Contains("provider.partition"));
}

TEST_CASE("slurm: who waits too long in the queue is refused, and may try again", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.wait_seconds = 1.0;
    settings.kinds[0].options = {"--begin=now+1hour"};
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  const Refusal refusal = refusal_of(trial);
  CHECK(refusal.kind == RefusalKind::kCapacity);
  CHECK(refusal.retry_after_seconds);
}

// For test/study/slurm_calls.py, which counts what Slurm is asked meanwhile.
TEST_CASE("slurm: sixteen machines are held for a minute", "[.slurm_calls]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    if (const std::string each = environment("SCAVENGER_TEST_WORKERS_PER_JOB"); !each.empty())
      settings.kinds[0].workers_per_job = static_cast<std::uint32_t>(std::stoul(each));
    return std::make_unique<SlurmProvider>(io, clock_of_test, settings);
  });
  constexpr MachineId kMachines = 16;
  for (MachineId id = 1; id <= kMachines; ++id) trial.request(id, static_cast<std::uint32_t>(id));
  for (MachineId id = 1; id <= kMachines; ++id)
    trial.run_until([&] { return trial.words(id) == Words{"ready"}; });
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  trial.run_until([&] { return std::chrono::steady_clock::now() > end; }, 90.0);
}
