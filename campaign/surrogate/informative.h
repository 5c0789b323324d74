// Which points to simulate next, for what they tell about all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "campaign/surrogate/correlation.h"

namespace scavenger::surrogate {

// Points in [-1, 1].
struct Unsimulated {
  std::vector<std::vector<double>> candidates;
  std::vector<double> scores;  // how much is not known at each
  std::vector<std::vector<double>> simulated;
  std::vector<std::vector<double>> busy;  // are being simulated
  // A sample of the whole space, and how much is not known there: a variance, or another measure.
  std::vector<std::vector<double>> places;
  std::vector<double> unknown;
};

// Greedy: the candidate whose simulation would take away most of what is not known at all places,
// then again with that candidate among the busy ones. At each place a simulation takes away the
// share that it explains: the square of the correlation of what the process does not know there and
// here, given all that is simulated. So a point at an edge, which tells about few others, counts
// less than one that is as uncertain amid others. Returns indices of candidates.
std::vector<std::size_t> most_informative(const CorrelationOfPoints& process,
                                          const Unsimulated& points, std::size_t count);

// By what they tell, or, if no lengths are known, the most uncertain ones (selection.h). In large
// spaces only the most uncertain candidates are compared.
std::vector<std::size_t> next_points(const std::optional<CorrelationOfPoints>& lengths,
                                     const Unsimulated& points, std::size_t count);

// The points of the space that stand for all of them, drawn at random.
std::vector<std::uint32_t> sampled_places(std::size_t points, std::uint64_t seed);

}  // namespace scavenger::surrogate
