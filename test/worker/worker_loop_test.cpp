#include "runtime/worker/worker_loop.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "runtime/base/error.h"
#include "runtime/data/data_set.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;

namespace {

class ManualClock final : public Clock {
 public:
  double now_seconds() const override { return seconds; }
  std::atomic<double> seconds = 1000.0;
};

// f(w) = mean over the batch of |w - x|^2 / 2, so the gradient is w - mean(x). One iteration takes
// `seconds_per_step` on the clock.
class QuadraticTrainer final : public Trainer {
 public:
  explicit QuadraticTrainer(ManualClock& clock) : clock_(clock) { layout_.add("w", {16}); }

  const TensorLayout& parameters() const override { return layout_; }
  const TensorLayout& buffers() const override { return no_buffers_; }
  void use_weights(std::span<float> weights) override { weights_ = weights; }
  void use_gradients(std::span<float> gradients) override { gradients_ = gradients; }
  void write_initial_weights() override { std::fill(weights_.begin(), weights_.end(), 1.0F); }
  void read_buffers(std::span<float>) const override {}
  void write_buffers(std::span<const float>) override {}

  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override {
    random_keys.push_back(random_key);
    TrainingStep step{0.0, 0.001, 0.002};
    std::copy(weights_.begin(), weights_.end(), gradients_.begin());
    for (std::size_t i = 0; i < batch.features.size(); ++i) {
      const float difference = weights_[i % 16] - batch.features[i];
      step.loss_sum += 0.5 * difference * difference;
      gradients_[i % 16] -= batch.features[i] / static_cast<float>(batch.size);
    }
    clock_.seconds = clock_.seconds + seconds_per_step;
    if (!std::isfinite(step.loss_sum))
      throw JobError({.what = "the loss is not a number", .where = {}, .remedy = {}});
    ready(8, 16);
    ready(0, 8);
    return step;
  }
  EvaluationSums evaluate(const Batch& batch) override {
    evaluated_sizes.push_back(batch.size);
    return {batch.size, batch.size - 1, 2.0 * batch.size};
  }

  double seconds_per_step = 0.02;
  std::vector<std::uint64_t> random_keys;
  std::vector<std::uint32_t> evaluated_sizes;

 private:
  ManualClock& clock_;
  TensorLayout layout_, no_buffers_;
  std::span<float> weights_, gradients_;
};

// A job of one: steps by half of the gradient.
class LocalSynchroniser final : public Synchroniser {
 public:
  bool join(const SyncGroup&, const InitialWeights&) override { return true; }
  std::span<float> weights() override { return weights_; }
  std::span<float> gradients() override { return gradients_; }
  void begin(std::uint64_t iteration) override { calls.push_back({iteration, 0}); }
  void gradient_ready(std::uint64_t first, std::uint64_t last) override {
    calls.push_back({first, last});
  }
  std::optional<SyncResult> finish() override {
    if (interrupted_) return std::nullopt;
    SyncResult result{0.003, 0.0, 0.0};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] -= 0.5F * gradients_[i];
      result.local_gradient_sqr_norm += static_cast<double>(gradients_[i]) * gradients_[i];
    }
    result.global_gradient_sqr_norm = 2.0 * result.local_gradient_sqr_norm;
    return result;
  }
  void interrupt() override { interrupted_ = true; }
  void allow() override { interrupted_ = false; }
  std::string problem() const override { return {}; }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;

 private:
  bool interrupted_ = false;
  std::vector<float> weights_ = std::vector<float>(16), gradients_ = std::vector<float>(16);
};

// Everything is the same for all features of a sample: 0 for even positions, 2 for odd ones.
void assemble(std::uint64_t first_position, std::uint32_t size, Batch& batch) {
  batch.first_position = first_position;
  batch.size = size;
  batch.features.resize(size * 16);
  for (std::size_t i = 0; i < batch.features.size(); ++i)
    batch.features[i] = (first_position + i / 16) % 2 == 0 ? 0.0F : 2.0F;
}

class OneWorker final {
 public:
  explicit OneWorker(JobConfig config = {}, std::uint32_t rank = 1)
      : loader_(assemble, clock), loop([this, &config, rank] {
          trainer.use_weights(synchroniser.weights());
          trainer.use_gradients(synchroniser.gradients());
          trainer.write_initial_weights();
          loader_.start({7, 70, 10, 4, 6});
          return WorkerLoop({trainer, synchroniser, loader_, clock}, config, 100,
                            {1, 10, {4, 6}, 7, 70}, rank,
                            [this](IterationStats stats) { reports.push_back(std::move(stats)); });
        }()) {}

  void run(int iterations) {
    for (int i = 0; i < iterations; ++i) loop.run_iteration();
  }

  ManualClock clock;
  QuadraticTrainer trainer{clock};
  LocalSynchroniser synchroniser;
  std::vector<IterationStats> reports;

 private:
  BatchLoader loader_;

 public:
  WorkerLoop loop;
};

}  // namespace

