#include "campaign/run/machine_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "elastic/providers/job_provider.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

// The part of a training job's configuration that providers read.
JobConfig job_config_of(const CampaignConfig& config) {
  JobConfig job;
  job.name = config.name;
  job.seed = config.seed;
  job.provider = config.provider;
  job.cluster.workers = config.machines.count;
  job.cluster.price_per_worker_hour = config.machines.price_per_hour;
  job.cluster.listen_address = config.machines.listen_address;
  job.cluster.port = config.machines.port;
  return job;
}

bool is_on_this_machine(ProviderType type) {
  return type == ProviderType::kLocal || type == ProviderType::kEmulated;
}

bool is_program(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

// As the shell looks for it, or beside this program.
bool can_be_found(const std::string& program) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  if (is_program(here / program)) return true;
  if (program.find('/') != std::string::npos) return is_program(program);
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_program(fs::path(folder) / program)) return true;
  return false;
}

// Whether an input, such as run.sh or code/run.sh, is a program.
bool is_input_program(const fs::path& program, const std::vector<fs::path>& inputs) {
  return std::ranges::any_of(inputs, [&](const fs::path& input) {
    return input.filename() == *program.begin() && is_program(input.parent_path() / program);
  });
}

}  // namespace

MachineCatalogue catalogue_of(const CampaignConfig& config, std::uint32_t cores) {
  return elastic::provider_factory(config.provider.type).catalogue(job_config_of(config), cores);
}

double wall_seconds_of(const CampaignConfig& config) {
  return parse_json(config.provider.settings)
      .value("max_run_seconds", std::numeric_limits<double>::infinity());
}

std::unique_ptr<Provider> make_provider(asio::io_context& io, const CampaignConfig& config,
                                        const ProviderHost& host) {
  const JobConfig job = job_config_of(config);
  const ProviderFactory& factory = elastic::provider_factory(config.provider.type);
  factory.check(job);
  return factory.make(io, job, host);
}

void check_machines(const CampaignConfig& config, std::uint32_t cores) {
  const ProviderType type = config.provider.type;
  double most = 0.0;
  for (const CatalogueEntry& entry : catalogue_of(config, cores).entries)
    most = std::max(most, entry.cores > 0.0 ? entry.cores : 1e9);
  if (type == ProviderType::kLocal) most = std::max(1.0, most / config.machines.count);
  if (most >= config.simulation.cores || type == ProviderType::kEmulated) return;
  throw InputError(
      {.what = fmt::format("a simulation takes {} cores, and no machine has more than {:g}",
                           config.simulation.cores, most),
       .where = "simulation.cores",
       .remedy = "use fewer cores, or larger machines"});
}

void check_segments(const CampaignConfig& config) {
  const SimulationCheckpoint& checkpoint = config.simulation.checkpoint;
  const double wall = wall_seconds_of(config);
  if (checkpoint.mode != CheckpointMode::kSegments || checkpoint.interval_seconds < wall) return;
  throw InputError(
      {.what = fmt::format("segments of {:g} s would not end before their machines, which live for "
                           "{:g} s (provider.max_run_seconds)",
                           checkpoint.interval_seconds, wall),
       .where = "simulation.checkpoint.interval_seconds",
       .remedy = "use less, or auto: then segments end before their machines do"});
}

void check_programs(const CampaignConfig& config, const fs::path& program_folder) {
  if (config.surrogate && !fs::exists(program_folder / "scavenger-worker"))
    throw InputError(
        {.what = "there is no scavenger-worker, which trains the surrogate",
         .where = program_folder.string(),
         .remedy = "use a build with LibTorch, or leave out the section surrogate and use the "
                   "selection.rule space_filling"});
  const std::string& program = config.simulation.command.front();
  if (program.find('{') != std::string::npos) return;  // it depends on the point
  if (program.starts_with("./")) {
    const fs::path input = fs::path(program).lexically_normal();
    if (is_input_program(input, config.simulation.files)) return;
    throw InputError({.what = fmt::format("{} is no program among simulation.files", program),
                      .where = "simulation.command",
                      .remedy = "add it there, and make it executable (chmod +x)"});
  }
  if (!is_on_this_machine(config.provider.type) || can_be_found(program)) return;
  throw InputError({.what = fmt::format("there is no program {}", program),
                    .where = "simulation.command",
                    .remedy = "install it, or write its whole path"});
}

}  // namespace scavenger::campaign
