#include "test/unit/campaign/surrogate/adam_trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/random.h"

namespace scavenger::surrogate {
namespace {

// The same source for the instructions that this processor has.
#define SCAVENGER_TEST_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

// tanh to 1e-6 by its continued fraction: the compiler turns it into vector instructions.
float fast_tanh(float x) {
  const float limited = std::clamp(x, -7.9F, 7.9F), s = limited * limited;
  const float above = limited * (135135.0F + s * (17325.0F + s * (378.0F + s)));
  const float below = 135135.0F + s * (62370.0F + s * (3150.0F + s * 28.0F));
  return std::clamp(above / below, -1.0F, 1.0F);
}

// A dense layer with its gradients and Adam's moments. Matrices are {inputs, outputs} here, so that
// the inner loops run along outputs.
struct Layer {
  std::size_t inputs, outputs;
  std::vector<float> weight, gradient, first, second;  // the last row is the bias
  Layer(std::size_t in, std::size_t out, RandomStream& random) : inputs(in), outputs(out) {
    weight.resize((in + 1) * out);
    const double limit = 1.0 / std::sqrt(static_cast<double>(in));
    for (float& value : weight) value = static_cast<float>(limit * (2.0 * random.uniform() - 1.0));
    gradient.resize(weight.size());
    first.resize(weight.size());
    second.resize(weight.size());
  }

  SCAVENGER_TEST_CLONES void forward(const std::vector<float>& x, std::vector<float>& y,
                                     std::size_t rows) const {
    y.resize(rows * outputs);
    for (std::size_t r = 0; r < rows; ++r) {
      float* const out = y.data() + r * outputs;
      std::copy_n(weight.data() + inputs * outputs, outputs, out);
      for (std::size_t i = 0; i < inputs; ++i) {
        const float value = x[r * inputs + i];
        const float* const row = weight.data() + i * outputs;
        for (std::size_t o = 0; o < outputs; ++o) out[o] += value * row[o];
      }
    }
  }

  // Fills `gradient`; `dx` becomes the gradient of the inputs, unless it is null.
  SCAVENGER_TEST_CLONES void backward(const std::vector<float>& x, const std::vector<float>& dy,
                                      std::vector<float>* dx, std::size_t rows) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    if (dx != nullptr) dx->resize(rows * inputs);
    for (std::size_t r = 0; r < rows; ++r) {
      const float* const d = dy.data() + r * outputs;
      for (std::size_t i = 0; i < inputs; ++i) {
        const float value = x[r * inputs + i];
        float* const row = gradient.data() + i * outputs;
        for (std::size_t o = 0; o < outputs; ++o) row[o] += value * d[o];
      }
      float* const bias = gradient.data() + inputs * outputs;
      for (std::size_t o = 0; o < outputs; ++o) bias[o] += d[o];
      if (dx == nullptr) continue;
      for (std::size_t i = 0; i < inputs; ++i) {
        const float* const row = weight.data() + i * outputs;
        float sums[8] = {};
        std::size_t o = 0;
        for (; o + 8 <= outputs; o += 8)
          for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += row[o + lane] * d[o + lane];
        float sum = 0.0F;
        for (; o < outputs; ++o) sum += row[o] * d[o];
        for (const float part : sums) sum += part;
        (*dx)[r * inputs + i] = sum;
      }
    }
  }

  SCAVENGER_TEST_CLONES void step(float rate, float correction1, float correction2) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      first[i] += 0.1F * (gradient[i] - first[i]);
      second[i] += 0.001F * (gradient[i] * gradient[i] - second[i]);
      weight[i] -= rate * (first[i] * correction1) / (std::sqrt(second[i] * correction2) + 1e-8F);
    }
  }

  DenseWeights exported() const {
    DenseWeights dense{inputs, outputs, std::vector<float>(inputs * outputs), {}};
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i)
        dense.weight[o * inputs + i] = weight[i * outputs + o];
      dense.bias.push_back(weight[inputs * outputs + o]);
    }
    return dense;
  }
};

}  // namespace

Perceptron train_with_adam(const TrainingSet& set, const FitSettings& settings, std::size_t index) {
  const bool is_tanh = settings.activation == Activation::kTanh;
  const auto slope = [&](float value) {
    return is_tanh ? 1.0F - value * value : (value > 0.0F ? 1.0F : 0.0F);
  };
  RandomStream random(settings.seed, "member", {index});
  std::vector<Layer> layers;
  std::size_t width = set.inputs;
  for (const std::size_t next : settings.hidden) {
    layers.emplace_back(width, next, random);
    width = next;
  }
  layers.emplace_back(width, set.outputs, random);
  const std::size_t rows = set.rows(), last = layers.size() - 1;
  std::vector<std::vector<float>> values(layers.size() + 1), slopes(layers.size() + 1);
  values[0] = set.x;
  double power1 = 1.0, power2 = 1.0;
  for (std::size_t iteration = 0; iteration < settings.iterations; ++iteration) {
    for (std::size_t l = 0; l <= last; ++l) {
      layers[l].forward(values[l], values[l + 1], rows);
      if (l < last)
        for (float& value : values[l + 1])
          value = is_tanh ? fast_tanh(value) : std::max(0.0F, value);
    }
    const float scale = 2.0F / static_cast<float>(set.y.size());
    slopes[last + 1].resize(set.y.size());
    for (std::size_t i = 0; i < set.y.size(); ++i)
      slopes[last + 1][i] = scale * (values[last + 1][i] - set.y[i]);
    for (std::size_t l = last + 1; l-- > 0;) {
      layers[l].backward(values[l], slopes[l + 1], l > 0 ? &slopes[l] : nullptr, rows);
      if (l > 0)
        for (std::size_t i = 0; i < slopes[l].size(); ++i) slopes[l][i] *= slope(values[l][i]);
    }
    power1 *= 0.9;
    power2 *= 0.999;
    const double done = static_cast<double>(iteration) / static_cast<double>(settings.iterations);
    const double fraction = 0.01 + 0.99 * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    for (Layer& layer : layers)
      layer.step(static_cast<float>(settings.learning_rate * fraction),
                 static_cast<float>(1.0 / (1.0 - power1)),
                 static_cast<float>(1.0 / (1.0 - power2)));
  }
  std::vector<DenseWeights> exported;
  for (const Layer& layer : layers) exported.push_back(layer.exported());
  return Perceptron(std::move(exported), settings.activation);
}

}  // namespace scavenger::surrogate
