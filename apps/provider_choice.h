// The provider that a job's configuration names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/net/asio.h"
#include "runtime/provider/provider.h"

namespace scavenger {

// `cores` of this machine, and the folder of its programs.
std::unique_ptr<Provider> make_provider(asio::io_context& io, const JobConfig& config,
                                        std::uint32_t cores,
                                        const std::filesystem::path& program_folder);

}  // namespace scavenger
