// Passes that are recorded once and replayed, on the CPU: what replays here computes the work
// again.
#include "runtime/torch/trainer/graphed_pass.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/linear.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/torch/device/range_joiner.h"
#include "runtime/torch/layers/initial_values.h"
#include "runtime/torch/models/mlp.h"
#include "runtime/torch/models/model_registry.h"
#include "runtime/torch/trainer/model_trainer.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

using namespace scavenger;

namespace {

PassKey key_of_size(std::int64_t samples) {
  PassKey key;
  key.shape = {2, samples, 8};
  return key;
}

// The ways of so many passes.
std::vector<PassWay> ways(GraphPlan& plan, const PassKey& key, int passes) {
  std::vector<PassWay> found;
  for (int i = 0; i < passes; ++i) {
    found.push_back(plan.next(key).way);
    if (found.back() == PassWay::kCapture) plan.captured();
  }
  return found;
}

using enum PassWay;
const std::vector<PassWay> kFirstFive = {kEager, kEager, kEager, kCapture, kReplay};

}  // namespace

TEST_CASE("a pass is recorded after its warm-up, and again if anything in it changes") {
  GraphPlan plan;
  CHECK((ways(plan, key_of_size(8), 5) == kFirstFive));
  PassKey other = key_of_size(8);
  const int changed = GENERATE(0, 1, 2, 3, 4);
  if (changed == 0) other.shape[1] = 4;  // a share of another size
  if (changed == 1) other.loss_terms = 2.0;
  if (changed == 2) other.loss_scale = 0.5;
  if (changed == 3) other.weights = &other;
  if (changed == 4) other.gradients = &other;
  CHECK((ways(plan, other, 5) == kFirstFive));
  CHECK((ways(plan, key_of_size(8), 2) == std::vector{kReplay, kReplay}));  // it is still there
  CHECK(plan.captures() == 2);

  plan.forget();
  CHECK((ways(plan, other, 5) == kFirstFive));
}

TEST_CASE("the graph that was not used for longest makes way for a new one") {
  GraphPlan plan;
  const auto slots = static_cast<std::int64_t>(GraphPlan::kMostGraphs);
  std::vector<std::size_t> used(GraphPlan::kMostGraphs);
  for (std::int64_t size = 1; size <= slots; ++size) {
    CHECK(ways(plan, key_of_size(size), 4).back() == kCapture);
    const GraphPlan::Decision decision = plan.next(key_of_size(size));
    CHECK(decision.way == kReplay);
    ++used.at(decision.slot);
  }
  CHECK(used == std::vector<std::size_t>(GraphPlan::kMostGraphs, 1));
  const std::size_t oldest = plan.next(key_of_size(2)).slot;
  for (std::int64_t size = 1; size <= slots; ++size)
    if (size != 2) plan.next(key_of_size(size));

  for (int i = 0; i < 3; ++i) CHECK(plan.next(key_of_size(9)).way == kEager);
  const GraphPlan::Decision decision = plan.next(key_of_size(9));
  CHECK(decision.way == kCapture);
  CHECK(decision.slot == oldest);
  plan.captured();
  CHECK(plan.next(key_of_size(1)).way == kReplay);
  CHECK((ways(plan, key_of_size(2), 5) == kFirstFive));
}

TEST_CASE("if no shape repeats, no more are tried") {
  GraphPlan plan;
  std::uint32_t passes = 0;
  for (std::int64_t size = 1; !plan.is_given_up(); ++size, ++passes)
    REQUIRE(plan.next(key_of_size(size)).way == kEager);
  CHECK(passes == GraphPlan::kMostEagerPasses);
  CHECK(plan.has_just_given_up());
  CHECK((ways(plan, key_of_size(1), 9) == std::vector<PassWay>(9, kEager)));
  CHECK_FALSE(plan.has_just_given_up());
}

TEST_CASE("a recording that did not succeed leaves no graph") {
  GraphPlan plan;
  for (int i = 0; i < 3; ++i) plan.next(key_of_size(8));
  CHECK(plan.next(key_of_size(8)).way == kCapture);
  CHECK(plan.next(key_of_size(8)).way == kCapture);  // captured() was not called
  plan.give_up();
  CHECK(plan.next(key_of_size(8)).way == kEager);
}

