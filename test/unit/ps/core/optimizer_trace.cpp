// Takes the steps that a JSON file asks for, for the comparison with torch.optim.
//
//   optimizer_trace FOLDER
//
// FOLDER/case.json holds the options and a learning rate for each step; initial.bin and
// gradients.bin hold the weights and one gradient for each step. Writes weights.bin and <name>.bin
// for each vector of state.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "ps/core/optimizer.h"
#include "runtime/base/file.h"

namespace {

using scavenger::OptimizerConfig;
using scavenger::OptimizerType;
using namespace scavenger::ps;

OptimizerConfig config_from(const nlohmann::json& options) {
  const std::string type = options.at("type");
  return {.type = type == "sgd"    ? OptimizerType::kSgd
                  : type == "adam" ? OptimizerType::kAdam
                                   : OptimizerType::kAdamW,
          .momentum = options.value("momentum", 0.0),
          .dampening = options.value("dampening", 0.0),
          .nesterov = options.value("nesterov", false),
          .weight_decay = options.value("weight_decay", 0.0),
          .beta1 = options.value("beta1", 0.9),
          .beta2 = options.value("beta2", 0.999),
          .epsilon = options.value("epsilon", 1e-8),
          .schedule = {}};
}

std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = scavenger::read_file(path);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::ranges::copy(bytes, reinterpret_cast<char*>(floats.data()));
  return floats;
}

void write_floats(const std::filesystem::path& path, const std::vector<float>& floats) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(floats.data()),
             static_cast<std::streamsize>(floats.size() * sizeof(float)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  const auto options = nlohmann::json::parse(scavenger::read_file(folder / "case.json"));
  const Optimizer optimizer(config_from(options));
  auto weights = read_floats(folder / "initial.bin");
  const auto gradients = read_floats(folder / "gradients.bin");
  std::vector<std::vector<float>> vectors(optimizer.state_names().size());
  StateSpans state;
  for (std::size_t s = 0; s < vectors.size(); ++s) {
    vectors[s].assign(weights.size(), 0.0F);
    state[s] = vectors[s];
  }

  std::uint64_t step_number = 0;
  for (const double learning_rate : options.at("learning_rates")) {
    const auto gradient =
        std::span(gradients).subspan(step_number * weights.size(), weights.size());
    optimizer.step(learning_rate, ++step_number)
        .apply(gradient, {weights, state}, {weights, state}, best_kernels());
  }

  write_floats(folder / "weights.bin", weights);
  for (std::size_t s = 0; s < vectors.size(); ++s) {
    write_floats(folder / (std::string(optimizer.state_names()[s]) + ".bin"), vectors[s]);
  }
  return 0;
}
