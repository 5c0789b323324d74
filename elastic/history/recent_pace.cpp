#include "elastic/history/recent_pace.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scavenger::elastic {
namespace {

double finite_sum(const std::vector<double>& series) {
  double sum = 0.0;
  for (const double value : series)
    if (std::isfinite(value)) sum += value;
  return sum;
}

}  // namespace

void RecentPace::apply(const LoggedEvent& logged) {
  fade(std::max(0.0, logged.time - time_));
  time_ = std::max(time_, logged.time);
  if (const auto* membership = std::get_if<fact::Membership>(&logged.event)) {
    batch_size_ = membership->batch_size;
    iterations_ = seconds_ = loss_ = compute_ = sync_wait_ = 0.0;
  } else if (std::holds_alternative<fact::Pause>(logged.event)) {
    iterations_ = seconds_ = loss_ = compute_ = sync_wait_ = 0.0;
  } else if (const auto* iterations = std::get_if<fact::Iterations>(&logged.event)) {
    add(*iterations);
  } else if (const auto* block = std::get_if<fact::IterationBlock>(&logged.event)) {
    add(*block);
  }
}

void RecentPace::fade(double seconds) {
  const double factor = std::exp(-seconds / kSeconds);
  for (double* sum : {&iterations_, &seconds_, &loss_, &compute_, &sync_wait_}) *sum *= factor;
}

void RecentPace::add(const fact::Iterations& iterations) {
  iterations_ += iterations.count;
  seconds_ += finite_sum(iterations.seconds);
  loss_ += finite_sum(iterations.loss);
  for (const fact::WorkerSeries& worker : iterations.workers) {
    const auto workers = static_cast<double>(iterations.workers.size());
    compute_ += (finite_sum(worker.forward) + finite_sum(worker.backward)) / workers;
    sync_wait_ += finite_sum(worker.sync_wait) / workers;
  }
}

void RecentPace::add(const fact::IterationBlock& block) {
  const auto count = static_cast<double>(block.count);
  iterations_ += count;
  for (const auto& [sum, digest] : {std::pair{&seconds_, &block.seconds},
                                    {&loss_, &block.loss},
                                    {&compute_, &block.compute},
                                    {&sync_wait_, &block.sync_wait}})
    if (digest->count > 0) *sum += count * digest->moments.front();
}

double RecentPace::samples_per_second() const {
  return seconds_ > 0.0 ? iterations_ * batch_size_ / seconds_ : 0.0;
}

}  // namespace scavenger::elastic
