#include "elastic/coordinator/job/job_facts.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("a checkpoint of another vocabulary is refused, and says from which word on") {
  Checkpoint checkpoint;
  checkpoint.vocabulary = "<padding>\na\nb\nc\n";
  checkpoint.target_vocabulary = "x\n";
  DataSize data{10, 5, checkpoint.vocabulary, checkpoint.target_vocabulary};

  CHECK_NOTHROW(check_vocabulary(checkpoint, data, "there"));
  data.vocabulary = "<padding>\na\nd\n";
  CHECK_THROWS_WITH(check_vocabulary(checkpoint, data, "there"),
                    Catch::Contains("there") && Catch::Contains("3 words") &&
                        Catch::Contains("4 words") && Catch::Contains("from word 2 on") &&
                        Catch::Contains("training data"));
  data.vocabulary = checkpoint.vocabulary;
  data.target_vocabulary = "x\ny\n";
  CHECK_THROWS_AS(check_vocabulary(checkpoint, data, "there"), CheckpointError);
}

TEST_CASE("an evaluation tells of the metrics that the job has, and of no others") {
  JobConfig config;
  config.data.classes = 3;
  const EvaluationSums sums{.samples = 4,
                            .predictions = 8,
                            .correct = 2,
                            .loss = 4.0,
                            .negative_log_likelihood = 0.0,
                            .squared_error = 2.0,
                            .bleu = {}};

  const fact::Evaluation labels = make_evaluation_event(config, sums);
  CHECK(labels.samples == 4);
  CHECK(labels.loss == 0.5);
  CHECK(labels.metrics[Metric::kAccuracy] == 0.25);
  CHECK_FALSE(labels.metrics[Metric::kPerplexity]);
  CHECK_FALSE(labels.metrics[Metric::kMse]);
  CHECK_FALSE(
      labels.metrics[Metric::kTop5Accuracy]);  // of three classes all are among the five likeliest

  config.data.classes = 6;
  EvaluationSums many = sums;
  many.correct_in_top5 = 6;
  CHECK(make_evaluation_event(config, many).metrics[Metric::kTop5Accuracy] == 0.75);

  config.data.classes = 0;
  const fact::Evaluation values = make_evaluation_event(config, sums);
  CHECK(values.metrics[Metric::kMse] == 0.25);
  CHECK_FALSE(values.metrics[Metric::kAccuracy]);

  config.data.train.format = DataFormat::kParallelText;
  const fact::Evaluation pairs = make_evaluation_event(config, sums);
  CHECK(pairs.metrics[Metric::kBleu] == 0.0);
  CHECK(pairs.metrics[Metric::kPerplexity] == 1.0);
  CHECK_FALSE(pairs.metrics[Metric::kMse]);
}

TEST_CASE("a checkpoint keeps what early stopping has seen, for a job that has the same metric") {
  JobStart start;
  start.config.stop.early_stopping = EarlyStoppingConfig{Metric::kAccuracy, 3, 0.0};
  start.checkpoint.emplace();
  CHECK_FALSE(make_plan(start, {1000, 10}, 1, 0.0).early_stop);  // of an older version
  const EarlyStopState state{0.75, 40, {50, 60}};
  start.checkpoint->content.history["early_stopping"] =
      early_stop_history(Metric::kAccuracy, state);
  CHECK(make_plan(start, {1000, 10}, 1, 0.0).early_stop == state);
  start.config.stop.early_stopping->metric = Metric::kLoss;
  CHECK_FALSE(make_plan(start, {1000, 10}, 1, 0.0).early_stop);
}

TEST_CASE("a job's first learning rate is for its batch size, where a rule says so") {
  JobStart start;
  start.config.batch_size = 256;
  start.config.optimizer.reference_batch_size = 64;
  CHECK(make_plan(start, {1000, 10}, 1, 0.0).membership.rate_factor == 1.0);

  start.config.optimizer.batch_size_rule = BatchSizeRule::kSqrt;
  CHECK(make_plan(start, {1000, 10}, 1, 0.0).membership.rate_factor == 2.0);
}

TEST_CASE(
    "A resumed job has its checkpoint's learning rate, unless B or what it is for has changed") {
  JobStart start;
  start.config.batch_size = 256;
  start.config.optimizer.batch_size_rule = BatchSizeRule::kAdaScale;
  start.config.optimizer.reference_batch_size = 64;
  CHECK_FALSE(kept_rate_factor(start));
  CHECK(make_plan(start, {1000, 10}, 1, 0.0).membership.rate_factor == 2.0);  // no noise is known

  Membership trained;
  trained.batch_size = 256;
  trained.rate_factor = 1.0 / 3.0 + 1.0;
  start.checkpoint.emplace();
  CHECK_FALSE(kept_rate_factor(start));  // of a version that did not write it
  start.checkpoint->content.history["learning_rate"] =
      rate_history(start.config.optimizer, trained);
  CHECK(kept_rate_factor(start) == trained.rate_factor);
  CHECK(make_plan(start, {1000, 10}, 1, 0.0).membership.rate_factor == trained.rate_factor);

  SECTION("another batch size") {
    start.config.batch_size = 128;
  }
  SECTION("a rate for another one") {
    start.config.optimizer.reference_batch_size = 32;
  }
  SECTION("another rule") {
    start.config.optimizer.batch_size_rule = BatchSizeRule::kLinear;
  }
  CHECK_FALSE(kept_rate_factor(start));
}

TEST_CASE("A job that fails for what the user gave ends as other bad input does") {
  CHECK(exit_code_of({Status::kTargetReached, ""}) == 0);
  CHECK(exit_code_of({Status::kFailed, "killed"}) == 1);
  CHECK(exit_code_of({Status::kFailed, "no TorchScript file", true}) == 2);
  CHECK(exit_code_of({Status::kInterrupted, ""}) == 130);
}