namespace {

// What the graphs of a trainer have done.
struct GraphLog {
  Trainer* trainer = nullptr;
  int captures = 0, replays = 0;
  bool refuses = false;
};

// Recording leaves no trace, as on a device, which computes nothing then.
class RepeatedWork final : public DeviceGraph {
 public:
  explicit RepeatedWork(GraphLog& log) : log_(log) {}
  void capture(const std::function<void()>& work) override {
    if (log_.refuses) throw std::runtime_error("operation not permitted when stream is capturing");
    std::vector<float> buffers(log_.trainer->buffers().flat_size());
    if (!buffers.empty()) log_.trainer->read_buffers(buffers);
    work();
    if (!buffers.empty()) log_.trainer->write_buffers(buffers);
    work_ = work;
    ++log_.captures;
  }
  std::size_t mark() override { return marks_++; }
  void replay() override {
    work_();
    ++log_.replays;
  }
  void wait_for(std::size_t, const c10::Stream&) override {}

 private:
  GraphLog& log_;
  std::function<void()> work_;
  std::size_t marks_ = 0;
};

// Has running statistics, and a gradient that a layer of its own writes.
class NormalisedPerceptron final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    const at::Tensor inner = at::linear(input.samples, first_.tensor);
    const at::Tensor normal =
        at::batch_norm(inner, {}, {}, mean_, variance_, training(), 0.1, 1e-5, false);
    return at::linear(normal.relu(), last_.tensor);
  }

 private:
  Parameter first_ = add_parameter("first", {8, 5}, uniform_by_fan_in(5));
  Parameter last_ = add_parameter("last", {3, 8}, uniform_by_fan_in(8));
  at::Tensor mean_ = add_buffer("running_mean", {8}, all_equal(0.0F));
  at::Tensor variance_ = add_buffer("running_var", {8}, all_equal(1.0F));
};

struct Subject {
  DataShape data;
  ModelConfig config;
  std::function<std::unique_ptr<Model>(const ModelConfig&, const DataShape&)> make;
};

Subject perceptron() {
  return {{{5}, 0, TargetKind::kLabel, 3, {}}, {}, [](const ModelConfig&, const DataShape&) {
            return std::make_unique<NormalisedPerceptron>();
          }};
}

Subject plain_mlp() {
  ModelConfig config;
  config.hidden = {8};
  return {{{5}, 0, TargetKind::kLabel, 3, {}}, config, [](const auto& model, const auto& data) {
            return make_mlp(model, data);
          }};
}

// With dropout, and full sentences, so that all batches have one shape.
Subject text_model() {
  ModelConfig config;
  config.type = ModelType::kLanguageModel;
  config.transformer = {.width = 8,
                        .heads = 2,
                        .inner = 12,
                        .encoder_layers = 1,
                        .decoder_layers = 1,
                        .dropout = 0.3};
  return {{{6}, 15, TargetKind::kNextTokens, 15, {}},
          config,
          [](const auto& model, const auto& data) { return make_model(model, data, {}); }};
}

Batch batch_of(const DataShape& data, std::uint32_t size, std::uint64_t seed) {
  Batch batch = random_batch(data, size, seed);
  for (std::vector<std::int64_t>* tokens : {&batch.tokens, &batch.labels})
    for (std::int64_t& token : *tokens)
      if (data.vocabulary > 0 && token < kFirstWordToken) token = kFirstWordToken;
  batch.first_position = seed * size;
  return batch;
}

struct GraphedTrainer {
  GraphLog log;
  std::vector<std::string> told;
  BoundTrainer bound;

  GraphedTrainer(const Subject& subject, bool is_graphed, bool is_mirrored,
                 Precision precision = Precision::kFloat32, bool refuses = false)
      : bound([&] {
          log.refuses = refuses;
          TrainerOptions options;
          options.data = subject.data;
          options.compute.micro_batch = 1024;  // so that the CPU's memory is not measured
          options.compute.precision = precision;
          options.compute.cuda_graphs = is_graphed ? CudaGraphs::kAutomatic : CudaGraphs::kOff;
          options.placement = {at::kCPU, is_mirrored};
          options.graphs = [this] { return std::make_unique<RepeatedWork>(log); };
          options.tell = [this](const std::string& text) { told.push_back(text); };
          auto trainer =
              std::make_unique<ModelTrainer>(subject.make(subject.config, subject.data), options);
          log.trainer = trainer.get();
          return trainer;
        }()) {}

