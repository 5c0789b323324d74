#include "elastic/batching/pace_errors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "elastic/batching/pace_window.h"
#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// A trend of fewer iterations is noise.
constexpr std::size_t kFewestForTrend = 10;

}  // namespace

void PaceErrors::begin(std::span<const std::uint32_t> workers) {
  workers_.assign(workers.begin(), workers.end());
  latest_.clear();
  std::erase_if(sums_, [this](const auto& sum) {
    return std::ranges::find(workers_, sum.first) == workers_.end();
  });
}

void PaceErrors::add(const std::vector<double>& seconds) {
  SCAVENGER_CHECK(seconds.size() == workers_.size());
  const auto count = static_cast<double>(seconds.size());
  double mean = 0.0;
  for (const double time : seconds) mean += std::log(time) / count;
  std::vector<double> errors;
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    errors.push_back(std::log(seconds[k]) - mean);
    double& sum = sums_[workers_[k]];
    sum =
        std::clamp(sum + errors.back() / PaceWindow::kRecent, -kLargestIntegral, kLargestIntegral);
  }
  latest_.push_back(std::move(errors));
  if (latest_.size() > PaceWindow::kRecent) latest_.pop_front();
}

double PaceErrors::integral(std::uint32_t worker) const {
  const auto sum = sums_.find(worker);
  return sum == sums_.end() ? 0.0 : sum->second;
}

double PaceErrors::derivative(std::uint32_t worker) const {
  if (latest_.size() < kFewestForTrend) return 0.0;
  const auto rank =
      static_cast<std::size_t>(std::ranges::find(workers_, worker) - workers_.begin());
  if (rank == workers_.size()) return 0.0;
  const std::size_t half = latest_.size() / 2;
  double older = 0.0, newer = 0.0;
  for (std::size_t i = 0; i < half; ++i) {
    older += latest_[i][rank];
    newer += latest_[latest_.size() - 1 - i][rank];
  }
  return (newer - older) / static_cast<double>(half);
}

}  // namespace scavenger::elastic
