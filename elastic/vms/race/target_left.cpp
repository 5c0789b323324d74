#include "elastic/vms/race/target_left.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "elastic/history/evaluation_metric.h"
#include "elastic/plan/run_record.h"
#include "runtime/vocabulary/metric.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kFewestEvaluations = 4;
constexpr std::size_t kMostPoints = 64;  // the latest: the beginning of a curve has another form
// Beyond so many times the epochs so far a curve is followed to nowhere.
constexpr double kFarthest = 20.0;
// Standard deviations of a logarithm, chosen by hand: of a curve for each factor of e that it is
// followed, of one job's epochs beside another's with the same batch, and for each factor of e
// between their batches.
constexpr double kCurveSpread = 0.4;
constexpr double kJobSpread = 0.1;
constexpr double kBatchSpread = 0.5;

struct LogEpochs {  // until the target, in all
  double mean = 0.0;
  double variance = 0.0;
};

struct Point {
  double x = 0.0;  // ln(epoch)
  double y = 0.0;
};

// Where a straight line through the points comes to `goal`; nothing if it leads away from it.
std::optional<LogEpochs> line_to(const std::vector<Point>& points, double goal) {
  const auto n = static_cast<double>(points.size());
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
  for (const Point& point : points) {
    mean_x += point.x / n;
    mean_y += point.y / n;
  }
  for (const Point& point : points) {
    xx += (point.x - mean_x) * (point.x - mean_x);
    xy += (point.x - mean_x) * (point.y - mean_y);
    yy += (point.y - mean_y) * (point.y - mean_y);
  }
  if (!(xx > 0.0)) return std::nullopt;
  const double slope = xy / xx;
  const double reach = (goal - mean_y) / slope;  // from the middle of the points
  if (!std::isfinite(reach) || !(reach > 0.0)) return std::nullopt;
  const double residual = std::max(0.0, yy - slope * xy) / (n - 2.0);
  return LogEpochs{mean_x + reach, residual / (slope * slope) * (1.0 / n + reach * reach / xx)};
}

// What is missing to the best possible value; nothing if there is none.
std::optional<double> missing(Metric metric, double value) {
  double left = value;
  if (is_better_when_high(metric))
    left = (entry_of(metric).scale == MetricScale::kPoints ? 100.0 : 1.0) - value;
  if (metric == Metric::kPerplexity) left = std::log(value);
  return left > 0.0 ? std::optional(std::log(left)) : std::nullopt;
}

std::optional<LogEpochs> by_curve(const RunNumbers& numbers) {
  const fact::Target& target = *numbers.start.target;
  const SplitNumbers* const split = numbers.find_split(target.split);
  if (split == nullptr) return std::nullopt;
  std::vector<Point> straight, power;
  const auto& all = split->followed.points();
  // Its latter half, on which it has the form that it will have.
  const std::size_t latest = std::clamp((all.size() + 1) / 2, std::size_t{3}, kMostPoints);
  for (std::size_t i = all.size() - std::min(all.size(), latest); i < all.size(); ++i) {
    if (!(all[i].epoch > 0.0) || all[i].count == 0) continue;
    const double x = std::log(all[i].epoch);
    straight.push_back({x, all[i].mean});
    if (const auto left = missing(target.metric, all[i].mean)) power.push_back({x, *left});
  }
  if (all.size() < kFewestEvaluations || straight.size() < 3) return std::nullopt;
  const auto line = line_to(straight, target.value);
  if (!line) return std::nullopt;
  LogEpochs total = *line;
  const auto goal = missing(target.metric, target.value);
  if (goal && power.size() == straight.size())
    if (const auto law = line_to(power, *goal)) {
      const double apart = 0.5 * (law->mean - line->mean);
      total = {0.5 * (law->mean + line->mean),
               std::max(law->variance, line->variance) + apart * apart};
    }
  const double ahead = total.mean - straight.back().x;
  if (ahead > std::log(kFarthest)) return std::nullopt;
  total.variance += kCurveSpread * kCurveSpread * std::max(0.0, ahead) * std::max(0.0, ahead);
  return total;
}

std::optional<LogEpochs> by_earlier_jobs(const RunNumbers& numbers,
                                         std::span<const perfmodel::EpochRow> earlier) {
  const std::string target = target_name(*numbers.start.target);
  const double batch = numbers.phases.back().membership.batch_size;
  const auto distance = [&](const perfmodel::EpochRow& row) {
    return std::abs(std::log(row.batch_size / batch));
  };
  double nearest = std::numeric_limits<double>::infinity();
  for (const perfmodel::EpochRow& row : earlier)
    if (row.target == target) nearest = std::min(nearest, distance(row));
  if (!std::isfinite(nearest)) return std::nullopt;
  double n = 0.0, sum = 0.0, squares = 0.0;
  for (const perfmodel::EpochRow& row : earlier) {
    if (row.target != target || distance(row) > nearest) continue;
    ++n;
    sum += std::log(row.epochs);
    squares += std::log(row.epochs) * std::log(row.epochs);
  }
  const double mean = sum / n;
  const double between = n > 1.0 ? std::max(0.0, (squares - n * mean * mean) / (n - 1.0)) : 0.0;
  const double job = std::max(kJobSpread * kJobSpread, between);
  return LogEpochs{mean, job * (1.0 + 1.0 / n) + kBatchSpread * kBatchSpread * nearest * nearest};
}

}  // namespace

std::optional<EpochsLeft> epochs_to_target(const RunNumbers& numbers,
                                           std::span<const perfmodel::EpochRow> earlier) {
  if (!numbers.start.target || numbers.phases.empty()) return std::nullopt;
  const auto curve = by_curve(numbers), jobs = by_earlier_jobs(numbers, earlier);
  if (!curve && !jobs) return std::nullopt;
  LogEpochs total = curve ? *curve : *jobs;
  if (curve && jobs) {
    const double first = 1.0 / std::max(1e-6, curve->variance), second = 1.0 / jobs->variance;
    total = {(first * curve->mean + second * jobs->mean) / (first + second),
             1.0 / (first + second)};
  }
  // A job that is late is not nearly done: as much is left as its epochs are uncertain by.
  const double epochs = std::exp(total.mean), deviation = epochs * std::sqrt(total.variance);
  const double left =
      std::max({epochs - numbers.epochs(), 0.5 * deviation, 0.01 * numbers.epochs(), 1e-6});
  return EpochsLeft{left, std::min(1.0, std::max(0.05, deviation / left))};
}

}  // namespace scavenger::elastic
