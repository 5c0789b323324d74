#include "test/unit/campaign/surrogate/selection_study.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

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

}  // namespace

int study_seeds() {
  const char* const set = std::getenv("SCAVENGER_SURROGATE_SEEDS");
  return set != nullptr ? std::atoi(set) : 0;
}

Curve run_loop(const std::vector<Sample>& samples, const LoopSettings& settings, std::size_t most) {
  std::vector<std::vector<double>> points;
  for (const Sample& sample : samples) points.push_back(sample.parameters);
  SurrogateLoop loop(points, settings);
  Curve curve;
  while (loop.trained_on() < most) {
    const std::size_t count =
        loop.trained_on() == 0 ? settings.holdout + settings.first : settings.retrain_after;
    const std::vector<Proposal> proposals = loop.propose(count);
    for (const Proposal& proposal : proposals)
      loop.complete(proposal.point, samples[proposal.point]);
    if (!loop.is_training_due()) break;
    const Encoding& encoding = loop.begin_training();
    std::vector<Perceptron> members;
    for (std::size_t i = 0; i < settings.fit.members; ++i)
      members.push_back(train_with_adam(encoding.set, settings.fit, i));
    loop.end_training(std::move(members));
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

}  // namespace scavenger::surrogate
