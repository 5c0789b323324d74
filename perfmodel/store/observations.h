// From rows of a record to what the models are fitted to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_record.h"
#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// Which rows count. Empty: those of the machine type, of the target and of the learning-rate phase
// of which there are most.
struct RowFilter {
  std::string machine;
  std::string target;
  std::optional<std::uint32_t> phase;
};

struct Observations {
  std::vector<TimeObservation> times;  // one per configuration
  std::vector<EpochObservation> epochs;
  std::vector<NoiseObservation> noise;  // one per batch size
  std::optional<double> noise_scale;    // B_s, mean over what was measured
  std::string machine;                  // what was taken
  std::string target;
  std::uint32_t phase = 0;
};

// Rows of one configuration are averaged, weighted by their iterations; the standard error holds
// what they state and what they differ by. Noise is normalised for many workers, B_s / (B + B_s),
// where B_s is known: that does not depend on K; else it is taken as it was measured. Throws
// DataError where a filter leaves nothing.
Observations observations_of(const ModelRecord& record, const RowFilter& filter = {});

}  // namespace scavenger::perfmodel
