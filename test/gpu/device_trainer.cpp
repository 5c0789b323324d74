// Trains a built-in model on random batches, alone and on one device, and prints one JSON object:
// losses, seconds, memory. gpu_check.py compares devices, precisions and PyTorch with it.
//
//   device_trainer resnet18 --device cuda --batch-size 512 --precision bfloat16 --seconds 5
//
// With `--vectors device` weights and optimizer stay on the device, as with NCCL; with `host` they
// are in host memory, as with the parameter server.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/collective/host_replica.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/torch/trainer/tensor_replica.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/bench/trainer_subjects.h"
#include "test/gpu/device_trace.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

constexpr std::uint64_t kBatches = 4;  // that are trained on in turns
constexpr std::uint64_t kChunkBytes = 256 << 10;
constexpr std::size_t kMostLosses = 100;
constexpr std::uint64_t kWarmUps = 20;  // iterations before those of `seconds`, as in peer_loop.py
constexpr std::uint64_t kTraced = 10;   // the last ones of the warm-up

struct Options {
  std::string model = "mlp";
  std::string device = "cpu";
  std::string vectors = "host";
  std::uint32_t batch_size = 0;  // 0: the model's own
  std::int64_t image_size = 0;   // 0: the model's own
  std::uint32_t classes = 0;     // 0: the model's own
  std::vector<std::int64_t> hidden;
  ComputeConfig compute;
  std::uint64_t iterations = 0;  // 0: as many as go into `seconds`
  double seconds = 1.0;
  double learning_rate = 0.01;
  std::uint32_t threads = 1;
  bool is_ahead = false;
  std::string images;  // "host" or "device": who prepares them; empty: they are random floats
  WirePrecision transport = WirePrecision::kFloat32;
  bool is_fetched = false;  // weights go to the device chunk by chunk, as they are stepped
  std::string weights_file;
  std::string trace_file;
};

void declare(CLI::App& app, Options& options) {
  static const std::map<std::string, Precision> kPrecisions = {{"float32", Precision::kFloat32},
                                                               {"tf32", Precision::kTf32},
                                                               {"bfloat16", Precision::kBfloat16},
                                                               {"float16", Precision::kFloat16}};
  static const std::map<std::string, ImageOrder> kOrders = {
      {"auto", ImageOrder::kAutomatic},
      {"channels_first", ImageOrder::kChannelsFirst},
      {"channels_last", ImageOrder::kChannelsLast}};
  app.add_option("model", options.model)->required();
  app.add_option("--device", options.device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--vectors", options.vectors)->check(CLI::IsMember({"host", "device"}));
  app.add_option("--batch-size", options.batch_size);
  app.add_option("--image-size", options.image_size);
  app.add_option("--classes", options.classes);
  app.add_option("--hidden", options.hidden, "Widths of an MLP's layers.");
  app.add_option("--precision", options.compute.precision)
      ->transform(CLI::CheckedTransformer(kPrecisions));
  app.add_option("--image-order", options.compute.image_order)
      ->transform(CLI::CheckedTransformer(kOrders));
  app.add_flag("--tune-kernels", options.compute.tune_kernels);
  app.add_option("--micro-batch", options.compute.micro_batch);
  app.add_flag_callback("--no-cuda-graphs",
                        [&] { options.compute.cuda_graphs = CudaGraphs::kOff; });
  app.add_option("--images", options.images, "Who crops, mirrors and normalises random bytes.")
      ->check(CLI::IsMember({"host", "device"}));
  app.add_flag_callback("--transport-bfloat16",
                        [&] { options.transport = WirePrecision::kBfloat16; });
  app.add_flag("--fetch", options.is_fetched,
               "Bring weights to the device chunk by chunk, as they are stepped.");
  app.add_option("--iterations", options.iterations);
  app.add_option("--seconds", options.seconds);
  app.add_option("--learning-rate", options.learning_rate);
  app.add_option("--threads", options.threads);
  app.add_flag("--ahead", options.is_ahead, "Bring each batch to the device one iteration ahead.");
  app.add_option("--weights", options.weights_file, "Write the last weights here, as raw floats.");
  app.add_option(
      "--trace", options.trace_file,
      "Write here what the host and the device did in ten iterations (chrome://tracing).");
}

bench::Subject subject_of(const Options& options) {
  const auto found = bench::kSubjects.find(options.model);
  if (found == bench::kSubjects.end())
    throw InputError({.what = "there is no model \"" + options.model + "\"",
                      .where = "model",
                      .remedy = "see test/bench/trainer_subjects.h"});
  bench::Subject subject = found->second();
  if (options.batch_size > 0) subject.batch_size = options.batch_size;
  if (options.classes > 0) subject.data.classes = options.classes;
  if (!options.hidden.empty()) subject.model.hidden = options.hidden;
  if (options.image_size > 0) {
    subject.data.sample_shape = {3, options.image_size, options.image_size};
    if (options.image_size >= 64) subject.model.stem = ResNetStem::kImageNet;
  }
  return subject;
}

// Random bytes in place of the batch's floats, for the trainer to prepare.
void make_raw(Batch& batch, std::uint64_t seed) {
  RandomStream stream(seed, "test images");
  RawImages& images = batch.raw_images;
  images.padding = 2;
  images.channels = {{.scale = 1.0F / 255.0F, .mean = 0.45F, .inverse_deviation = 4.0F}};
  for (std::size_t i = 0; i < batch.features.size(); ++i)
    images.bytes.push_back(static_cast<std::uint8_t>(stream.below(256)));
  for (std::uint32_t i = 0; i < batch.size; ++i)
    for (const std::uint64_t most : {5ULL, 5ULL, 2ULL})
      images.changes.push_back(static_cast<std::int32_t>(stream.below(most)));
  batch.features.clear();
}

// The same, by the definition: one pixel after the other.
void prepare(Batch& batch) {
  const RawImages images = std::exchange(batch.raw_images, {});
  const std::int64_t planes = batch.sample_shape[0], height = batch.sample_shape[1],
                     width = batch.sample_shape[2];
  const ChannelNormalisation by = images.channels[0];
  for (std::int64_t i = 0; i < batch.size; ++i)
    for (std::int64_t plane = 0; plane < planes; ++plane)
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
          const std::int32_t* const change = &images.changes[static_cast<std::size_t>(3 * i)];
          const std::int64_t row = y + change[0] - images.padding;
          const std::int64_t column =
              (change[2] != 0 ? width - 1 - x : x) + change[1] - images.padding;
          const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
          const std::int64_t place = ((i * planes + plane) * height + row) * width + column;
          const float raw =
              is_inside ? static_cast<float>(images.bytes[static_cast<std::size_t>(place)]) : 0.0F;
          batch.features.push_back((raw * by.scale - by.mean) * by.inverse_deviation);
        }
}

