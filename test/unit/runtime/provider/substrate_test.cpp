// Providers that need a running service, which test/integration/providers_test.py starts and names
// in the environment.
#include <cstdlib>
#include <string>

#include "runtime/base/version.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/ssh/ssh_provider.h"
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

ProviderTrial::Make ssh_maker(const SshSettings& settings) {
  return [settings](asio::io_context& io) {
    return std::make_unique<SshProvider>(io, settings, environment("SCAVENGER_TEST_PROGRAMS"),
                                         version_line("scavenger-worker"));
  };
}

// What a provider says to a request.
Refusal refusal_of(ProviderTrial& trial) {
  trial.request(1);
  trial.run_until([&] { return trial.diary().refusals.contains(1); });
  return trial.diary().refusals.at(1);
}

}  // namespace

#define SKIP_WITHOUT(variable)                                                         \
  if (environment(variable).empty()) {                                                 \
    WARN("skipped: " variable " is not set; test/integration/providers_test.py does"); \
    return;                                                                            \
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

  ProviderTrial other([](asio::io_context& io) {
    return std::make_unique<SshProvider>(io, ssh_to_this_machine(),
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
    return std::make_unique<SlurmProvider>(io, settings);
  });
}

TEST_CASE("slurm: with words for srun, a prelude and a prefix", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial([](asio::io_context& io) {
    SlurmSettings settings;
    settings.launch_options = {"--export=ALL,STEP=s"};
    settings.prelude = {"SITE='two words'", "export SITE"};
    settings.launch_prefix = {"env", "IMAGE=x"};
    return std::make_unique<SlurmProvider>(io, settings);
  });
  const Machine machine = trial.ready(1);
  check_commands(trial, machine);
  const Words command = {"sh", "-c", "echo $SITE $IMAGE $STEP"};
  CHECK(trial.run_there(machine, command).last_line() == "two words x s");
}

TEST_CASE("slurm: a job that is cancelled by somebody else is a lost machine", "[slurm]") {
  SKIP_WITHOUT("SCAVENGER_TEST_SLURM");
  ProviderTrial trial(
      [](asio::io_context& io) { return std::make_unique<SlurmProvider>(io, SlurmSettings()); });
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
    settings.partition = "nowhere";
    return std::make_unique<SlurmProvider>(io, settings);
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
    settings.options = {"--begin=now+1hour"};
    return std::make_unique<SlurmProvider>(io, settings);
  });
  const Refusal refusal = refusal_of(trial);
  CHECK(refusal.kind == RefusalKind::kCapacity);
  CHECK(refusal.retry_after_seconds);
}
