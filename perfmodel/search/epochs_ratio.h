// How many more epochs the rest of a job takes at another batch, as far as the noise tells: with
// what nobody knows of it counted in.
#pragma once

#include <optional>

#include "perfmodel/search/measured_progress.h"

namespace scavenger::perfmodel {

// The gradient noise scale, as measured so far.
struct MeasuredNoise {
  double scale = 0.0;  // B_s
  double low = 0.0;    // 95 % interval
  double high = 0.0;
};

// Two batches, one beside the other.
struct BatchPair {
  double global_batch = 0.0;
  double beside = 0.0;
};

// E[(epochs at B / epochs at `beside`)^power]. Epochs follow 1 + B / B_s with the noise that is
// still to come, which is more than that so far (it grows most in the first minutes) and not known
// well, and depart from that law by a power of B, which `progress` knows as far as it was measured.
// Without noise nearly everything is possible; `usual` is then the middle of what B_s may be.
double expected_epochs_ratio(const BatchPair& pair, const std::optional<MeasuredNoise>& noise,
                             double usual, const MeasuredProgress& progress, double power = 1.0);

}  // namespace scavenger::perfmodel
