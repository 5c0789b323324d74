#include "campaign/reader/campaign_consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "campaign/result/result_files.h"
#include "campaign/space/placeholders.h"
#include "campaign/space/space.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/pattern.h"

namespace scavenger::campaign {
namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

class ConsistencyCheck final {
 public:
  explicit ConsistencyCheck(const CampaignConfig& config) : config_(config) {}

  std::vector<Violation> run() {
    check_space();
    check_command();
    check_files();
    check_checkpoint();
    check_stop();
    check_result();
    check_limits();
    check_surrogate();
    return std::move(violations_);
  }

 private:
  void fail(const std::string& place, std::string what, std::string remedy) {
    violations_.push_back({JsonPointer(place), std::move(what), std::move(remedy)});
  }
  void check_space();
  void check_parameter(const std::string& name, const ParameterConfig& parameter);
  void check_command();
  void check_files();
  void check_checkpoint();
  void check_patterns(const std::string& place, const std::vector<std::string>& patterns);
  void check_stop_file();
  void check_stop();
  void check_result();
  void check_limits();
  void check_surrogate();

  const CampaignConfig& config_;
  std::vector<Violation> violations_;
};

void ConsistencyCheck::check_parameter(const std::string& name, const ParameterConfig& parameter) {
  const std::string place = (JsonPointer("/space") / name).to_string();  // with escapes
  if (!is_parameter_name(name) || is_reserved_name(name))
    return fail(place, fmt::format("a parameter cannot be named \"{}\"", name),
                "use letters, digits and \"_\", and none of from, until, steps and seed");
  const bool has_range = !parameter.range.empty();
  if (has_range == !parameter.values.empty())
    return fail(place, has_range ? "it has both values and a range" : "it has no values",
                "write \"values\": [...], or \"range\": [first, last] and \"step\"");
  if (has_range != (parameter.step > 0.0))
    return fail(place, has_range ? "its range has no step" : "it has a step, but no range",
                "write \"range\": [first, last] and \"step\"");
  if (has_range && parameter.range[0] > parameter.range[1])
    return fail(place + "/range", "the first value is above the last", "exchange them");
  if (has_range && (parameter.range[1] - parameter.range[0]) / parameter.step > 1e6)
    return fail(place + "/step", "the range has more than a million values", "use a larger step");
  const std::vector<double> values = values_of(parameter);
  if (std::set<double>(values.begin(), values.end()).size() == values.size()) return;
  if (has_range)
    fail(place + "/step", "the values of the range differ after their twelfth digit only",
         "use a larger step, or a parameter that is counted from the first value");
  else
    fail(place + "/values", "a value is there twice", "remove one of them");
}

void ConsistencyCheck::check_space() {
  if (config_.space.empty())
    return fail("/space", "the space has no parameters",
                "add one: \"c\": {\"values\": [0.1, 0.5, 1]}");
  for (const auto& [name, parameter] : config_.space) check_parameter(name, parameter);
  if (!violations_.empty()) return;
  if (!is_space_small_enough(config_.space))
    fail("/space", fmt::format("the space has more than {} points", kMostPoints),
         "use fewer values");
}

void ConsistencyCheck::check_command() {
  std::set<std::string> known = {"from", "until", "steps", "seed"};
  std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, parameter] : config_.space) {
    known.insert(name);
    names.push_back(name);
  }
  const std::vector<std::string>& command = config_.simulation.command;
  bool names_steps = false;
  for (std::size_t i = 0; i < command.size(); ++i)
    for (const std::string& name : placeholders_in(command[i])) {
      names_steps |= name == "until" || name == "steps";
      if (!known.contains(name))
        fail(fmt::format("/simulation/command/{}", i), fmt::format("there is no {{{}}}", name),
             "use " + join_words(names) + ", or write {{ and }} for braces");
    }
  if (!names_steps && config_.simulation.checkpoint.mode == CheckpointMode::kSegments)
    fail("/simulation/command", "the command does not say how far a segment goes",
         "put {until} or {steps} into it, or set checkpoint.mode to self");
}

void ConsistencyCheck::check_files() {
  std::set<std::string> names;
  for (std::size_t i = 0; i < config_.simulation.files.size(); ++i) {
    std::filesystem::path path = config_.simulation.files[i];
    if (!path.has_filename()) path = path.parent_path();  // "folder/"
    if (!names.insert(path.filename().string()).second)
      fail(fmt::format("/simulation/files/{}", i), "two files have the same name",
           "rename one of them");
  }
  for (std::size_t i = 0; i < config_.simulation.templates.size(); ++i) {
    const std::filesystem::path path = config_.simulation.templates[i];
    const std::string first = path.empty() ? std::string() : path.begin()->string();
    if (!names.contains(first))
      fail(fmt::format("/simulation/templates/{}", i),
           fmt::format("\"{}\" is not among simulation.files", first),
           "add it to simulation.files");
  }
}

void ConsistencyCheck::check_patterns(const std::string& place,
                                      const std::vector<std::string>& patterns) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::filesystem::path pattern = patterns[i];
    if (pattern.is_absolute() || std::ranges::count(pattern, "..") > 0)
      fail(fmt::format("{}/{}", place, i), "the file is not in the simulation's folder",
           "write a path from there, without \"..\"");
  }
}

void ConsistencyCheck::check_checkpoint() {
  const SimulationConfig& simulation = config_.simulation;
  check_patterns("/simulation/checkpoint/files", simulation.checkpoint.files);
  if (simulation.checkpoint.mode == CheckpointMode::kSelf &&
      simulation.result.merge == MergeRule::kMeanBySteps)
    fail("/simulation/result/merge",
         "a simulation that is not cut into segments has no means of them",
         "set result.merge to last, or checkpoint.mode to segments");
}