  // Returns the loss.
  double step(const Batch& batch, std::uint64_t iteration) {
    bound.trainer->use_weights(bound.weights);
    std::uint64_t floats = 0;
    const TrainingStep step = bound.trainer->forward_backward(
        batch, iteration, [&](std::uint64_t first, std::uint64_t last) { floats += last - first; });
    CHECK(floats == bound.gradients.size());
    CHECK(step.forward_seconds > 0.0);
    CHECK(step.backward_seconds > 0.0);
    for (std::size_t i = 0; i < bound.weights.size(); ++i)
      bound.weights[i] -= 0.1F * bound.gradients[i];
    return step.loss_sum;
  }
  std::vector<float> buffers() const {
    std::vector<float> values(bound.trainer->buffers().flat_size());
    if (!values.empty()) bound.trainer->read_buffers(values);
    return values;
  }
};

}  // namespace

TEST_CASE("a replayed pass has the bits of one that is computed kernel by kernel") {
  const int kind = GENERATE(0, 1, 2);
  const Subject subject = kind == 0 ? perceptron() : kind == 1 ? plain_mlp() : text_model();
  const bool is_mirrored = GENERATE(false, true);
  GraphedTrainer eager(subject, false, is_mirrored), graphed(subject, true, is_mirrored);
  CHECK(graphed.bound.weights == eager.bound.weights);
  std::uint64_t iteration = 0;
  for (const std::uint32_t size : {6U, 4U, 6U})  // as shares change at a resize
    for (int i = 0; i < 7; ++i, ++iteration) {
      const Batch batch = batch_of(subject.data, size, iteration + 1);
      CHECK(graphed.step(batch, iteration) == eager.step(batch, iteration));
      REQUIRE(graphed.bound.weights == eager.bound.weights);
      CHECK(graphed.buffers() == eager.buffers());
      if (i == 5) graphed.bound.trainer->evaluate(batch);  // in between
    }
  CHECK(graphed.log.captures == 2);  // of two sizes; the first one's graph was kept
  CHECK(graphed.log.replays == 4 + 4 + 7);
  CHECK(eager.log.captures == 0);
  CHECK(graphed.told.empty());
}

TEST_CASE("a pass that cannot be recorded is computed as before, and one sentence says so") {
  GraphedTrainer eager(perceptron(), false, true);
  GraphedTrainer refused(perceptron(), true, true, Precision::kFloat32, /*refuses=*/true);
  for (std::uint64_t iteration = 0; iteration < 8; ++iteration) {
    const Batch batch = batch_of(perceptron().data, 6, iteration + 1);
    CHECK(refused.step(batch, iteration) == eager.step(batch, iteration));
    REQUIRE(refused.bound.weights == eager.bound.weights);
  }
  REQUIRE(refused.told.size() == 1);
  CHECK_THAT(refused.told[0],
             Catch::Contains("without CUDA graphs") && Catch::Contains("not permitted"));
}

TEST_CASE("a graph of float16 is recorded again with another factor of the loss") {
  GraphedTrainer eager(plain_mlp(), false, true, Precision::kFloat16);
  GraphedTrainer graphed(plain_mlp(), true, true, Precision::kFloat16);
  for (std::uint64_t iteration = 0; iteration < 12; ++iteration) {
    Batch batch = batch_of(plain_mlp().data, 6, iteration + 1);
    if (iteration == 5)  // overflows with the first factors
      for (float& feature : batch.features) feature *= 30.0F;
    CHECK(graphed.step(batch, iteration) == eager.step(batch, iteration));
    REQUIRE(graphed.bound.weights == eager.bound.weights);
  }
  CHECK(graphed.log.captures >= 2);
}

TEST_CASE("ranges that are joined are all sent, once each, and in pieces that are large enough") {
  RangeJoiner joiner(32);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sent;
  const auto send = [&](std::uint64_t first, std::uint64_t last) {
    sent.emplace_back(first, last);
  };
  for (std::uint64_t last = 100; last > 0; last -= 10) joiner.add(last - 10, last, send);
  CHECK(sent == decltype(sent){{60, 100}, {20, 60}});
  joiner.flush(send);
  joiner.flush(send);
  CHECK(sent.back() == std::pair<std::uint64_t, std::uint64_t>{0, 20});
  CHECK(sent.size() == 3);
}
