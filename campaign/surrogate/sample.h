// What a surrogate learns from: simulations that were completed and found valid, as points of the
// space and profiles.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scavenger::surrogate {

struct Sample {
  std::vector<double> parameters;  // in the order of the space, in the user's units
  std::vector<double> profile;     // the output: bins of a profile, or any fixed number of values
  // The standard error of each bin; empty: not known. An error bar that means something else must
  // be converted by the caller.
  std::vector<double> errors;
  double steps = 1.0;  // how long it was simulated, relative to the shortest
};

// Why a sample must not be trained on; nothing if it may be. `bins` of 0: any number.
std::optional<std::string> fault_of(const Sample& sample, std::size_t parameters, std::size_t bins);

// The mean over bins of the square of the standard errors; 0 if they are not known.
double statistical_variance(const Sample& sample);

// Maps the space to [-1, 1] in each coordinate; a coordinate with one value becomes 0.
class UnitSpace final {
 public:
  explicit UnitSpace(std::span<const std::vector<double>> points);
  std::vector<double> to_unit(std::span<const double> parameters) const;
  // Whether a point lies in the box of the points that this was made of.
  bool contains(std::span<const double> parameters) const;

 private:
  std::vector<double> low_, high_;
};

double squared_distance(std::span<const double> a, std::span<const double> b);

}  // namespace scavenger::surrogate