TEST_CASE("an iteration makes the batch's gradient, hands it over and takes the new weights") {
  OneWorker worker;
  for (float& weight : worker.synchroniser.weights()) weight = 5.0F;

  worker.run(1);

  // The mean of x is 1: the gradient is 4, of which half is taken.
  for (const float weight : worker.synchroniser.weights()) CHECK(weight == 3.0F);
  CHECK(worker.synchroniser.calls ==
        std::vector<std::pair<std::uint64_t, std::uint64_t>>{{7, 0}, {8, 16}, {0, 8}});
  CHECK(worker.loop.iteration() == 8);
}

TEST_CASE("statistics come about twenty times a second, each iteration once and in order") {
  OneWorker worker;

  worker.run(7);  // of 20 ms
  CHECK(worker.reports.size() == 2);
  worker.loop.flush();
  worker.loop.flush();  // nothing is left

  REQUIRE(worker.reports.size() == 3);
  CHECK(worker.reports[0].first == 7);
  CHECK(worker.reports[1].first == 10);
  CHECK(worker.reports[2].first == 13);
  CHECK(worker.reports[2].loss_sum.size() == 1);
}

TEST_CASE("an iteration that takes long is reported at once") {
  OneWorker worker;
  worker.trainer.seconds_per_step = 3.0;

  worker.run(2);

  CHECK(worker.reports.size() == 2);
}

TEST_CASE("statistics say what was measured") {
  OneWorker worker;
  for (float& weight : worker.synchroniser.weights()) weight = 5.0F;

  worker.run(1);
  worker.loop.flush();

  const IterationStats& stats = worker.reports.at(0);
  // 6 samples of 16 features, half of them 5 and half of them 3 away.
  CHECK(stats.loss_sum == std::vector<double>{16.0 * (3 * 12.5 + 3 * 4.5)});
  CHECK(stats.seconds.at(0) == Approx(0.02));
  CHECK(stats.data_wait_seconds.size() == 1);
  CHECK(stats.forward_seconds == std::vector<double>{0.001});
  CHECK(stats.backward_seconds == std::vector<double>{0.002});
  CHECK(stats.sync_wait_seconds == std::vector<double>{0.003});
  CHECK(stats.local_sqr_norm.at(0) == Approx(16.0 * 16.0));
  CHECK(stats.global_sqr_norm.at(0) == Approx(2.0 * 16.0 * 16.0));
}

TEST_CASE("the learning rate in a report is that of its first iteration") {
  JobConfig config;
  config.optimizer.learning_rate = 1.0;
  config.optimizer.schedule.warmup_epochs = 1.0;  // 100 samples: 0.1 more each iteration
  OneWorker worker(config);

  worker.run(3);

  CHECK(worker.reports.at(0).learning_rate == Approx(0.7));  // at position 70
}

TEST_CASE(
    "random keys differ between iterations, ranks and seeds, and come again in a second run") {
  std::set<std::uint64_t> keys;
  JobConfig other_seed;
  other_seed.seed = 2;
  OneWorker worker({}, 0), again({}, 0), other_rank({}, 1), other(other_seed, 0);
  for (OneWorker* one : {&worker, &again, &other_rank, &other}) one->run(5);

  CHECK(worker.trainer.random_keys == again.trainer.random_keys);
  for (const OneWorker* one : {&worker, &other_rank, &other})
    keys.insert(one->trainer.random_keys.begin(), one->trainer.random_keys.end());
  CHECK(keys.size() == 15);
}

TEST_CASE("a loss that is not a number ends the job and names the iteration") {
  OneWorker worker;
  worker.run(2);
  worker.synchroniser.weights()[3] = std::numeric_limits<float>::infinity();

  CHECK_THROWS_WITH(worker.run(1),
                    Catch::Contains("iteration 9") && Catch::Contains("not a number"));
  CHECK(worker.loop.iteration() == 9);
}

TEST_CASE("an evaluation covers its samples in batches, the last as large as what is left") {
  const TemporaryFolder cache;
  DataConfig config;
  config.train.format = DataFormat::kSynthetic;
  config.train.samples = 25;
  config.train.feature_count = 16;
  config.classes = 2;
  const DataSet data = DataSet::open(config, Split::kTrain, cache.path());
  BatchAssembler assembler = BatchAssembler::for_evaluation(data, config);
  ManualClock clock;
  QuadraticTrainer trainer(clock);

  const Evaluated sums = evaluate_range(trainer, assembler, {"train", 3, 25, 10});

  CHECK(trainer.evaluated_sizes == std::vector<std::uint32_t>{10, 10, 2});
  CHECK(sums.samples == 22);
  CHECK(sums.correct == 19);
  CHECK(sums.loss_sum == 44.0);
  CHECK(evaluate_range(trainer, assembler, {"train", 3, 3, 10}).samples == 0);
}

TEST_CASE("an iteration that is interrupted is neither counted nor reported, and done again") {
  OneWorker worker;
  worker.synchroniser.interrupt();
  CHECK_FALSE(worker.loop.run_iteration());
  CHECK(worker.loop.iteration() == 7);
  worker.synchroniser.allow();

  CHECK(worker.loop.run_iteration());
  worker.loop.flush();

  CHECK(worker.loop.iteration() == 8);
  CHECK(worker.trainer.random_keys.at(0) == worker.trainer.random_keys.at(1));
  CHECK(worker.reports.at(0).first == 7);
}
