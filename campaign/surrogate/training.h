// The training of an ensemble: arrays that any trainer takes, and the seam through which members
// are trained. A campaign passes in the elastic trainer (member_job.h), a study one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "campaign/surrogate/correlation.h"
#include "campaign/surrogate/perceptron.h"
#include "campaign/surrogate/principal_components.h"
#include "campaign/surrogate/sample.h"

namespace scavenger::surrogate {

// How members are trained. All of them see the same rows and differ by their initial weights.
struct FitSettings {
  double component_share = 0.999999;  // of the variance of the profiles
  std::size_t most_components = 32;
  bool linear_trend = true;  // networks learn what an affine function of the parameters leaves
  // Networks see each parameter relative to the length over which profiles change.
  bool in_lengths = true;
  std::optional<CorrelationOfPoints> known_lengths{};  // else they are fitted
  // The process with these lengths continues to other points what a network leaves at those that
  // it was trained on.
  bool continues_remainder = true;
  bool without_noise = true;  // nor components that the noise of the bins alone would make
  std::vector<std::size_t> hidden{48, 48};
  Activation activation = Activation::kTanh;
  std::size_t members = 5;
  std::size_t iterations = 3000;  // of Adam, each over all rows
  double learning_rate = 0.01;    // at the start; falls to 1 % of this along a cosine
  std::uint64_t seed = 1;
};

// x and y, row-major, as the loss wants them: parameters in [-1, 1], and coordinates along the
// principal components, the first of which count most.
struct TrainingSet {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> x;  // {rows, inputs}
  std::vector<float> y;  // {rows, outputs}
  std::size_t rows() const { return inputs == 0 ? 0 : x.size() / inputs; }
};

// What a training starts from, and what is needed to read its result.
struct Encoding {
  UnitSpace space;
  std::vector<std::vector<double>> trend;  // [1 + parameters][bins]; empty: none
  PrincipalComponents components;
  std::vector<double> output_scales;           // of each coordinate, as the network has it
  std::optional<CorrelationOfPoints> lengths;  // none: too few samples, or not asked for
  bool continues_remainder = false;            // of networks; has lengths
  TrainingSet set;

  // What a network is asked with at this point.
  std::vector<double> inputs(std::span<const double> unit) const;

  // Of a profile at this point, along the principal components, in their deviations.
  std::vector<double> coordinates(std::span<const double> unit, std::vector<double> profile) const;
  // The profile of such coordinates at this point.
  std::vector<double> profile(std::span<const double> unit,
                              std::span<const double> coordinates) const;
};

// A simulation that is n times as long as the shortest has a variance of 1 / n, so it is n rows:
// the mean squared error is then weighted by the error bars. At most 16 rows each.
Encoding encode(const UnitSpace& space, std::span<const Sample> samples,
                const FitSettings& settings);

// Trains member `index` and returns its network. May throw anything that the trainer throws.
using TrainMember =
    std::function<Perceptron(const TrainingSet&, const FitSettings&, std::size_t index)>;

}  // namespace scavenger::surrogate
