// The provider that a job's configuration names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/net/asio.h"
#include "runtime/provider/provider.h"

namespace scavenger {

// `cores` of this machine, the folder of its programs, and that of the job, where a provider keeps
// what the job's next process must know. Throws InputError for settings that cannot be used.
std::unique_ptr<Provider> make_provider(asio::io_context& io, const JobConfig& config,
                                        std::uint32_t cores,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& state_folder);

// What can be told of it before there is a run folder, within seconds. Throws InputError.
void check_provider(const JobConfig& config);

// How many workers a search may take for granted: those that fit here, or on the machines that are
// configured, and eight of those that are rented.
std::uint32_t room_for_workers(const JobConfig& config, std::uint32_t cores);

}  // namespace scavenger
