#include "campaign/run/surrogate_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "campaign/result/result_files.h"
#include "campaign/run/simulation_store.h"
#include "campaign/surrogate/member_job.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {

void to_json(nlohmann::json& json, const CurrentSurrogate& current) {
  json = {{"folder", current.folder},          {"points", current.points},
          {"multiples", current.multiples},    {"holdout", current.holdout},
          {"linear_trend", current.has_trend}, {"without_noise", current.is_without_noise}};
  if (!current.lengths.empty()) {
    json["lengths"] = current.lengths;
    json["noise"] = current.noise;
    json["remainder"] = current.continues_remainder;
  }
}
void from_json(const nlohmann::json& json, CurrentSurrogate& current) {
  json.at("folder").get_to(current.folder);
  json.at("points").get_to(current.points);
  json.at("holdout").get_to(current.holdout);
  // Campaigns that could not lengthen simulations have written none.
  current.multiples = json.value("multiples", std::vector<std::uint32_t>());
  // Networks of earlier versions have learned whole profiles.
  current.has_trend = json.value("linear_trend", false);
  current.is_without_noise = json.value("without_noise", false);
  // And have seen all parameters alike.
  current.lengths = json.value("lengths", std::vector<double>());
  current.noise = json.value("noise", 0.0);
  // And predicted what the networks say alone.
  current.continues_remainder = json.value("remainder", false);
}

namespace {

namespace fs = std::filesystem;

fs::path current_file(const CampaignFolder& folder) {
  return folder.surrogate() / "current.json";
}

CurrentSurrogate read_current(const CampaignFolder& folder) {
  const fs::path file = current_file(folder);
  try {
    auto current = parse_json(read_file(file)).get<CurrentSurrogate>();
    constexpr std::size_t kFewestPoints = 2;  // that a network can be trained from
    if (current.points.size() >= kFewestPoints && current.folder.find('/') == std::string::npos)
      return current;
  } catch (const nlohmann::json::exception&) {  // told below
  }
  throw DataError({.what = "it does not name a trained surrogate",
                   .where = file.string(),
                   .remedy = "resume the campaign, which trains another one"});
}

void append(std::vector<double>& all, const std::vector<std::vector<double>>& columns) {
  for (const std::vector<double>& column : columns)
    all.insert(all.end(), column.begin(), column.end());
}

surrogate::Sample sample_of(std::vector<double> parameters, const Profile& profile) {
  surrogate::Sample sample;
  sample.parameters = std::move(parameters);
  append(sample.profile, profile.y);
  append(sample.errors, profile.errors);
  // A short simulation has no standard errors.
  if (!std::ranges::all_of(sample.errors, [](double error) { return std::isfinite(error); }))
    sample.errors.clear();
  return sample;
}

// The first result may be the torn one.
std::size_t most_common_rows(const std::vector<std::pair<PointIndex, Profile>>& profiles) {
  std::map<std::size_t, std::size_t> counts;
  for (const auto& [point, profile] : profiles) ++counts[profile.x.size()];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most == counts.end() ? 0 : most->first;
}

}  // namespace

surrogate::FitSettings fit_settings_of(const CampaignConfig& config) {
  const SurrogateConfig& wanted = config.surrogate.value();
  surrogate::FitSettings settings;
  settings.hidden.assign(wanted.hidden.begin(), wanted.hidden.end());
  settings.members = wanted.members;
  settings.iterations = wanted.iterations;
  settings.learning_rate = wanted.learning_rate;
  settings.seed = config.seed;
  return settings;
}

surrogate::UnitSpace unit_space_of(const CampaignConfig& config) {
  std::vector<std::vector<double>> corners(2);
  for (const auto& [name, parameter] : config.space) {
    const std::vector<double> values = values_of(parameter);
    corners[0].push_back(std::ranges::min(values));
    corners[1].push_back(std::ranges::max(values));
  }
  return surrogate::UnitSpace(corners);
}

PointSamples read_samples(const CampaignFolder& folder, const CampaignConfig& config,
                          std::span<const PointIndex> points,
                          std::span<const std::uint32_t> multiples, std::size_t rows) {
  const ProfileColumns& columns = config.simulation.result.profile.value();
  const Space space(config.space);
  const SimulationStore store(folder.path);
  PointSamples read{{}, {}, {}, {}, rows, {}};
  std::vector<std::pair<PointIndex, Profile>> profiles;
  std::map<PointIndex, std::uint32_t> multiple_of;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointIndex point = points[i];
    const std::uint32_t multiple = multiple_of[point] = multiples.empty() ? 1 : multiples[i];
    try {
      profiles.emplace_back(point, read_profile(store.result_of(point, multiple), columns));
    } catch (const InputError& error) {
      read.faults.push_back(fmt::format("{}: {}", space.text_at(point), error.what()));
    }
  }
  if (read.rows == 0) read.rows = most_common_rows(profiles);
  for (auto& [point, profile] : profiles) {
    surrogate::Sample sample = sample_of(space.values_at(point), profile);
    const auto fault =
        surrogate::fault_of(sample, config.space.size(), read.rows * columns.y.size());
    if (fault) {
      read.faults.push_back(fmt::format("{}: {}", space.text_at(point), *fault));
      continue;
    }
    sample.steps = multiple_of.at(point);
    read.points.push_back(point);
    read.multiples.push_back(multiple_of.at(point));
    read.samples.push_back(std::move(sample));
    read.places.push_back(std::move(profile.x));
  }
  return read;
}

