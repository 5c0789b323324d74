// Seconds per training iteration of one worker without synchronisation: forward, backward, and a
// plain SGD step. trainer_bench.py runs it against the same loop in PyTorch.
//
//   trainer_bench MODEL THREADS SECONDS     prints one line per iteration: wall and CPU
//   seconds

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

constexpr float kLearningRate = 0.01f;

struct Subject {
  ModelConfig model;
  DataShape data;
  std::uint32_t batch_size = 64;
  LossConfig loss = {LossType::kCrossEntropy};
};

Subject images(ModelConfig model, std::vector<std::int64_t> shape, std::uint32_t batch_size) {
  Subject subject{.model = std::move(model), .data = {}, .batch_size = batch_size};
  subject.data.sample_shape = std::move(shape);
  subject.data.classes = 10;
  return subject;
}

ModelConfig of_type(ModelType type) {
  ModelConfig model;
  model.type = type;
  return model;
}

Subject mlp() {
  ModelConfig model = of_type(ModelType::kMlp);
  model.hidden = {512, 512};
  return images(model, {784}, 64);
}

Subject regressor() {
  ModelConfig model = of_type(ModelType::kMlp);
  model.hidden = {512, 512};
  Subject subject{.model = std::move(model), .data = {}, .loss = {LossType::kMse}};
  subject.data.sample_shape = {64};
  subject.data.target = TargetKind::kValues;
  subject.data.target_shape = {8};
  return subject;
}

Subject cnn() {
  ModelConfig model = of_type(ModelType::kCnn);
  model.channels = {32, 64};
  model.dense = 128;
  return images(model, {3, 32, 32}, 64);
}

Subject translation() {
  Subject subject{.model = of_type(ModelType::kTransformerTiny),
                  .data = {},
                  .loss = {LossType::kCrossEntropy, 0.1}};
  subject.model.transformer = {.width = 256,
                               .heads = 4,
                               .inner = 512,
                               .encoder_layers = 3,
                               .decoder_layers = 3,
                               .dropout = 0.3,
                               .normalise_first = true};
  subject.data = {{20}, 4000, TargetKind::kSequence, 6000, {22}};
  return subject;
}

// As Vaswani et al. have it: six layers, normalised afterwards.
Subject large_translation() {
  Subject subject = translation();
  subject.model = of_type(ModelType::kTransformerBase);
  subject.batch_size = 8;
  return subject;
}

Subject language() {
  Subject subject{.model = of_type(ModelType::kLanguageModel), .data = {}, .batch_size = 32};
  subject.model.transformer = {.width = 128,
                               .heads = 4,
                               .inner = 512,
                               .decoder_layers = 4,
                               .dropout = 0.1,
                               .normalise_first = true};
  subject.data = {{64}, 65, TargetKind::kNextTokens, 65, {}};
  return subject;
}

const std::map<std::string, std::function<Subject()>> kSubjects = {
    {"mlp", mlp},
    {"regressor", regressor},
    {"cnn", cnn},
    {"resnet18", [] { return images(of_type(ModelType::kResNet18), {3, 32, 32}, 32); }},
    {"resnet34", [] { return images(of_type(ModelType::kResNet34), {3, 32, 32}, 16); }},
    {"resnet50", [] { return images(of_type(ModelType::kResNet50), {3, 32, 32}, 16); }},
    {"transformer_base", large_translation},
    {"transformer_tiny", translation},
    {"language_model", language},
};

// Of all threads of the process.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run(const std::string& name, std::uint32_t threads, double seconds) {
  const Subject subject = kSubjects.at(name)();
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
  if (argc != 4 || !scavenger::kSubjects.contains(argv[1])) {
    std::fprintf(stderr, "usage: trainer_bench MODEL THREADS SECONDS\n");
    return 2;
  }
  scavenger::run(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])), std::atof(argv[3]));
  return 0;
}
