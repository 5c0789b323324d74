// A list of hosts that ssh reaches without asking anything: nothing is rented, hosts are only
// checked and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/provider_config.h"
#include "runtime/process/command.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"

namespace scavenger {

struct SshHost {
  std::string destination;  // as ssh takes it
  std::string address;
  std::uint32_t workers = 1;
  std::uint32_t cores = 0;  // of one worker; 0: those of this machine
  double price_per_hour = 0.0;
};

struct SshSettings {
  std::vector<SshHost> hosts;
  std::vector<std::string> options;
  std::filesystem::path program_folder;  // on the hosts; empty: as here
};

// Requires a checked configuration.
SshSettings ssh_settings(const ProviderConfig& config);

// An entry for each host, which is its zone: hosts have no types.
MachineCatalogue ssh_catalogue(const SshSettings& settings);

// What speaks against a host, by what `PROGRAM --version` did and printed there. Pure.
std::optional<Refusal> ssh_refusal(const CommandResult& result, const std::string& destination,
                                   const std::string& program, const std::string& version_line);

class SshProvider final : public Lessor {
 public:
  // `version_line`: what scavenger-worker --version must say on the hosts. `program_folder`: here.
  SshProvider(asio::io_context& io, SshSettings settings,
              const std::filesystem::path& program_folder, std::string version_line);

  std::string name() const override { return "ssh"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  // A host with room that has not failed lately; nothing where there is none.
  std::optional<std::size_t> free_host() const;
  std::vector<std::string> launch_words(const SshHost& host) const;
  awaitable<void> check(const SshHost& host) const;

  const SshSettings settings_;
  const MachineCatalogue catalogue_;
  const std::filesystem::path program_folder_;
  const std::string version_line_;
  std::map<MachineId, std::size_t> berths_;                      // index of the host
  std::map<std::size_t, asio::steady_timer::time_point> rests_;  // hosts that failed, until when
};

const ProviderFactory& ssh_provider_factory();

}  // namespace scavenger