// Weights and optimizer, and the trainer that is bound to them.
struct Bench {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Replica> replica;
  std::vector<Batch> batches;
  std::vector<std::string> said, told;
  std::vector<double> sqr_norms;  // of the steps' gradients
  bool has_late_norms = false;
  bool is_fetched = false;
  double learning_rate;

  Bench(const Options& options, const bench::Subject& subject)
      : learning_rate(options.learning_rate) {
    TorchTrainerOptions made;
    made.model = subject.model;
    made.data = subject.data;
    made.loss = subject.loss;
    made.compute = options.compute;
    made.threads = options.threads;
    made.place = choose_device(options.device == "cuda" ? Device::kCuda : Device::kCpu, 0);
    made.vectors = options.vectors == "host" ? VectorHome::kHost : VectorHome::kDevice;
    made.say = [this](const std::string& text) { said.push_back(text); };
    made.tell = [this](const std::string& text) { told.push_back(text); };
    made.transport = options.transport;
    is_fetched = options.is_fetched;
    trainer = make_torch_trainer(made);
    const std::uint64_t size = trainer->parameters().flat_size();
    OptimizerConfig optimizer;
    optimizer.momentum = 0.9;
    if (made.vectors == VectorHome::kDevice)
      replica = make_tensor_replica(size, optimizer, made.place);
    else
      replica = std::make_unique<ps::HostReplica>(ps::ChunkLayout(size, kChunkBytes, 1), optimizer);
    replica->clear(0);
    trainer->use_weights(replica->vector(0, 0));
    trainer->use_gradients(replica->gradients());
    trainer->write_initial_weights();
    for (std::uint64_t i = 0; i < kBatches; ++i) {
      batches.push_back(random_batch(subject.data, subject.batch_size, i + 1));
      batches.back().first_position = i * subject.batch_size;
      if (!options.images.empty()) make_raw(batches.back(), i + 1);
      if (options.images == "host") prepare(batches.back());
    }
  }
  ~Bench() { trainer->release_vectors(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const Batch& batch(std::uint64_t iteration) const { return batches[iteration % kBatches]; }

  TrainingStep pass(std::uint64_t iteration, bool is_ahead) {
    trainer->use_weights(replica->vector(0, iteration));
    trainer->keep_buffers();
    if (next_.valid()) next_.get();
    if (is_ahead)  // on a thread of its own, as a worker's loader does it
      next_ = std::async(std::launch::async,
                         [this, iteration] { trainer->expect(batch(iteration + 1)); });
    const TrainingStep step = trainer->forward_backward(batch(iteration), iteration, {});
    take_late_norms();
    return step;
  }
  void take_late_norms() {
    if (std::exchange(has_late_norms, false))
      sqr_norms.push_back(replica->late_norms().norms.global_sqr_norm);
  }
  void step(std::uint64_t iteration) {
    const std::uint64_t size = trainer->parameters().flat_size();
    replica->begin({iteration, learning_rate, iteration + 1});
    replica->weight({0, size}, 1.0F);
    replica->begin_steps();
    replica->step({0, size});
    const auto norms = replica->finish();
    has_late_norms = !norms;
    if (norms) sqr_norms.push_back(norms->global_sqr_norm);
    if (!is_fetched || !trainer->fetches_weights()) return;
    const std::uint64_t chunk = kChunkBytes / sizeof(float);
    for (std::uint64_t first = 0; first < size; first += chunk)
      trainer->fetch_weights(replica->vector(0, iteration + 1), first,
                             std::min(size, first + chunk));
  }
  std::vector<float> weights(std::uint64_t iteration) {
    std::vector<float> values(trainer->parameters().flat_size());
    replica->save(0, iteration, 0, values);
    return values;
  }

 private:
  std::future<void> next_;  // the batch of the next iteration is on its way
};

std::uint64_t tokens_in(const Batch& batch) {
  if (batch.tokens.empty()) return 0;
  const auto filled = [](std::int64_t token) { return token != kPaddingToken; };
  return static_cast<std::uint64_t>(std::ranges::count_if(batch.tokens, filled) +
                                    std::ranges::count_if(batch.labels, filled));
}

nlohmann::json run(const Options& options) {
  const bench::Subject subject = subject_of(options);
  Bench bench(options, subject);
  const SteadyClock clock;
  std::vector<double> losses, seconds, pass_seconds, forward, backward;
  double start = clock.now_seconds();
  const auto goes_on = [&](std::uint64_t iteration, double now) {
    if (options.iterations > 0) return iteration < options.iterations;
    return iteration <= kWarmUps || now < start + options.seconds;
  };
  std::optional<DeviceTrace> trace;
  std::uint64_t iteration = 0;
  for (double now = start; goes_on(iteration, now); ++iteration) {
    if (iteration + kTraced == kWarmUps && !options.trace_file.empty())
      trace.emplace(options.trace_file);
    if (iteration == kWarmUps) {
      trace.reset();
      start = now = clock.now_seconds();
    }
    const TrainingStep step = bench.pass(iteration, options.is_ahead);
    pass_seconds.push_back(clock.now_seconds() - now);
    bench.step(iteration);
    const double end = clock.now_seconds();
    seconds.push_back(end - now);
    now = end;
    forward.push_back(step.forward_seconds);
    backward.push_back(step.backward_seconds);
    if (losses.size() < kMostLosses) losses.push_back(step.loss_sum / subject.batch_size);
  }
  bench.take_late_norms();
  bench.sqr_norms.resize(std::min(bench.sqr_norms.size(), kMostLosses));
  if (!options.weights_file.empty()) {
    const std::vector<float> weights = bench.weights(iteration);
    std::ofstream(options.weights_file, std::ios::binary)
        .write(reinterpret_cast<const char*>(weights.data()),
               static_cast<std::streamsize>(weights.size() * sizeof(float)));
  }
  const SampleMemory memory = bench.trainer->sample_memory();
  const DeviceUse use = bench.trainer->device_use().value_or(DeviceUse{});
  return {{"parameters", bench.trainer->parameters().element_count()},
          {"flat_bytes", bench.trainer->parameters().flat_size() * sizeof(float)},
          {"samples", subject.batch_size},
          {"tokens", tokens_in(bench.batch(0))},
          {"losses", losses},
          {"sqr_norms", bench.sqr_norms},
          {"seconds", seconds},
          {"pass_seconds", pass_seconds},
          {"forward_seconds", forward},
          {"backward_seconds", backward},
          {"bytes_per_sample", memory.bytes_per_sample},
          {"room_samples", memory.room_samples},
          {"most_used_bytes", use.most_used_bytes},
          {"most_reserved_bytes", use.most_reserved_bytes},
          {"device_bytes", use.total_bytes},
          {"graphs", use.graphs},
          {"told", bench.told},
          {"said", bench.said}};
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  CLI::App app("Trains a built-in model on random batches, alone and on one device.");
  scavenger::Options options;
  scavenger::declare(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << scavenger::run(options).dump() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "device_trainer: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
