#include "elastic/rate/rate_rule.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "elastic/history/run_summary.h"
#include "elastic/rate/rate_replay.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/noise/known_gradients.h"

namespace scavenger::elastic {
namespace {

constexpr double kNoiseScale = 50.0;

OptimizerConfig adascale(std::uint32_t reference) {
  OptimizerConfig optimizer;
  optimizer.batch_size_rule = BatchSizeRule::kAdaScale;
  optimizer.reference_batch_size = reference;
  return optimizer;
}

double gain(double from, double to) {
  return to / from * (from + kNoiseScale) / (to + kNoiseScale);
}

// Two workers, whose gradients have a known noise; every event goes through the log's text.
class NoisyJob final {
 public:
  NoisyJob() { log(sample_start()); }

  void log(RunEvent event) {
    events_.push_back(from_json_line(to_json_line({time_, std::move(event)}), "noisy job"));
    summary_.apply(events_.back());
  }
  void begin(std::uint32_t batch_size, double rate_factor) {
    membership_ = sample_membership(++epoch_, {batch_size / 2, batch_size / 2}, next_);
    membership_.rate_factor = rate_factor;
    log(membership_);
  }
  void train(std::uint32_t count, double learning_rate = 0.1) {
    fact::Iterations made = sample_iterations(epoch_, next_, count, 2);
    made.learning_rate = learning_rate;
    for (std::uint32_t i = 0; i < count; ++i) {
      problem_.draw({membership_.shares[0] * 1.0, membership_.shares[1] * 1.0});
      made.global_sqr_norm[i] = problem_.batch_sqr_norm;
      for (std::size_t k = 0; k < 2; ++k)
        made.workers[k].local_sqr_norm[i] = problem_.parts[k].sqr_norm;
    }
    next_ += count;
    time_ += 1.0;
    log(made);
  }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  const std::vector<LoggedEvent>& events() const { return events_; }

 private:
  noise::KnownGradients problem_{7, 64, 1.0, kNoiseScale};
  fact::Membership membership_;
  std::uint32_t epoch_ = 0;
  std::uint64_t next_ = 0;
  double time_ = 0.0;
  RunSummary summary_;
  std::vector<LoggedEvent> events_;
};

std::vector<std::string> differences(const OptimizerConfig& optimizer,
                                     const std::vector<LoggedEvent>& events) {
  RateReplay replay([&](const fact::Start&) { return optimizer; });
  std::vector<std::string> found;
  for (const LoggedEvent& logged : events)
    if (const auto difference = replay.add(logged)) found.push_back(*difference);
  return found;
}

}  // namespace

TEST_CASE("The noise decides only where the rule asks for it, and at another batch size") {
  OptimizerConfig optimizer = adascale(64);
  CHECK(follows_noise(optimizer, 256));
  CHECK_FALSE(follows_noise(optimizer, 64));
  optimizer.batch_size_rule = BatchSizeRule::kSqrt;
  CHECK_FALSE(follows_noise(optimizer, 256));
}

TEST_CASE("Before the noise is known the learning rate goes by the square root of the batch") {
  NoisyJob job;
  const fact::RateDecision blind = decide_rate(adascale(64), job.numbers(), 256);
  CHECK(blind.factor == 2.0);
  CHECK(std::isnan(blind.noise_scale));
  CHECK(blind.batch_size == 256);

  job.begin(64, 1.0);
  job.train(3);  // says next to nothing
  CHECK(decide_rate(adascale(64), job.numbers(), 256).factor == 2.0);
}

TEST_CASE("Once the noise is known the learning rate goes by AdaScale's gain") {
  NoisyJob job;
  job.begin(64, 1.0);
  for (int i = 0; i < 20; ++i) job.train(100);
  for (const std::uint32_t batch_size : {16U, 32U, 128U, 256U, 4096U}) {
    const fact::RateDecision decision = decide_rate(adascale(64), job.numbers(), batch_size);
    CHECK(decision.noise_scale == Approx(kNoiseScale).epsilon(0.15));
    CHECK(decision.factor == Approx(gain(64.0, batch_size)).epsilon(0.1));
  }
}

TEST_CASE("A phase of the learning rate that has just begun is answered for by the one before") {
  NoisyJob job;
  job.begin(64, 1.0);
  for (int i = 0; i < 20; ++i) job.train(100);
  job.train(2, 0.01);
  CHECK(decide_rate(adascale(64), job.numbers(), 256).noise_scale ==
        Approx(kNoiseScale).epsilon(0.15));
}

TEST_CASE("The factor of the batch that is trained follows the noise, but not every breath of it") {
  const OptimizerConfig optimizer = adascale(64);
  NoisyJob job;
  job.log(decide_rate(optimizer, job.numbers(), 256));
  job.begin(256, 2.0);
  job.train(50);
  CHECK_FALSE(follow_noise(optimizer, job.numbers()));  // so soon after the last decision
  for (int i = 0; i < 10; ++i) job.train(100);
  const auto decision = follow_noise(optimizer, job.numbers());
  REQUIRE(decision);
  CHECK(decision->batch_size == 256);
  CHECK(decision->factor == Approx(gain(64.0, 256.0)).epsilon(0.1));

  job.log(*decision);
  job.begin(256, decision->factor);
  for (int i = 0; i < 20; ++i) {
    job.train(100);
    CHECK_FALSE(follow_noise(optimizer, job.numbers()));
  }
  job.begin(64, 1.0);
  job.train(100);
  CHECK_FALSE(follow_noise(optimizer, job.numbers()));  // the batch that the rate is for
}

TEST_CASE("A log's decisions are decided again, and one that was changed is found") {
  const OptimizerConfig optimizer = adascale(64);
  NoisyJob job;
  job.log(decide_rate(optimizer, job.numbers(), 256));
  job.begin(256, 2.0);
  for (int i = 0; i < 10; ++i) job.train(100);
  job.log(decide_rate(optimizer, job.numbers(), 256));
  job.train(100);
  CHECK(differences(optimizer, job.events()).empty());
  CHECK(differences(adascale(128), job.events()).size() == 2);

  std::vector<LoggedEvent> changed = job.events();
  for (LoggedEvent& logged : changed)
    if (auto* decision = std::get_if<fact::RateDecision>(&logged.event)) decision->factor *= 1.01;
  CHECK(differences(optimizer, changed).size() == 2);
}

}  // namespace scavenger::elastic
