// The times of one membership's workers, iteration after iteration, as far as noise lets them be
// known. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace scavenger::elastic {

// A mean here leaves out the longest time of each worker: a single pause tells nothing of its
// speed, pauses that come again do.
class PaceWindow final {
 public:
  explicit PaceWindow(std::size_t workers = 0) : workers_(workers), scatter_(workers) {}

  // Of one iteration: seconds by rank, all positive.
  void add(std::vector<double> seconds);

  std::size_t iterations() const { return iterations_; }  // in all
  // By rank, over the last so many iterations, at most kKept.
  std::vector<double> means(std::size_t iterations = kRecent) const;
  // Standard error of means(iterations), relative, of the worker where it is largest. From the
  // differences between successive iterations, so a change of speed does not count as noise.
  double relative_error(std::size_t iterations = kRecent) const;

  static constexpr std::size_t kRecent = 50;
  static constexpr std::size_t kKept = 400;

 private:
  std::size_t workers_;
  std::deque<std::vector<double>> latest_;
  std::size_t iterations_ = 0;
  std::vector<double> scatter_;  // relative, mean absolute difference of successive times
};

}  // namespace scavenger::elastic