// It is removed before each segment.
void ConsistencyCheck::check_stop_file() {
  const SimulationConfig& simulation = config_.simulation;
  const std::string& name = simulation.stop.file;
  if (!is_plain_name(name))
    fail("/simulation/stop/file", "the file is not in the simulation's folder",
         "write a name without \"/\"");
  const auto is_input = [&](const std::filesystem::path& file) { return file.filename() == name; };
  if (std::ranges::count(simulation.checkpoint.files, name) > 0 ||
      std::ranges::count(simulation.result.files, name) > 0 ||
      std::ranges::any_of(simulation.files, is_input))
    fail("/simulation/stop/file", "the simulation needs a file of this name for something else",
         "use a name that is no input, checkpoint or result");
}

void ConsistencyCheck::check_stop() {
  const SimulationConfig& simulation = config_.simulation;
  const SimulationStop& stop = simulation.stop;
  const std::vector<std::string>& checkpoints = simulation.checkpoint.files;
  const std::vector<std::string>& results = simulation.result.files;
  if (!stop.file.empty() && !stop.signal.empty())
    fail("/simulation/stop", "it has both a file and a signal", "leave one of them out");
  if (!stop.file.empty()) check_stop_file();
  if (stop.reached && !is_plain_name(stop.reached->file))
    fail("/simulation/stop/reached/file", "the file is not in the simulation's folder",
         "write a name without \"/\"");
  else if (stop.reached && !fits_any(stop.reached->file, checkpoints) &&
           !fits_any(stop.reached->file, results))
    fail("/simulation/stop/reached/file",
         fmt::format("\"{}\" is neither a checkpoint nor a result", stop.reached->file),
         "add it to result.files, or name one of them");
  if (simulation.result.merge == MergeRule::kMeanBySteps && stop.can_stop() && !stop.reached)
    fail("/simulation/stop", "it is not known how many steps a stopped segment has",
         "add stop.reached, leave stop out, or set result.merge to last");
}

void ConsistencyCheck::check_result() {
  const SimulationResult& result = config_.simulation.result;
  check_patterns("/simulation/result/files", result.files);
  const auto& profile = result.profile;
  if (profile && !fits_any(profile->file, result.files))
    fail("/simulation/result/profile/file", fmt::format("\"{}\" is no result", profile->file),
         "add it to result.files");
  else if (profile && !is_table_file(profile->file))
    fail("/simulation/result/profile/file", fmt::format("\"{}\" is no table", profile->file),
         "write profiles to a file whose name ends with .csv");
  if (profile && !profile->errors.empty() && profile->errors.size() != profile->y.size())
    fail("/simulation/result/profile/errors",
         fmt::format("there are {} columns of errors for {} of values", profile->errors.size(),
                     profile->y.size()),
         "name one for each, or none");
  const ValidityRules& valid = config_.simulation.valid;
  const auto may_be_json = [](const std::string& pattern) {
    return is_json_file(pattern) || pattern.ends_with('*');
  };
  if (!valid.ranges.empty() && std::ranges::none_of(result.files, may_be_json))
    fail("/simulation/valid/ranges", "no result has numbers with names",
         "add a file that ends with .json to result.files");
  for (const auto& [key, range] : valid.ranges)
    if (range[0] > range[1])
      fail("/simulation/valid/ranges", fmt::format("the range of \"{}\" is empty", key),
           "write the lowest value first");
}

void ConsistencyCheck::check_limits() {
  if (config_.selection.holdout == 0 || !violations_.empty()) return;
  const std::size_t points = Space(config_.space).size();
  if (config_.selection.holdout > points)
    fail("/selection/holdout", fmt::format("the space has only {} points", points), "use fewer");
}

void ConsistencyCheck::check_surrogate() {
  const auto& surrogate = config_.surrogate;
  if (!surrogate) {
    if (config_.selection.rule == SelectionRule::kUncertainty)
      fail("/selection/rule", "there is no surrogate whose uncertainty could be looked at",
           "add a section \"surrogate\": {}, or use the rule space_filling");
    return;
  }
  const auto& profile = config_.simulation.result.profile;
  if (!profile)
    fail("/surrogate", "a surrogate learns profiles, and results have none",
         "add simulation.result.profile, or leave the surrogate out");
  if (config_.selection.holdout < 2)
    fail("/selection/holdout", "a surrogate is judged on 2 simulations at least",
         "use about a tenth of the space, or leave the surrogate out");
  if (surrogate->target_within_errors > 0.0 && profile && profile->errors.empty())
    fail("/surrogate/target_within_errors", "simulated profiles have no error bars",
         "add simulation.result.profile.errors, or use target_rmse");
  if (config_.selection.rule == SelectionRule::kUncertainty && surrogate->members < 2)
    fail("/surrogate/members", "one member has no spread to choose points by",
         "use 2 at least, or the rule space_filling");
  if (!violations_.empty()) return;
  constexpr std::size_t kFewestToTrain = 4;
  const std::size_t points = Space(config_.space).size();
  if (points < config_.selection.holdout + kFewestToTrain)
    fail("/selection/holdout",
         fmt::format("of {} points it leaves fewer than {} to train on", points, kFewestToTrain),
         "use fewer, or a larger space");
}

}  // namespace

std::vector<Violation> find_inconsistencies(const CampaignConfig& config) {
  return ConsistencyCheck(config).run();
}

}  // namespace scavenger::campaign
