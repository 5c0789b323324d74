// What a worker's loop itself costs in an iteration: taking the batch, timers, statistics and their
// reports; with a model and a synchroniser that do nothing. Prints microseconds of the compute
// thread's processor time per iteration, the median of several runs.
//
//   worker_loop_bench [ITERATIONS]

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/protocol/control_message.h"
#include "runtime/worker/worker_loop.h"

namespace scavenger {
namespace {

constexpr int kRuns = 11;

class EmptyTrainer final : public Trainer {
 public:
  EmptyTrainer() { layout_.add("w", {16}); }
  const TensorLayout& parameters() const override { return layout_; }
  const TensorLayout& buffers() const override { return no_buffers_; }
  void use_weights(std::span<float>) override {}
  void use_gradients(std::span<float>) override {}
  void write_initial_weights() override {}
  void read_buffers(std::span<float>) const override {}
  void write_buffers(std::span<const float>) override {}
  TrainingStep forward_backward(const Batch&, std::uint64_t, const GradientReady& ready) override {
    const double start = clock_.now_seconds();
    const double backward_start = clock_.now_seconds();
    ready(0, 16);
    return {1.0, backward_start - start, clock_.now_seconds() - backward_start};
  }
  EvaluationSums evaluate(const Batch&) override { return {}; }

 private:
  SteadyClock clock_;
  TensorLayout layout_, no_buffers_;
};

class EmptySynchroniser final : public Synchroniser {
 public:
  bool join(const SyncGroup&, const InitialWeights&) override { return true; }
  std::span<float> weights() override { return weights_; }
  std::span<float> gradients() override { return gradients_; }
  void begin(std::uint64_t) override {}
  void gradient_ready(std::uint64_t, std::uint64_t) override {}
  std::optional<SyncResult> finish() override {
    const double start = clock_.now_seconds();
    return SyncResult{clock_.now_seconds() - start, 1.0, 1.0};
  }
  void interrupt() override {}
  void allow() override {}
  std::string problem() const override { return {}; }

 private:
  SteadyClock clock_;
  std::vector<float> weights_ = std::vector<float>(16), gradients_ = std::vector<float>(16);
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median_microseconds(int iterations) {
  const SteadyClock clock;
  EmptyTrainer trainer;
  EmptySynchroniser synchroniser;
  BatchLoader loader([](const BatchPlace&, Batch&) {}, clock);
  loader.start({0, 0, 64, 0, 64});
  std::size_t reported_bytes = 0;
  WorkerLoop loop(
      {trainer, synchroniser, loader, clock}, JobConfig{}, 60000, {1, 64, {64}, 0, 0}, 0,
      [&](IterationStats stats) { reported_bytes += encode(ControlMessage(stats)).size(); });
  std::vector<double> runs;
  for (int run = 0; run < kRuns; ++run) {
    const double start = thread_seconds();
    for (int i = 0; i < iterations; ++i) loop.run_iteration();
    loop.flush();
    runs.push_back(1e6 * (thread_seconds() - start) / iterations);
  }
  std::ranges::sort(runs);
  return reported_bytes > 0 ? runs[runs.size() / 2] : 0.0;
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  fmt::print("{:.3f}\n", scavenger::median_microseconds(argc > 1 ? std::stoi(argv[1]) : 20000));
  return 0;
}
