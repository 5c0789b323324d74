// Which point of the space to simulate next, from what a surrogate does not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scavenger::surrogate {

enum class SelectionRule {
  kUncertainty,   // the largest uncertainty, damped near points that are being simulated
  kSpaceFilling,  // the point that is farthest from all others
  kRandom
};

// Greedy: the candidate with the largest score (a variance, or another measure of what is not
// known there) times damping, then again with that candidate among the busy ones. Each busy point
// damps by 1 - exp(-d^2 / 2 l^2), since its result will tell about its surroundings, too; l is half
// of the distance of neighbours if `simulated` points filled the space evenly; coordinates in which
// candidates do not differ do not count. `candidates` and `busy` are in [-1, 1]. Returns indices of
// candidates.
std::vector<std::size_t> most_uncertain(std::span<const std::vector<double>> candidates,
                                        std::span<const double> uncertainties,
                                        const std::vector<std::vector<double>>& busy,
                                        std::size_t simulated, std::size_t count);

// Completed points to simulate for twice as long instead of a new one, whose variance is
// `new_variance`. Twice the steps halve the statistical variance of a point. That is worth more if
// the point's is larger than the surrogate's there, and half of it larger than what a new point
// teaches. The greatest first; indices.
std::vector<std::size_t> worth_lengthening(std::span<const double> statistical_variances,
                                           std::span<const double> variances, double new_variance);

// Greedy maximin: the candidate whose nearest of `taken` is farthest away. The first, if nothing is
// taken, is drawn from `seed`.
std::vector<std::size_t> space_filling(std::span<const std::vector<double>> candidates,
                                       const std::vector<std::vector<double>>& taken,
                                       std::uint64_t seed, std::size_t count);

}  // namespace scavenger::surrogate
