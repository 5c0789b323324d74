// A small trained network in plain C++: dense layers with a function between them, as
// scavenger-train exports them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/config/model_config.h"

namespace scavenger::surrogate {

struct DenseWeights {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> weight;  // {outputs, inputs}, row-major
  std::vector<float> bias;    // {outputs}
};

class Perceptron final {
 public:
  // Requires at least one layer; each takes what the one before gives. Throws DataError if a weight
  // is not finite: such a network was not trained.
  Perceptron(std::vector<DenseWeights> layers, Activation activation);

  std::size_t inputs() const { return layers_.front().inputs; }
  std::size_t outputs() const { return layers_.back().outputs; }
  std::vector<double> operator()(std::span<const double> x) const;

 private:
  std::vector<DenseWeights> layers_;
  Activation activation_;
};

// Reads layers.<i>.weight and layers.<i>.bias of a safetensors file. Throws CheckpointError or
// DataError, which name the file.
Perceptron read_perceptron(const std::filesystem::path& file, Activation activation);

}  // namespace scavenger::surrogate
