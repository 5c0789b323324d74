// The surrogate of a campaign on the controller's disk:
//
//   RUN/surrogate/training-16/member-0/...   a training from 16 results
//   RUN/surrogate/current.json               which of them counts, and what it was trained on
//
// The weights are those of scavenger-train. All else is made again from the simulations' results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "campaign/config/campaign_config.h"
#include "campaign/run/campaign_folder.h"
#include "campaign/space/space.h"
#include "campaign/surrogate/profile_places.h"
#include "campaign/surrogate/surrogate.h"

namespace scavenger::campaign {

surrogate::FitSettings fit_settings_of(const CampaignConfig& config);

// The box of the space.
surrogate::UnitSpace unit_space_of(const CampaignConfig& config);

// Results as samples. The values of all columns of `y` stand one after the other in a profile.
struct PointSamples {
  std::vector<PointIndex> points;
  std::vector<std::uint32_t> multiples;  // of the configured steps, of each
  std::vector<surrogate::Sample> samples;
  // Of the values of one column, for each of the samples.
  std::vector<std::vector<double>> places;
  std::size_t rows = 0;             // that many
  std::vector<std::string> faults;  // of results that are not used
};

// Results that cannot be read, or have not so many rows, are among the faults. 0 rows stand for the
// most common number of them.
// `multiples`: which result of each point, by its steps; empty: those of the configured steps.
PointSamples read_samples(const CampaignFolder& folder, const CampaignConfig& config,
                          std::span<const PointIndex> points,
                          std::span<const std::uint32_t> multiples, std::size_t rows);

// A training's folder, relative to the run folder.
struct CurrentSurrogate {
  std::string folder;
  std::vector<PointIndex> points;        // that it was trained on
  std::vector<std::uint32_t> multiples;  // of the configured steps, of each; empty: 1
  std::vector<PointIndex> holdout;       // that it was calibrated on
  bool has_trend = true;                 // FitSettings::linear_trend
  bool is_without_noise = true;          // FitSettings::without_noise
  // Encoding::lengths. None: networks see parameters as they are.
  std::vector<double> lengths{};
  double noise = 0.0;
  bool continues_remainder = true;  // FitSettings::continues_remainder
};

// Replaces the one before at once, and removes its folder. Throws SystemError.
void keep_current(const CampaignFolder& folder, const CurrentSurrogate& current);
// Removes trainings that did not become the current one.
void remove_other_trainings(const CampaignFolder& folder);

bool has_surrogate(const CampaignFolder& folder);

struct LoadedSurrogate {
  surrogate::Surrogate surrogate;
  surrogate::ProfilePlaces places;
  CurrentSurrogate current;
};

// Throws DataError or CheckpointError if its files are damaged.
LoadedSurrogate load_surrogate(const CampaignFolder& folder, const CampaignConfig& config,
                               CurrentSurrogate current);
// The current one. Throws InputError, too, if there is none yet.
LoadedSurrogate load_surrogate(const CampaignFolder& folder, const CampaignConfig& config);

}  // namespace scavenger::campaign
