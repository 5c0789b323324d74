// The configuration of a campaign (docs/campaigns.md). Plain data; its keys, ranges and defaults
// are configs/campaign.schema.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/provider_config.h"

namespace scavenger::campaign {

// One coordinate of the space. Either `values`, or `range` with `step`.
struct ParameterConfig {
  std::vector<double> values;
  std::vector<double> range;  // empty, or the first and the last value
  double step = 0.0;

  bool operator==(const ParameterConfig&) const = default;
};

enum class CheckpointMode { kSegments, kSelf };

struct SimulationCheckpoint {
  std::vector<std::string> files;  // patterns (runtime/checkpoint/pattern.h)
  CheckpointMode mode = CheckpointMode::kSegments;
  double interval_seconds = 0.0;  // 0: by cost and machines' lives
  double mean_life_hours = 12.0;

  bool operator==(const SimulationCheckpoint&) const = default;
};

// Where the step stands that a stopped simulation has reached.
struct ReachedStep {
  std::string file;
  std::string key;  // empty: the file is the number

  bool operator==(const ReachedStep&) const = default;
};

// How a simulation is asked to stop: by a file, by a signal, or, with neither, not at all.
struct SimulationStop {
  std::string file;
  std::string signal;  // "TERM"
  double grace_seconds = 20.0;
  std::optional<ReachedStep> reached;

  bool can_stop() const { return !file.empty() || !signal.empty(); }
  bool operator==(const SimulationStop&) const = default;
};

enum class MergeRule { kLast, kMeanBySteps };

// The table that reports draw. `errors` is empty or has an entry for each of `y`.
struct ProfileColumns {
  std::string file;
  std::string x;
  std::vector<std::string> y;
  std::vector<std::string> errors;

  bool operator==(const ProfileColumns&) const = default;
};

struct SimulationResult {
  std::vector<std::string> files;  // patterns
  MergeRule merge = MergeRule::kLast;
  std::optional<ProfileColumns> profile;

  bool operator==(const SimulationResult&) const = default;
};

struct ValidityRules {
  bool finite = true;
  std::map<std::string, std::vector<double>> ranges;  // key of the JSON result: lowest, highest

  bool operator==(const ValidityRules&) const = default;
};

// The most that an input file, or all files of a checkpoint or a result together, may have.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{64} << 20;

struct SimulationConfig {
  std::vector<std::string> command;
  std::vector<std::filesystem::path> files;  // absolute after loading
  std::vector<std::string> templates;        // paths inside of the simulation's folder
  std::uint32_t cores = 1;
  std::uint64_t steps = 0;
  std::uint64_t step_multiple = 1;
  SimulationCheckpoint checkpoint;
  SimulationStop stop;
  SimulationResult result;
  ValidityRules valid;
  double limit_hours = 24.0;
  std::uint32_t tries = 3;

  bool operator==(const SimulationConfig&) const = default;
};

enum class SelectionRule { kRandom, kSpaceFilling, kUncertainty };

struct SelectionConfig {
  std::uint32_t holdout = 0;
  SelectionRule rule = SelectionRule::kSpaceFilling;

  bool operator==(const SelectionConfig&) const = default;
};

// The surrogate that a campaign trains from the profiles of its results.
struct SurrogateConfig {
  // The campaign ends if the error on the holdout is within both; 0: not asked for.
  double target_rmse = 0.0;           // in the unit of the profile
  double target_within_errors = 0.0;  // share of values
  std::uint32_t first_results = 16;
  std::uint32_t retrain_results = 8;
  std::uint32_t most_doublings = 3;  // of a simulation's steps, where its error dominates
  std::uint32_t members = 5;
  std::vector<std::uint32_t> hidden{48, 48};
  std::uint32_t iterations = 3000;
  double learning_rate = 0.01;

  bool operator==(const SurrogateConfig&) const = default;
};

// 0: no limit.
struct CampaignStop {
  std::uint64_t max_simulations = 0;
  double max_cost = 0.0;  // dollars

  bool operator==(const CampaignStop&) const = default;
};

struct MachinesConfig {
  std::uint32_t count = 1;
  double price_per_hour = 0.0;  // dollars
  std::string listen_address = "127.0.0.1";
  std::uint16_t port = 0;
  double start_seconds = 60.0;
  double silence_seconds = 30.0;

  bool operator==(const MachinesConfig&) const = default;
};

struct CampaignConfig {
  std::string name;
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, ParameterConfig>> space;  // in the order of the document
  SimulationConfig simulation;
  SelectionConfig selection;
  std::optional<SurrogateConfig> surrogate;
  CampaignStop stop;
  MachinesConfig machines;
  ProviderConfig provider;

  bool operator==(const CampaignConfig&) const = default;
};

}  // namespace scavenger::campaign
