// Decides how iterations are logged: one by one as long as the log has room for that, and then in
// blocks (docs/events.md says what those keep).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/events/log_budget.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Every stride-th of what comes, where the stride doubles whenever there are 2 x `most`.
template <typename T>
class Thinned final {
 public:
  explicit Thinned(std::size_t most) : most_(most) {}

  // Whether the next one is to be kept; counts it in any case.
  bool wants_next() { return seen_++ % stride_ == 0; }
  void keep(T one) {
    kept_.push_back(std::move(one));
    if (kept_.size() < 2 * most_) return;
    for (std::size_t i = 1; i < most_; ++i) kept_[i] = std::move(kept_[2 * i]);
    kept_.resize(most_);
    stride_ *= 2;
  }
  std::size_t most() const { return most_; }
  std::vector<T> take() { return std::move(kept_); }

 private:
  std::size_t most_;
  std::uint64_t stride_ = 1;
  std::uint64_t seen_ = 0;
  std::vector<T> kept_;
};

// One membership after the other; one thread. Pure: the same series at the same times lead to the
// same events. A replay needs no such thing, for it reads what was logged.
class IterationCondenser final {
 public:
  // So many iterations of each membership are logged one by one, if there is room for that.
  static constexpr std::uint64_t kSingleIterations = 64;
  // Seconds from one block to the next, at least.
  static constexpr double kBlockSeconds = 1.0;
  // What of the bytes that flow into the budget is for blocks.
  static constexpr double kShareOfBudget = 0.8;

  // Of the log that the events go to, and which must outlive this.
  explicit IterationCondenser(const LogBudget& budget) : budget_(budget) {}

  // A membership was logged.
  void begin() { parts_.reset(); }
  // Takes the next iterations of the last membership in `numbers`, of all that was logged so far;
  // returns what is to be logged now, in this order.
  std::vector<RunEvent> add(fact::Iterations series, const RunNumbers& numbers, double time);
  // At a boundary: what waits, if there is room for it.
  std::vector<RunEvent> take(double time);
  // At the end of the membership: all that waits; without its parts if there is no room.
  std::vector<RunEvent> close(double time);

 private:
  // Of a membership whose iterations are logged in blocks.
  struct Parts {
    explicit Parts(const PhaseNumbers& phase, const NoiseMeter& job_noise);

    fact::Membership membership;
    std::uint64_t discarded;  // of the membership, so far
    NoiseMeter job_noise;
    NoiseMeter membership_noise;
    std::vector<WorkerNumbers> workers;  // since each was logged last
    std::uint32_t next_rank = 0;         // to be logged
    double block_bytes;                  // of the last one, or what is expected

    // The block that waits.
    fact::IterationBlock block;
    double begin_time = 0.0;
    IterationTimers timers;
    SeriesStatistics loss;
    Thinned<fact::PaceSample> pace;
    Thinned<fact::HalfBatches> half_batches{1};
  };
  enum class Detail { kTotals, kTurn, kAll };

  std::uint64_t single_iterations(const fact::Iterations& series, const RunNumbers& numbers,
                                  double time) const;
  void condense(const fact::Iterations& series, double time);
  void add_noise(const fact::Iterations& series);
  bool is_due(double time) const;
  std::vector<RunEvent> end_block(Detail detail);
  void write_workers(Detail detail);

  const LogBudget& budget_;
  std::optional<Parts> parts_;  // none: the membership's iterations are logged one by one
};

}  // namespace scavenger::elastic
