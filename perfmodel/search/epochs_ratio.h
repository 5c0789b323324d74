// How many more epochs the rest of a job takes at another batch, as far as the noise tells: with
// what nobody knows of it counted in.
#pragma once

#include <optional>
#include <span>

#include "perfmodel/search/measured_progress.h"
#include "perfmodel/search/noise_trend.h"

namespace scavenger::perfmodel {

struct KnownNoise {
  std::optional<MeasuredNoise> so_far{};           // in this job
  std::optional<NoiseGrowth> growth{};             // likewise
  std::optional<MeasuredNoise> of_earlier_jobs{};  // of this model and data, by their ends
  double usual = 0.0;  // the middle of what B_s may be before anything was measured
};

// What each of some earlier jobs measured by its end, and how much one job may differ from them.
// Nothing if there is none.
std::optional<MeasuredNoise> noise_of_earlier_jobs(std::span<const double> scales);

// Two batches, one beside the other.
struct BatchPair {
  double global_batch = 0.0;
  double beside = 0.0;
};

// E[(epochs at B / epochs at `beside`)^power]. Epochs follow 1 + B / B_s with the noise that is
// still to come, which is more than that so far (it grows most in the first minutes, and is not
// known well), and depart from that law by a power of B, which `progress` knows as far as it was
// measured. By how much noise grows differs so much between jobs (0 to 3 in its logarithm) that
// earlier jobs of the same model say more of it than the first part of a job. Without noise nearly
// everything is possible.
double expected_epochs_ratio(const BatchPair& pair, const KnownNoise& noise,
                             const MeasuredProgress& progress, double power = 1.0);

}  // namespace scavenger::perfmodel
