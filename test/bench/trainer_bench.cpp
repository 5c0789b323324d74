// Seconds per training iteration of one worker without synchronisation: forward, backward, and a
// plain SGD step. trainer_bench.py runs it against the same loop in PyTorch.
//
//   trainer_bench mlp|cnn|resnet18 THREADS SECONDS     prints one line per iteration: wall and CPU
//   seconds

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/torch/torch_trainer.h"
#include "test/torch/bound_trainer.h"
#include "test/torch/random_batch.h"

namespace scavenger {
namespace {

constexpr float kLearningRate = 0.01f;

TorchTrainerOptions options_of(const std::string& model) {
  TorchTrainerOptions options;
  options.classes = 10;
  if (model == "mlp") {
    options.model.type = ModelType::kMlp;
    options.model.hidden = {512, 512};
    options.sample_shape = {784};
  } else if (model == "resnet18") {
    options.model.type = ModelType::kResNet18;
    options.sample_shape = {3, 32, 32};
  } else {
    options.model.type = ModelType::kCnn;
    options.model.channels = {32, 64};
    options.model.dense = 128;
    options.sample_shape = {3, 32, 32};
  }
  return options;
}

std::uint32_t batch_size_of(const std::string& model) {
  return model == "resnet18" ? 32 : 64;
}

// Of all threads of the process.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run(const std::string& model, std::uint32_t threads, double seconds) {
  TorchTrainerOptions options = options_of(model);
  options.threads = threads;
  BoundTrainer bound(make_torch_trainer(options));
  const Batch batch = random_batch(options.sample_shape, batch_size_of(model), options.classes);
  const SteadyClock clock;
  const double start = clock.now_seconds();
  std::vector<std::pair<double, double>> durations;
  double cpu_now = cpu_seconds();
  for (double now = start; now < start + seconds;) {
    bound.trainer->forward_backward(batch, 0, {});
    for (std::size_t i = 0; i < bound.weights.size(); ++i)
      bound.weights[i] -= kLearningRate * bound.gradients[i];
    const double end = clock.now_seconds();
    const double cpu_end = cpu_seconds();
    durations.emplace_back(end - now, cpu_end - cpu_now);
    now = end;
    cpu_now = cpu_end;
  }
  for (const auto& [wall, cpu] : durations) std::printf("%.9f %.9f\n", wall, cpu);
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: trainer_bench mlp|cnn|resnet18 THREADS SECONDS\n");
    return 2;
  }
  scavenger::run(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])), std::atof(argv[3]));
  return 0;
}
