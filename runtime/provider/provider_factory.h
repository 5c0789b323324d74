// A kind of provider, by which it is known to the rest of the program: each folder of one has a
// function that returns its factory, and elastic/providers/job_provider.cpp names them all.
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

// The process that trains a job, as far as its provider must know it.
struct ProviderHost {
  std::uint32_t cores = 0;               // of this machine
  std::filesystem::path program_folder;  // of scavenger-worker on this machine
  // Of the job, the same for each of its processes: for what the next one must know.
  std::filesystem::path state_folder;
};

// Thread-safe: a factory has no state.
class ProviderFactory {
 public:
  virtual ~ProviderFactory() = default;

  // What the provider that make() returns has to offer. It follows from the configuration and the
  // files that it names, so a replay gets what the job had. `cores`: of this machine. Throws
  // InputError if a price list cannot be used.
  virtual MachineCatalogue catalogue(const JobConfig& config, std::uint32_t cores) const = 0;

  // Throws InputError for settings that cannot be used.
  virtual std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                         const ProviderHost& host) const = 0;

  // Checks what can be known before there is a run folder; takes seconds at most. Throws
  // InputError.
  virtual void check(const JobConfig&) const {}

  // Removes what killed processes have left on this machine, or from it, and returns what it
  // removed, in words for people.
  virtual awaitable<std::vector<std::string>> clean() const {
    co_return std::vector<std::string>();
  }
};

}  // namespace scavenger
