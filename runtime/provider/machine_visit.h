// A look at the machines that jobs have rented, and their removal by hand: what the commands for
// each cloud (scavenger-ctl gcp, scavenger-ctl k8s) have in common.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/config/provider_config.h"
#include "runtime/net/asio.h"

namespace scavenger {

struct MachineVisit {
  std::string job;  // only machines of this job, by its label; empty: of all jobs
  // Whether to delete so many machines. Empty: nothing is deleted.
  std::function<bool(std::size_t count)> may_delete;
};

// Returns the provider of a run folder, or of a configuration. Throws InputError if it is of
// another type; `place` is where machines of that type are, for instance "on Compute Engine".
ProviderConfig provider_of_job(const std::filesystem::path& run_or_config, ProviderType type,
                               std::string_view place);

// Returns what became of a machine that was to be deleted, as a line. `problem` is empty if it is
// gone.
std::string deletion_text(const std::string& name, const std::string& problem);

// Runs `visit` on `io` until it has ended; returns or throws what it does. Blocks.
bool finish_visit(asio::io_context& io, awaitable<bool> visit);

}  // namespace scavenger
