// The provider of a campaign's machines: that of training jobs, asked for machines that run
// scavenger-task.
#pragma once

#include <filesystem>
#include <memory>

#include "campaign/config/campaign_config.h"
#include "runtime/provider/machine_catalogue.h"
#include "runtime/provider/provider_factory.h"

namespace scavenger::campaign {

// Throws InputError if the settings cannot be used.
MachineCatalogue catalogue_of(const CampaignConfig& config, std::uint32_t cores);
// The age at which the provider ends each machine (provider.max_run_seconds); infinite if it does
// not.
double wall_seconds_of(const CampaignConfig& config);
std::unique_ptr<Provider> make_provider(asio::io_context& io, const CampaignConfig& config,
                                        const ProviderHost& host);

// Throws InputError if no machine of the provider has the cores that a simulation needs. `cores`:
// of this machine.
void check_machines(const CampaignConfig& config, std::uint32_t cores);

// Throws InputError if segments are to be longer than machines live.
void check_segments(const CampaignConfig& config);

// Throws InputError if simulations run on this machine and their program is not there, or if a
// surrogate is to be trained and `program_folder` has no scavenger-worker to train it, as in the
// wheel.
void check_programs(const CampaignConfig& config, const std::filesystem::path& program_folder);

}  // namespace scavenger::campaign
