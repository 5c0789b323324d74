#include "campaign/run/simulation_command.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/random.h"

namespace scavenger::campaign {
namespace {

constexpr std::uint64_t kMostSeeds = 2147483646;

int signal_number(const std::string& name) {
  if (name == "TERM") return SIGTERM;
  if (name == "INT") return SIGINT;
  return name == "USR1" ? SIGUSR1 : 0;
}

}  // namespace

std::uint64_t seed_of(std::uint64_t campaign_seed, PointIndex point) {
  return 1 + RandomStream(campaign_seed, "simulation", {point}).below(kMostSeeds);
}

Substitutions substitutions_of(const CampaignConfig& config, const Space& space, PointIndex point) {
  Substitutions values;
  const std::vector<double> numbers = space.values_at(point);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    values[space.names()[i]] = number_text(numbers[i]);
  values["seed"] = std::to_string(seed_of(config.seed, point));
  return values;
}

message::Run segment_command(const CampaignConfig& config, const Space& space, TaskId task,
                             PointIndex point, std::uint64_t from, std::uint64_t until) {
  const SimulationConfig& simulation = config.simulation;
  Substitutions values = substitutions_of(config, space, point);
  values["from"] = std::to_string(from);
  values["until"] = std::to_string(until);
  values["steps"] = std::to_string(until - from);
  message::Run run;
  run.task = task;
  for (const std::string& word : simulation.command) run.words.push_back(fill_word(word, values));
  run.checkpoint_files = simulation.checkpoint.files;
  run.result_files = simulation.result.files;
  run.takes_checkpoints = simulation.checkpoint.mode == CheckpointMode::kSelf;
  run.stop_file = simulation.stop.file;
  run.stop_signal = signal_number(simulation.stop.signal);
  return run;
}

bool can_be_lengthened(const SimulationConfig& simulation) {
  const auto is_told = [](const std::string& word) {
    const std::vector<std::string> names = placeholders_in(word);
    return std::ranges::any_of(
        names, [](const std::string& name) { return name == "until" || name == "steps"; });
  };
  return simulation.checkpoint.mode == CheckpointMode::kSegments &&
         std::ranges::any_of(simulation.command, is_told);
}

std::vector<TaskFile> filled_files(const CampaignConfig& config, const Space& space,
                                   PointIndex point, std::vector<TaskFile> inputs) {
  const Substitutions values = substitutions_of(config, space, point);
  const std::vector<std::string>& templates = config.simulation.templates;
  for (TaskFile& file : inputs)
    if (std::ranges::find(templates, file.name) != templates.end())
      file.content = fill_template(file.content, values);
  return inputs;
}

}  // namespace scavenger::campaign
