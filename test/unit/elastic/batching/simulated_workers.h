// Unequal workers under a BatchController: their times follow a law, with noise, and what the
// controller proposes is done some iterations later, as in a job.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "elastic/batching/batch_controller.h"

namespace scavenger::elastic {

class SimulatedWorkers final {
 public:
  // Seconds that a worker takes for a share, at an iteration, without noise.
  using Law = std::function<double(std::uint32_t worker, double share, std::uint64_t iteration)>;

  SimulatedWorkers(std::uint32_t workers, std::uint32_t batch_size, Law law,
                   BatchingSettings settings = {}, std::uint64_t seed = 1)
      : law_(std::move(law)), controller_(std::move(settings)), random_(seed) {
    std::vector<std::uint32_t> indices(workers);
    std::iota(indices.begin(), indices.end(), 0U);
    reshape(batch_size, indices);
  }

  // Relative: independent from iteration to iteration; and a share of iterations in which a worker
  // is held up for three times as long.
  double noise = 0.0;
  double held_up = 0.0;
  // A noise that lasts: its share of the time, and for how many iterations.
  double slow_noise = 0.0;
  double slow_iterations = 10.0;
  std::uint64_t delay = 5;  // iterations until a proposal is carried out

  // Shares by the rule as it was proposed last.
  void reshape(std::uint32_t batch_size, std::vector<std::uint32_t> indices) {
    batch_size_ = batch_size;
    indices_ = std::move(indices);
    begin_membership();
  }

  void run(std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      if (waiting_ && --*waiting_ == 0) {
        waiting_.reset();
        ++adjustments_;
        adjusted_at_.push_back(iteration_);
        begin_membership();
      }
      iterate();
    }
  }

  std::vector<double> seconds() const {  // without noise
    std::vector<double> all;
    for (std::size_t k = 0; k < indices_.size(); ++k)
      all.push_back(law_(indices_[k], shares_[k], iteration_));
    return all;
  }
  double spread() const {  // of these, longest over shortest
    const std::vector<double> all = seconds();
    return std::ranges::max(all) / std::ranges::min(all);
  }
  double slowest() const {
    const std::vector<double> all = seconds();
    return std::ranges::max(all);
  }
  const std::vector<std::uint32_t>& shares() const { return shares_; }
  std::uint32_t adjustments() const { return adjustments_; }
  const std::vector<std::uint64_t>& adjusted_at() const { return adjusted_at_; }
  std::uint64_t iteration() const { return iteration_; }
  const std::vector<std::string>& reasons() const { return reasons_; }
  const ShareRule& rule() const { return rule_; }
  BatchController& controller() { return controller_; }

 private:
  void begin_membership() {
    shares_ = shares_of(rule_, batch_size_, indices_);
    waiting_.reset();
    fact::Membership membership;
    membership.membership_epoch = ++epoch_;
    membership.workers = static_cast<std::uint32_t>(indices_.size());
    membership.batch_size = batch_size_;
    membership.indices = indices_;
    membership.shares = shares_;
    membership.first_iteration = iteration_;
    controller_.observe(membership);
    fact::Recovery recovery;
    recovery.seconds = 0.02;
    controller_.observe(recovery);
  }

  void iterate() {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    fact::Iterations iterations;
    iterations.membership_epoch = epoch_;
    iterations.first = iteration_;
    iterations.count = 1;
    slow_.resize(1024);
    for (std::size_t k = 0; k < indices_.size(); ++k) {
      const double kept = 1.0 - 1.0 / slow_iterations;
      double& slow = slow_[indices_[k]];
      slow = kept * slow + std::sqrt(1.0 - kept * kept) * slow_noise * normal(random_);
      double seconds =
          law_(indices_[k], shares_[k], iteration_) * std::exp(noise * normal(random_) + slow);
      if (uniform(random_) < held_up) seconds *= 3.0;
      fact::WorkerSeries worker;
      worker.rank = static_cast<std::uint32_t>(k);
      worker.data_wait = {0.0};
      worker.forward = {0.3 * seconds};
      worker.backward = {0.7 * seconds};
      iterations.workers.push_back(worker);
    }
    ++iteration_;
    if (auto proposal = controller_.observe(iterations)) {
      rule_ = proposal->rule;
      reasons_.push_back(proposal->reason);
      waiting_ = delay;
    }
  }

  Law law_;
  BatchController controller_;
  std::mt19937_64 random_;
  std::uint32_t batch_size_ = 0;
  std::vector<std::uint32_t> indices_, shares_;
  std::uint32_t epoch_ = 0;
  std::uint64_t iteration_ = 0;
  std::vector<double> slow_;
  ShareRule rule_;
  std::vector<std::string> reasons_;
  std::optional<std::uint64_t> waiting_;
  std::uint32_t adjustments_ = 0;
  std::vector<std::uint64_t> adjusted_at_;
};

// (overhead + share) / speed.
inline SimulatedWorkers::Law affine_law(std::vector<double> speeds, double overhead = 0.0) {
  return [speeds = std::move(speeds), overhead](std::uint32_t worker, double share, std::uint64_t) {
    return (overhead + share) / speeds.at(worker);
  };
}

}  // namespace scavenger::elastic