void keep_current(const CampaignFolder& folder, const CurrentSurrogate& current) {
  write_file_atomically(current_file(folder), json_text(nlohmann::json(current)) + "\n");
  remove_other_trainings(folder);
}

void remove_other_trainings(const CampaignFolder& folder) {
  std::string kept;
  try {
    if (has_surrogate(folder)) kept = read_current(folder).folder;
  } catch (const InputError&) {  // damaged: the next training takes its place
  }
  std::error_code error;
  std::vector<fs::path> others;
  fs::directory_iterator entry(folder.surrogate(), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->is_directory() && entry->path().filename() != kept) others.push_back(entry->path());
  for (const fs::path& other : others) fs::remove_all(other, error);
}

bool has_surrogate(const CampaignFolder& folder) {
  std::error_code error;
  return fs::exists(current_file(folder), error);
}

LoadedSurrogate load_surrogate(const CampaignFolder& folder, const CampaignConfig& config,
                               CurrentSurrogate current) {
  surrogate::FitSettings settings = fit_settings_of(config);
  settings.linear_trend = current.has_trend;
  settings.without_noise = current.is_without_noise;
  settings.in_lengths = !current.lengths.empty();
  settings.continues_remainder = current.continues_remainder;
  if (!current.multiples.empty() && current.multiples.size() != current.points.size())
    throw DataError({.what = "it has not as many multiples as points",
                     .where = current_file(folder).string(),
                     .remedy = "resume the campaign, which trains another surrogate"});
  const auto is_length = [](double length) { return length > 0.0 && std::isfinite(length); };
  if (settings.in_lengths) {
    if (current.lengths.size() != config.space.size() || !is_length(current.noise) ||
        !std::ranges::all_of(current.lengths, is_length))
      throw DataError({.what = "its lengths are not a positive number for each parameter",
                       .where = current_file(folder).string(),
                       .remedy = "resume the campaign, which trains another surrogate"});
    settings.known_lengths.emplace(current.lengths, current.noise);
  }
  PointSamples trained = read_samples(folder, config, current.points, current.multiples, 0);
  const PointSamples holdout = read_samples(folder, config, current.holdout, {}, trained.rows);
  if (!trained.faults.empty() || !holdout.faults.empty())
    throw DataError({.what = "a result that the surrogate was trained from has changed: " +
                             (trained.faults.empty() ? holdout : trained).faults.front(),
                     .where = folder.path.string(),
                     .remedy = "restore the folder from a copy"});
  surrogate::Encoding encoding =
      surrogate::encode(unit_space_of(config), trained.samples, settings);
  std::vector<surrogate::Perceptron> members;
  for (std::size_t index = 0; index < settings.members; ++index) {
    const fs::path place = folder.surrogate() / current.folder / fmt::format("member-{}", index);
    const surrogate::MemberJob job{place / "job.json", place / "run",
                                   place / "weights.safetensors"};
    members.push_back(surrogate::read_member(job, encoding.set, settings));
  }
  surrogate::Surrogate surrogate(std::move(encoding), std::move(members), trained.samples);
  surrogate.calibrate(holdout.samples);
  std::vector<std::vector<double>> parameters;
  for (const surrogate::Sample& sample : trained.samples) parameters.push_back(sample.parameters);
  return {std::move(surrogate),
          surrogate::ProfilePlaces(unit_space_of(config), parameters, std::move(trained.places)),
          std::move(current)};
}

LoadedSurrogate load_surrogate(const CampaignFolder& folder, const CampaignConfig& config) {
  if (!config.surrogate)
    throw InputError(
        {.what = "this campaign trains no surrogate",
         .where = folder.path.string(),
         .remedy = "add a section \"surrogate\" to its configuration, and run it anew"});
  if (!has_surrogate(folder))
    throw InputError(
        {.what = "no surrogate of this campaign is trained yet",
         .where = folder.path.string(),
         .remedy = "let it go on until it says that one is (surrogate.first_results)"});
  return load_surrogate(folder, config, read_current(folder));
}

}  // namespace scavenger::campaign
