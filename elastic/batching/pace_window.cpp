#include "elastic/batching/pace_window.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// A difference beyond this is a change of speed rather than noise.
constexpr double kLargestScatter = 3.0;
// What is assumed of the scatter before it is known, worth so many iterations.
constexpr double kAssumedScatter = 0.1;
constexpr double kAssumedIterations = 2.0;
// Of a normal variable, mean absolute difference of two -> standard deviation.
constexpr double kDeviationPerDifference = 0.886;

double share_of_newest(std::size_t iterations) {
  return 1.0 / static_cast<double>(std::min(iterations, PaceWindow::kRecent));
}

}  // namespace

void PaceWindow::add(std::vector<double> seconds) {
  SCAVENGER_CHECK(seconds.size() == workers_);
  ++iterations_;
  if (!latest_.empty())
    for (std::size_t k = 0; k < workers_; ++k) {
      const double before = latest_.back()[k], now = seconds[k];
      const double difference = std::abs(now - before) / std::min(now, before);
      scatter_[k] +=
          (std::min(difference, kLargestScatter) - scatter_[k]) * share_of_newest(iterations_ - 1);
    }
  latest_.push_back(std::move(seconds));
  if (latest_.size() > kKept) latest_.pop_front();
}

std::vector<double> PaceWindow::means(std::size_t iterations) const {
  const std::size_t count = std::min(iterations, latest_.size());
  SCAVENGER_CHECK(count > 0);
  std::vector<double> means;
  for (std::size_t k = 0; k < workers_; ++k) {
    double sum = 0.0, longest = 0.0;
    for (std::size_t i = latest_.size() - count; i < latest_.size(); ++i) {
      sum += latest_[i][k];
      longest = std::max(longest, latest_[i][k]);
    }
    means.push_back(count == 1 ? sum : (sum - longest) / static_cast<double>(count - 1));
  }
  return means;
}

double PaceWindow::relative_error(std::size_t iterations) const {
  const auto known = static_cast<double>(std::min(iterations, latest_.size()));
  const double differences = std::max(0.0, known - 1.0);
  const double largest = scatter_.empty() ? 0.0 : *std::ranges::max_element(scatter_);
  const double scatter = (differences * largest + kAssumedIterations * kAssumedScatter) /
                         (differences + kAssumedIterations);
  return kDeviationPerDifference * scatter / std::sqrt(std::max(1.0, differences));
}

}  // namespace scavenger::elastic
