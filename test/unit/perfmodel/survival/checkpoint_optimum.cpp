#include "test/unit/perfmodel/survival/checkpoint_optimum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "test/unit/perfmodel/survival/durations.h"

namespace scavenger::perfmodel {
namespace {

// S and its integral at each step of the age, since the programme asks for them millions of times.
class Grid final {
 public:
  Grid(const Survival& survival, const CheckpointProblem& problem, double age)
      : work_(static_cast<std::size_t>(std::lround(problem.work / problem.step))),
        delta_(static_cast<std::size_t>(std::lround(problem.checkpoint / problem.step))),
        restart_(problem.restart / problem.step) {
    first_ = static_cast<std::size_t>(std::lround(age / problem.step));
    // The longest that a machine can work: each step of work with a checkpoint.
    const std::size_t last = first_ + work_ * (1 + delta_) + 2;
    for (std::size_t t = 0; t <= last; ++t) {
      const double at = problem.step * static_cast<double>(t);
      survival_.push_back(survival.survival(at));
      lived_.push_back(survival.lived_seconds(0.0, at) / problem.step);
    }
  }

  // Expected steps of choosing i steps of work out of j at age t, given the times after it: of what
  // is left on the same machine, and of j on a new machine.
  double of(std::size_t i, std::size_t j, std::size_t t, double goes_on, double on_new) const {
    const std::size_t end = t + i + (i < j ? delta_ : 0);
    if (survival_[t] <= 0.0) return restart_ + on_new;
    const double p = survival_[end] / survival_[t];
    double expected = (lived_[end] - lived_[t]) / survival_[t];
    if (p < 1.0) expected += (1.0 - p) * (restart_ + on_new);
    return i < j ? expected + p * goes_on : expected;
  }
  // The same at age 0, where the time of j on a new machine stands on both sides.
  double of_new(std::size_t i, std::size_t j, double goes_on) const {
    const double p = survival_[i + (i < j ? delta_ : 0)];
    return p > 0.0 ? of(i, j, 0, goes_on, 0.0) / p : kInfinity;
  }
  std::size_t after(std::size_t i, std::size_t t) const { return t + i + delta_; }

  std::size_t work_, delta_;
  double restart_;
  std::size_t first_ = 0;
  std::vector<double> survival_, lived_;
};

// M(j, t) for all j, and all t that can be reached with j left from age 0 or the first age.
class Programme final {
 public:
  Programme(const Grid& grid, bool may_leave) : grid_(grid), may_leave_(may_leave) {
    columns_ = grid.survival_.size();
    times_.assign((grid.work_ + 1) * columns_, 0.0);
    best_.assign((grid.work_ + 1) * columns_, 0);
    for (std::size_t j = 1; j <= grid.work_; ++j) solve(j);
  }
  double time(std::size_t j, std::size_t t) const { return times_[j * columns_ + t]; }
  std::size_t best(std::size_t j, std::size_t t) const { return best_[j * columns_ + t]; }

 private:
  void solve(std::size_t j) {
    choose(j, 0, [&](std::size_t i) { return grid_.of_new(i, j, next(i, j, 0)); });
    const double on_new = time(j, 0);
    // Later ages first is not needed: what follows has less work left.
    for (std::size_t t = 1; t + j * (1 + grid_.delta_) < columns_; ++t) {
      choose(j, t, [&](std::size_t i) { return grid_.of(i, j, t, next(i, j, t), on_new); });
      if (may_leave_ && grid_.restart_ + on_new < time(j, t)) {
        times_[j * columns_ + t] = grid_.restart_ + on_new;
        best_[j * columns_ + t] = 0;
      }
    }
  }
  double next(std::size_t i, std::size_t j, std::size_t t) const {
    return i < j ? time(j - i, grid_.after(i, t)) : 0.0;
  }
  template <class Time>
  void choose(std::size_t j, std::size_t t, const Time& time_of) {
    double least = kInfinity;
    for (std::size_t i = 1; i <= j; ++i) {
      const double time = time_of(i);
      if (time < least) {
        least = time;
        best_[j * columns_ + t] = i;
      }
    }
    times_[j * columns_ + t] = least;
  }

  const Grid& grid_;
  bool may_leave_;
  std::size_t columns_ = 0;
  std::vector<double> times_;
  std::vector<std::size_t> best_;
};

}  // namespace

CheckpointOptimum best_checkpoints(const Survival& survival, const CheckpointProblem& problem,
                                   double age) {
  const Grid grid(survival, problem, age);
  const Programme programme(grid, problem.may_leave);
  CheckpointOptimum optimum;
  optimum.expected_seconds = problem.step * programme.time(grid.work_, grid.first_);
  for (std::size_t j = grid.work_, t = grid.first_; j > 0;) {
    const std::size_t i = programme.best(j, t);
    if (i == 0) break;  // leaves the machine
    optimum.intervals.push_back(problem.step * static_cast<double>(i));
    t = grid.after(i, t);
    j -= i;
  }
  return optimum;
}

double expected_seconds_of(const Survival& survival, const CheckpointProblem& problem, double age,
                           const SegmentRule& rule) {
  const Grid grid(survival, problem, age);
  std::vector<double> on_new(grid.work_ + 1, 0.0);
  const auto steps_of = [&](std::size_t j, std::size_t t) {
    const double seconds =
        rule(problem.step * static_cast<double>(t), problem.step * static_cast<double>(j));
    if (seconds <= 0.0) return std::size_t{0};
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(seconds / problem.step)), 1,
                                   j);
  };
  // From the end of the work backwards along the one path that the rule takes.
  const auto follow = [&](std::size_t j, std::size_t t) {
    std::vector<std::pair<std::size_t, std::size_t>> path;  // work left, age
    double last = 0.0;
    std::size_t left = j;
    while (left > 0) {
      const std::size_t i = steps_of(left, t);
      if (i == 0) {
        last = grid.restart_ + on_new[left];
        break;
      }
      path.emplace_back(left, t);
      t = grid.after(i, t);
      left -= i;
    }
    for (std::size_t k = path.size(); k-- > 0;) {
      const auto [work, at] = path[k];
      const std::size_t i = steps_of(work, at);
      last = at == 0 ? grid.of_new(i, work, last) : grid.of(i, work, at, last, on_new[work]);
    }
    return last;
  };
  for (std::size_t j = 1; j <= grid.work_; ++j) on_new[j] = follow(j, 0);
  return problem.step * follow(grid.work_, grid.first_);
}

}  // namespace scavenger::perfmodel
