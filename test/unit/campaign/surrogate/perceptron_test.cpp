#include "campaign/surrogate/perceptron.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/safetensors/safetensors.h"
#include "test/support/temporary_folder.h"

namespace scavenger::surrogate {
namespace {

const std::vector<DenseWeights> kLayers{
    {2, 3, {1.0F, 2.0F, -1.0F, 0.5F, 0.0F, 1.0F}, {0.1F, 0.0F, -0.2F}},
    {3, 1, {1.0F, -1.0F, 2.0F}, {0.5F}}};

// Tensors by name and shape; the values are zeros.
std::filesystem::path file_of(
    const TemporaryFolder& folder,
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
  static const std::vector<float> zeros(100, 0.0F);
  std::vector<TensorSource> sources;
  std::string bytes;
  for (const auto& [name, shape] : tensors) {
    std::size_t size = 1;
    for (const std::int64_t side : shape) size *= static_cast<std::size_t>(side);
    sources.push_back(
        {name, ElementType::kF32, shape, std::as_bytes(std::span(zeros).first(size))});
    bytes.append(size * sizeof(float), '\0');
  }
  const auto path = folder.path() / "weights.safetensors";
  write_file_atomically(path, safetensors_preamble(sources, {}) + bytes);
  return path;
}

}  // namespace

TEST_CASE("a perceptron is its layers with the activation between them") {
  const std::vector<double> x{0.3, -0.7};
  const double a = 0.3 - 1.4 + 0.1, b = -0.3 - 0.35, c = -0.7 - 0.2;
  const Perceptron smooth(kLayers, Activation::kTanh);
  CHECK(smooth(x)[0] ==
        Approx(std::tanh(a) - std::tanh(b) + 2.0 * std::tanh(c) + 0.5).epsilon(1e-6));
  const Perceptron rectified(kLayers, Activation::kRelu);
  CHECK(rectified(std::vector<double>{1.0, 0.0})[0] == Approx(1.1 - 0.0 + 0.0 + 0.5).epsilon(1e-6));
}

TEST_CASE("a network whose training did not converge is refused") {
  std::vector<DenseWeights> layers = kLayers;
  layers[1].bias[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(Perceptron(layers, Activation::kTanh), DataError);
}

TEST_CASE("files that hold no perceptron are refused, with their name") {
  const TemporaryFolder folder;
  const auto refused = [&](const auto& tensors) {
    CHECK_THROWS_WITH(read_perceptron(file_of(folder, tensors), Activation::kTanh),
                      Catch::Contains("weights.safetensors"));
  };
  using Tensors = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
  refused(Tensors{{"other", {2}}});
  refused(Tensors{{"layers.0.weight", {3, 2}}});
  refused(Tensors{{"layers.0.weight", {3, 2}}, {"layers.0.bias", {2}}});
  refused(Tensors{{"layers.0.weight", {3, 2}},
                  {"layers.0.bias", {3}},
                  {"layers.1.weight", {1, 4}},
                  {"layers.1.bias", {1}}});
  const Perceptron good =
      read_perceptron(file_of(folder, Tensors{{"layers.0.weight", {3, 2}}, {"layers.0.bias", {3}}}),
                      Activation::kTanh);
  CHECK(good.inputs() == 2);
  CHECK(good.outputs() == 3);
  CHECK_THROWS_AS(read_perceptron(folder.path() / "nothing", Activation::kTanh), Error);
}

}  // namespace scavenger::surrogate
