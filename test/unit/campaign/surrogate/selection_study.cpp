#include "test/unit/campaign/surrogate/selection_study.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "runtime/base/random.h"
#include "test/unit/campaign/surrogate/adam_trainer.h"

namespace scavenger::surrogate {
namespace {

// `measure` falls. Between two sizes it falls along a power of the size.
template <class Measure>
double size_at(const Curve& curve, double level, const Measure& measure) {
  double last_size = 0.0, last = 0.0;
  for (const auto& [count, point] : curve) {
    const auto size = static_cast<double>(count);
    const double value = measure(point);
    if (value <= level) {
      if (last_size == 0.0) return size;
      const double share = std::log(last / level) / std::log(last / value);
      return last_size * std::pow(size / last_size, share);
    }
    last_size = size;
    last = value;
  }
  return std::numeric_limits<double>::infinity();
}

// A score of points whose batches an oracle compares.
struct BatchScore {
  static constexpr int kByVariance = 0, kByTrueError = 1, kKinds = 10;  // from 2 on: at random
  static constexpr int kByShareOutside = -1, kByTrueShareOutside = -2;
  const std::vector<Sample>& samples;
  int kind = kByVariance;

  double operator()(const Surrogate& surrogate, std::size_t point) const {
    const Sample& truth = samples[point];
    if (kind == kByVariance) return surrogate.variance(truth.parameters);
    if (kind == kByShareOutside) return surrogate.share_outside(truth.parameters);
    if (kind > kByTrueError)
      return RandomStream(static_cast<std::uint64_t>(kind), "batch", {point}).uniform();
    const Prediction prediction = surrogate.predict(truth.parameters);
    double squares = 0.0, outside = 0.0;
    for (std::size_t b = 0; b < truth.profile.size(); ++b) {
      squares += std::pow(prediction.profile[b] - truth.profile[b], 2);
      if (std::abs(prediction.profile[b] - truth.profile[b]) > truth.errors[b]) outside += 1.0;
    }
    return kind == kByTrueShareOutside ? outside : squares;
  }
};

// One batch of proposals, and a training. Returns whether there was one.
bool simulate_and_train(SurrogateLoop& loop, const std::vector<Sample>& samples) {
  const LoopSettings& settings = loop.settings();
  const std::size_t count =
      loop.trained_on() == 0 ? settings.holdout + settings.first : settings.retrain_after;
  for (const Proposal& proposal : loop.propose(count))
    loop.complete(proposal.point, samples[proposal.point]);
  if (!loop.is_training_due()) return false;
  const Encoding& encoding = loop.begin_training();
  std::vector<Perceptron> members;
  for (std::size_t i = 0; i < settings.fit.members; ++i)
    members.push_back(train_with_adam(encoding.set, settings.fit, i));
  loop.end_training(std::move(members));
  return true;
}

int best_batch(const SurrogateLoop& loop, const std::vector<Sample>& samples, BatchScore& score) {
  int best = BatchScore::kByVariance;
  double least = std::numeric_limits<double>::infinity();
  for (score.kind = 0; score.kind < BatchScore::kKinds; ++score.kind) {
    SurrogateLoop trial = loop;  // which asks the same score
    if (!simulate_and_train(trial, samples) || trial.error()->rmse >= least) continue;
    least = trial.error()->rmse;
    best = score.kind;
  }
  return best;
}

}  // namespace

int study_seeds() {
  const char* const set = std::getenv("SCAVENGER_SURROGATE_SEEDS");
  return set != nullptr ? std::atoi(set) : 0;
}

Curve run_loop(const std::vector<Sample>& samples, LoopSettings settings, std::size_t most,
               Choice choice) {
  std::vector<std::vector<double>> points;
  for (const Sample& sample : samples) points.push_back(sample.parameters);
  BatchScore score{samples};
  if (choice == Choice::kRandom) settings.rule = SelectionRule::kRandom;
  if (choice == Choice::kShareOutside) score.kind = BatchScore::kByShareOutside;
  if (choice == Choice::kDampedVariance) settings.is_damped = true;
  if (choice == Choice::kTrueOutsideOracle) score.kind = BatchScore::kByTrueShareOutside;
  if (choice == Choice::kTrueErrorOracle) score.kind = BatchScore::kByTrueError;
  if (choice != Choice::kVariance && choice != Choice::kDampedVariance)
    settings.score = [&](const Surrogate& surrogate, std::size_t point) {
      return score(surrogate, point);
    };
  SurrogateLoop loop(points, settings);
  Curve curve;
  while (loop.trained_on() < most) {
    if (loop.trained_on() > 0 && choice == Choice::kBestOfBatchesOracle)
      score.kind = best_batch(loop, samples, score);
    if (!simulate_and_train(loop, samples)) break;
    curve[loop.trained_on()] = {loop.error()->rmse, loop.error()->within};
  }
  return curve;
}

Curve mean_of(const std::vector<Curve>& curves) {
  Curve mean;
  const auto count = static_cast<double>(curves.size());
  for (const Curve& curve : curves)
    for (const auto& [size, point] : curve) {
      mean[size].rmse += point.rmse * point.rmse / count;
      mean[size].within += point.within / count;
    }
  for (auto& [size, point] : mean) point.rmse = std::sqrt(point.rmse);
  return mean;
}

double simulations_to_rmse(const Curve& curve, double rmse) {
  return size_at(curve, rmse, [](const CurvePoint& point) { return point.rmse; });
}

double simulations_to_within(const Curve& curve, double within) {
  return size_at(curve, 1.0 - within, [](const CurvePoint& point) { return 1.0 - point.within; });
}

namespace {

double median_of(const std::vector<Curve>& curves,
                 const std::function<double(const Curve&)>& simulations) {
  std::vector<double> values;
  for (const Curve& curve : curves) values.push_back(simulations(curve));
  std::ranges::sort(values);
  return 0.5 * (values[values.size() / 2] + values[(values.size() - 1) / 2]);
}

}  // namespace

Saving saving_of(const std::vector<Curve>& rule, const std::vector<Curve>& other,
                 const std::function<double(const Curve&)>& simulations) {
  constexpr std::uint64_t kResamples = 1000;
  std::vector<double> ratios;
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    RandomStream random(resample, "seeds");
    std::vector<Curve> some, others;
    for (std::size_t i = 0; i < rule.size(); ++i) {
      const std::size_t seed = random.below(rule.size());
      some.push_back(rule[seed]);
      others.push_back(other[seed]);
    }
    ratios.push_back(simulations(mean_of(some)) / simulations(mean_of(others)));
  }
  std::ranges::sort(ratios);
  return {.mean = simulations(mean_of(rule)) / simulations(mean_of(other)),
          .low = ratios[kResamples / 40],
          .high = ratios[kResamples - kResamples / 40],
          .median = median_of(rule, simulations),
          .other_median = median_of(other, simulations)};
}

}  // namespace scavenger::surrogate
