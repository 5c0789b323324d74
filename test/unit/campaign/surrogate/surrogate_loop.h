// The loop of a campaign that trains its own surrogate, in one process, for studies of its rules:
// completed simulations in; the next points, trainings, and predictions with error bars out. Pure:
// the same seed and the same order of calls give the same answers.
//
// A random holdout is simulated first and never trained on. Until a first training has succeeded,
// and while trainings fail, points fill the space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/surrogate/informative.h"
#include "campaign/surrogate/selection.h"
#include "campaign/surrogate/surrogate.h"
#include "campaign/surrogate/training.h"

namespace scavenger::surrogate {

// 0: not asked for. Both hold with 95 % confidence, judged on the holdout.
struct ErrorTarget {
  double within_error_bars = 0.0;  // share of bins
  double rmse = 0.0;               // in the unit of the profile
  bool is_set() const { return within_error_bars > 0.0 || rmse > 0.0; }
};

struct LoopSettings {
  std::size_t holdout = 16;
  std::size_t first = 16;         // to be trained on, before the first training
  std::size_t retrain_after = 8;  // results
  SelectionRule rule = SelectionRule::kUncertainty;
  bool is_damped = false;  // kUncertainty takes the most uncertain points: most_uncertain()
  // Replaces the variance in the rule kUncertainty, for studies of other scores; asked for each
  // proposal.
  std::function<double(const Surrogate&, std::size_t point)> score{};
  std::size_t most_lengthened = 3;  // times that one point's steps are doubled
  FitSettings fit{};
  ErrorTarget target{};
  std::uint64_t seed = 1;
};

// One thing to simulate.
struct Proposal {
  std::size_t point = 0;  // index
  bool is_holdout = false;
  double steps = 1.0;  // in all, relative to one whole simulation; above 1: lengthen
  bool operator==(const Proposal&) const = default;
};

class SurrogateLoop final {
 public:
  // `points`: the whole space, in the user's units. A holdout takes half of them at most.
  SurrogateLoop(std::vector<std::vector<double>> points, LoopSettings settings);

  // Up to `count` simulations to begin now; they count as running from here on. Fewer, if the
  // space is exhausted.
  std::vector<Proposal> propose(std::size_t count);
  // A running simulation has ended. Returns why its result is not used, if it is not; it is then
  // listed in faults(). A torn result among the first three is found out, and listed, later.
  std::optional<std::string> complete(std::size_t point, Sample sample);
  // It diverged or failed, and will not be tried again. A point that was being lengthened keeps the
  // result that it had.
  void drop(std::size_t point, const std::string& reason);

  // Whether enough has come in since the last training began, and none is running.
  bool is_training_due() const;
  // What to train on; the training runs from here on. Requires is_training_due().
  const Encoding& begin_training();
  // Its members, settings().fit.members of them. The surrogate is calibrated on the holdout.
  void end_training(std::vector<Perceptron> members);
  // The campaign goes on with what it has.
  void fail_training();

  const Surrogate* surrogate() const { return surrogate_ ? &*surrogate_ : nullptr; }
  const std::optional<HoldoutError>& error() const { return error_; }
  // Whether the error target is met with 95 % confidence; false without a target.
  bool is_target_reached() const;
  const std::map<std::size_t, std::string>& faults() const { return faults_; }  // by point
  std::size_t trained_on() const { return trained_on_; }  // simulations, by the surrogate
  const LoopSettings& settings() const { return settings_; }

 private:
  enum class State { kUntried, kRunning, kDone, kLengthening, kDropped };
  struct Entry {
    State state = State::kUntried;
    bool is_holdout = false;
    std::optional<Sample> sample;
    double steps = 1.0;  // asked for
  };

  std::vector<Proposal> propose_holdout(std::size_t count);
  double score_of(std::size_t point) const;
  std::vector<std::size_t> choose_points(std::size_t count) const;
  std::optional<std::size_t> point_to_lengthen(double new_variance) const;
  std::vector<Sample> samples(bool is_holdout) const;
  std::vector<std::vector<double>> units_of(std::initializer_list<State> states) const;
  Proposal start(std::size_t point, double steps);
  void settle_bins();
  void judge();

  const LoopSettings settings_;
  std::vector<std::vector<double>> points_;
  std::vector<Entry> entries_;
  UnitSpace space_;
  std::size_t bins_ = 0;  // of each profile; 0: not settled
  std::size_t results_since_training_ = 0;
  std::size_t trained_on_ = 0;
  std::optional<Encoding> training_;
  std::vector<Sample> training_samples_;
  std::optional<Surrogate> surrogate_;
  std::vector<double> variances_;  // of each point, by the surrogate
  std::optional<HoldoutError> error_;
  std::map<std::size_t, std::string> faults_;
};

}  // namespace scavenger::surrogate
