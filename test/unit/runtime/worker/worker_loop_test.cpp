#include "runtime/worker/worker_loop.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "runtime/base/error.h"
#include "runtime/data/data_set.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/worker/quadratic_job.h"

using namespace scavenger;

namespace {

// Everything is the same for all features of a sample: 0 for even positions, 2 for odd ones.
void assemble(const BatchPlace& place, Batch& batch) {
  batch.first_position = place.first;
  batch.size = place.size;
  batch.features.resize(place.size * 16);
  for (std::size_t i = 0; i < batch.features.size(); ++i)
    batch.features[i] = (place.first + i / 16) % 2 == 0 ? 0.0F : 2.0F;
}

class OneWorker final {
 public:
  explicit OneWorker(JobConfig config = {}, std::uint32_t rank = 1, HalfBatchShare share = {})
      : probe_(trainer, clock, one_group(trainer.parameters()), share),
        loader_(assemble, clock),
        loop([this, &config, rank] {
          trainer.use_weights(synchroniser.weights());
          trainer.use_gradients(synchroniser.gradients());
          trainer.write_initial_weights();
          loader_.start({7, 70, 10, 4, 6});
          return WorkerLoop({trainer, synchroniser, loader_, clock, &probe_}, config, 100,
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
  HalfBatchProbe probe_;
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

TEST_CASE("an iteration lasts until the next one begins, but a pause is no part of it") {
  OneWorker worker;

  worker.run(1);
  worker.clock.seconds = worker.clock.seconds + 0.005;  // between two iterations
  worker.run(1);
  worker.loop.flush();
  worker.clock.seconds = worker.clock.seconds + 60.0;  // an evaluation
  worker.run(1);
  worker.synchroniser.interrupt();
  worker.loop.run_iteration();
  worker.clock.seconds = worker.clock.seconds + 60.0;  // others are waited for
  worker.synchroniser.allow();
  worker.run(1);
  worker.loop.flush();

  std::vector<double> seconds;
  for (const IterationStats& report : worker.reports)
    seconds.insert(seconds.end(), report.seconds.begin(), report.seconds.end());
  REQUIRE(seconds.size() == 4);
  CHECK(seconds[0] == Approx(0.02));
  CHECK(seconds[1] == Approx(0.025));
  CHECK(seconds[2] == Approx(0.02));
  CHECK(seconds[3] == Approx(0.02));
}

TEST_CASE("the passes of half batches are no part of an iteration") {
  OneWorker worker({}, 1, {.usual = 0.5});

  worker.run(20);
  worker.loop.flush();

  std::size_t asides = 0;
  for (const IterationStats& report : worker.reports) {
    asides += report.half_batches.size();
    for (const double seconds : report.seconds) CHECK(seconds == Approx(0.02));
  }
  CHECK(asides >= 5);
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

  const EvaluationSums sums =
      evaluate_range(trainer, assembler, {Split::kTrain, 3, 25, 10}, [] { return false; })->sums;

  CHECK(trainer.evaluated_sizes == std::vector<std::uint32_t>{10, 10, 2});
  CHECK(sums.samples == 22);
  CHECK(sums.correct == 19);
  CHECK(sums.loss == 44.0);
  CHECK(evaluate_range(trainer, assembler, {Split::kTrain, 3, 3, 10}, [] {
          return false;
        })->sums.samples == 0);
  // Interrupted in its second batch, it has no result.
  CHECK_FALSE(evaluate_range(trainer, assembler, {Split::kTrain, 3, 25, 10},
                             [&] { return trainer.evaluated_sizes.size() == 5; }));
  CHECK(trainer.evaluated_sizes.size() == 5);
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

namespace {

// All that was reported, as if in one report.
IterationStats joined(const std::vector<IterationStats>& reports) {
  IterationStats all;
  all.first = reports.at(0).first;
  all.learning_rate = reports[0].learning_rate;
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const IterationStats& report : reports) {
    CHECK(report.first == all.first + all.loss_sum.size());
    CHECK(report.local_sqr_norm.size() == report.loss_sum.size());
    for (const HalfBatchNorms& half : report.half_batches) {
      CHECK(half.iteration >= report.first);
      CHECK(half.iteration < report.first + report.loss_sum.size());
    }
    append(all.loss_sum, report.loss_sum);
    append(all.seconds, report.seconds);
    append(all.sync_wait_seconds, report.sync_wait_seconds);
    append(all.local_sqr_norm, report.local_sqr_norm);
    append(all.global_sqr_norm, report.global_sqr_norm);
    append(all.half_batches, report.half_batches);
  }
  return all;
}

}  // namespace

TEST_CASE("norms that come late are those that would have come at once, and none is lost") {
  std::vector<IterationStats> joint;
  for (const bool is_late : {false, true}) {
    OneWorker worker({}, 1, {.usual = 0.5});
    worker.synchroniser.is_late = is_late;
    worker.run(9);
    worker.loop.flush();  // as at a boundary
    worker.run(2);
    worker.synchroniser.interrupt();
    CHECK_FALSE(worker.loop.run_iteration());  // the one that was interrupted is not reported
    worker.loop.flush();
    joint.push_back(joined(worker.reports));
  }
  CHECK(joint[0].loss_sum.size() == 11);
  CHECK_FALSE(joint[0].half_batches.empty());
  CHECK(joint[1] == joint[0]);
}

TEST_CASE("late norms are read after the next backward pass, where nothing waits for them") {
  OneWorker worker;
  worker.synchroniser.is_late = true;
  worker.run(2);
  using Calls = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const Calls first = {{7, 0}, {8, 16}, {0, 8}}, second = {{8, 0}, {8, 16}, {0, 8}};
  Calls expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  expected.push_back({LocalSynchroniser::kLateResult, 8});  // of iteration 7, in iteration 8
  CHECK(worker.synchroniser.calls == expected);
}
