// Provides hosts of a list, which ssh reaches without asking the user. Nothing is rented; hosts are
// only checked and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/config/provider_config.h"
#include "runtime/process/command.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/machine_description.h"
#include "runtime/provider/provider_factory.h"
#include "runtime/provider/ssh/ssh_connection.h"

namespace scavenger {

struct SshHost {
  std::string destination;  // argument of ssh
  std::string address;
  std::uint32_t workers = 1;
  MachineDescription machine = {};  // of one worker; no cores: as many as this machine has
};

struct SshSettings {
  std::vector<SshHost> hosts;
  std::vector<std::string> options;
  std::vector<std::string> launch_prefix;  // words before scavenger-worker
  std::vector<std::string> prelude;        // lines of bash that are run before it
  std::filesystem::path program_folder;    // on the hosts; empty: same as here
};

// Requires a checked configuration.
SshSettings ssh_settings(const ProviderConfig& config);

// Returns an entry for each host, which is the zone of its entry. Hosts may share a type.
MachineCatalogue ssh_catalogue(const SshSettings& settings);

// Returns options and the destination for ssh, which then asks nothing, notices that a host is
// gone, and connects to no host whose key is not known. `options`: the user's, which count more.
// Pure.
std::vector<std::string> ssh_words(const std::vector<std::string>& options,
                                   const std::string& destination);

// Returns why a host cannot be used, given the result of `PROGRAM --version` there; nothing if it
// can. Pure.
std::optional<Refusal> ssh_refusal(const CommandResult& result, const std::string& destination,
                                   const std::string& program, const std::string& version_line);

class SshProvider final : public Lessor {
 public:
  // `version_line`: the required output of scavenger-worker --version on the hosts.
  // `program_folder`: on this machine. `clock` must outlive the provider.
  SshProvider(asio::io_context& io, const Clock& clock, SshSettings settings,
              const std::filesystem::path& program_folder, std::string version_line);

  std::string name() const override { return "ssh"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  // Returns a host that has room and has not failed recently; nothing if there is none. Empty type:
  // any host.
  std::optional<std::size_t> free_host(const std::string& type) const;
  std::vector<std::string> launch_words(std::size_t host) const;
  awaitable<void> check(std::size_t host) const;
  void note_failure(std::size_t host, RefusalKind kind);
  // Whether nothing is used and no host of that type can be expected to be usable soon.
  bool is_hopeless(const std::string& type) const;

  const Clock& clock_;
  const SshSettings settings_;
  const MachineCatalogue catalogue_;
  const std::filesystem::path program_folder_;
  const std::string version_line_;
  std::unique_ptr<SshSocketFolder> sockets_;
  std::vector<std::unique_ptr<SshConnection>> connections_;  // one for each host
  std::map<MachineId, std::size_t> host_of_;                 // index of each machine's host
  // Of a host that has not been usable since `since_seconds`, and is not tried until
  // `again_seconds`, both on clock_.
  struct Failure {
    RefusalKind kind;
    double since_seconds;
    double again_seconds;
  };
  std::map<std::size_t, Failure> failures_;
};

const ProviderFactory& ssh_provider_factory();

}  // namespace scavenger
