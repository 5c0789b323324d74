// The interface of a kind of provider to the rest of the program. The folder of each provider has a
// function that returns its factory; elastic/providers/job_provider.cpp lists them all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/net/asio.h"
#include "runtime/provider/provider.h"

namespace scavenger {

// The properties of the process that trains a job that its provider must know.
struct ProviderHost {
  std::uint32_t cores = 0;               // of this machine
  std::filesystem::path program_folder;  // of scavenger-worker on this machine
  // Folder of the job, the same for all of its processes, for state that the next process needs.
  std::filesystem::path state_folder;
};

// Thread-safe: a factory has no state.
class ProviderFactory {
 public:
  virtual ~ProviderFactory() = default;

  // Returns the catalogue of the provider that make() returns. It follows from the configuration
  // and the files that this names, so a replay gets the catalogue of the job. `cores`: of this
  // machine. Throws InputError if a price list cannot be used.
  virtual MachineCatalogue catalogue(const JobConfig& config, std::uint32_t cores) const = 0;

  // Throws InputError if the settings cannot be used.
  virtual std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                         const ProviderHost& host) const = 0;

  // Checks what is possible before there is a run folder. Takes seconds at most. Throws InputError.
  virtual void check(const JobConfig&) const {}

  // Removes what killed processes of this machine have left, here or elsewhere. Returns a
  // description of each removed item.
  virtual awaitable<std::vector<std::string>> clean() const {
    co_return std::vector<std::string>();
  }
};

}  // namespace scavenger
