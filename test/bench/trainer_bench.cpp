// Seconds per training iteration of one worker without synchronisation: forward, backward, and a
// plain SGD step. trainer_bench.py runs it against the same loop in PyTorch.
//
//   trainer_bench MODEL THREADS SECONDS     prints one line per iteration: wall and CPU
//   seconds

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/bench/trainer_subjects.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

constexpr float kLearningRate = 0.01f;

// Of all threads of the process.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run(const std::string& name, std::uint32_t threads, double seconds) {
  const bench::Subject subject = bench::kSubjects.at(name)();
  TorchTrainerOptions options;
  options.model = subject.model;
  options.data = subject.data;
  options.loss = subject.loss;
  options.threads = threads;
  BoundTrainer bound(make_torch_trainer(options));
  const Batch batch = random_batch(subject.data, subject.batch_size);
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
  if (argc != 4 || !scavenger::bench::kSubjects.contains(argv[1])) {
    std::fprintf(stderr, "usage: trainer_bench MODEL THREADS SECONDS\n");
    return 2;
  }
  scavenger::run(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])), std::atof(argv[3]));
  return 0;
}
