#include "runtime/provider/slurm/slurm_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "runtime/provider/launch_words.h"

namespace scavenger {
namespace {

constexpr double kMebibytesPerGibibyte = 1024.0;

int cores_of(const SlurmKind& kind) {
  return std::max(1, static_cast<int>(std::ceil(kind.machine.cores)));
}

// What `workers` of them have besides processors.
void add_resources(Words& words, const SlurmKind& kind, std::uint32_t workers) {
  const MachineDescription& machine = kind.machine;
  if (machine.memory_gib > 0.0)
    words.push_back(fmt::format("--mem={:.0f}M",
                                std::ceil(machine.memory_gib * workers * kMebibytesPerGibibyte)));
  if (machine.gpus > 0)
    words.push_back(fmt::format("--gres=gpu:{}{}{}", machine.gpu_type,
                                machine.gpu_type.empty() ? "" : ":", machine.gpus * workers));
}

}  // namespace

Words slurm_submit_words(const SlurmKind& kind, double notice_seconds, const std::string& name) {
  Words words = {"sbatch",
                 "--parsable",
                 "--no-requeue",
                 "--nodes=1",
                 fmt::format("--ntasks={}", kind.workers_per_job),
                 "--output=/dev/null",
                 "--job-name=" + name,
                 fmt::format("--cpus-per-task={}", cores_of(kind))};
  if (!kind.partition.empty()) words.push_back("--partition=" + kind.partition);
  add_resources(words, kind, kind.workers_per_job);
  if (kind.time_limit_minutes > 0)
    words.push_back(fmt::format("--time={}", kind.time_limit_minutes));
  // To the workers, which are steps, and not to the script.
  if (notice_seconds > 0.0) {
    const double half = kind.time_limit_minutes * 30.0;
    const double ahead = half > 0.0 ? std::min(notice_seconds, half) : notice_seconds;
    words.push_back(fmt::format("--signal=TERM@{:.0f}", std::ceil(ahead)));
  }
  words.insert(words.end(), kind.options.begin(), kind.options.end());
  words.emplace_back("--wrap=exec sleep infinity");
  return words;
}

Words slurm_step_words(const SlurmSettings& settings, const SlurmKind& kind, const std::string& job,
                       const std::string& node, bool shares_node) {
  Words words = {"srun",    "--jobid=" + job, "--nodes=1",   "--ntasks=1",
                 "--quiet", "--mpi=none",     "--unbuffered"};
  if (!node.empty()) words.push_back("--nodelist=" + node);
  if (shares_node) {
    words.emplace_back("--exact");
    words.push_back(fmt::format("--cpus-per-task={}", cores_of(kind)));
    // Without a size the first step would take all memory of the job, and the next one would wait.
    if (kind.machine.memory_gib <= 0.0) words.emplace_back("--mem=0");
    add_resources(words, kind, 1);
  } else {
    words.emplace_back("--overlap");
  }
  words.insert(words.end(), settings.launch_options.begin(), settings.launch_options.end());
  const Words site = site_words(settings.prelude, settings.launch_prefix);
  words.insert(words.end(), site.begin(), site.end());
  return words;
}

Words outside_slurm_job(Words words, const Words& environment) {
  Words all;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!name.starts_with("SLURM_") || name == "SLURM_CONF" || name == "SLURM_CLUSTERS") continue;
    if (all.empty()) all.emplace_back("env");
    all.emplace_back("-u");
    all.push_back(name);
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Words outside_slurm_job(Words words) {
  Words environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return outside_slurm_job(std::move(words), environment);
}

}  // namespace scavenger
