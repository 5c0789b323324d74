#include "test/unit/campaign/surrogate/surrogate_loop.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::surrogate {
namespace {

constexpr std::size_t kFewestToTrain = 4;

}  // namespace

SurrogateLoop::SurrogateLoop(std::vector<std::vector<double>> points, LoopSettings settings)
    : settings_(std::move(settings)),
      points_(std::move(points)),
      entries_(points_.size()),
      space_(points_) {
  SCAVENGER_CHECK(settings_.fit.members > 0);
  RandomStream random(settings_.seed, "holdout");
  const auto order = permutation(random, static_cast<std::uint32_t>(points_.size()));
  const std::size_t holdout = std::min(settings_.holdout, points_.size() / 2);
  for (std::size_t i = 0; i < holdout; ++i) entries_[order[i]].is_holdout = true;
}

Proposal SurrogateLoop::start(std::size_t point, double steps) {
  Entry& entry = entries_[point];
  entry.state = entry.sample ? State::kLengthening : State::kRunning;
  entry.steps = steps;
  return {.point = point, .is_holdout = entry.is_holdout, .steps = steps};
}

std::vector<Proposal> SurrogateLoop::propose_holdout(std::size_t count) {
  std::vector<Proposal> proposals;
  for (std::size_t i = 0; i < entries_.size() && proposals.size() < count; ++i)
    if (entries_[i].is_holdout && entries_[i].state == State::kUntried)
      proposals.push_back(start(i, 1.0));
  return proposals;
}

std::vector<Proposal> SurrogateLoop::propose(std::size_t count) {
  std::vector<Proposal> proposals = propose_holdout(count);
  while (proposals.size() < count) {
    const std::vector<std::size_t> next = choose_points(1);
    const bool is_informed = surrogate_ && settings_.rule == SelectionRule::kUncertainty;
    if (is_informed) {
      const double variance = next.empty() ? 0.0 : variances_[next.front()];
      if (const auto point = point_to_lengthen(variance)) {
        proposals.push_back(start(*point, 2.0 * entries_[*point].steps));
        continue;
      }
    }
    if (next.empty()) break;
    proposals.push_back(start(next.front(), 1.0));
  }
  return proposals;
}

std::vector<std::vector<double>> SurrogateLoop::units_of(
    std::initializer_list<State> states) const {
  std::vector<std::vector<double>> units;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!entries_[i].is_holdout && std::ranges::find(states, entries_[i].state) != states.end())
      units.push_back(space_.to_unit(points_[i]));
  return units;
}

double SurrogateLoop::score_of(std::size_t point) const {
  if (settings_.score) return settings_.score(*surrogate_, point);
  const bool is_about_error_bars =
      settings_.target.within_error_bars > 0.0 && settings_.target.rmse == 0.0;
  return is_about_error_bars ? surrogate_->share_outside(points_[point]) : variances_[point];
}

std::vector<std::size_t> SurrogateLoop::choose_points(std::size_t count) const {
  std::vector<std::size_t> untried;
  std::vector<std::vector<double>> candidates;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!entries_[i].is_holdout && entries_[i].state == State::kUntried) {
      untried.push_back(i);
      candidates.push_back(space_.to_unit(points_[i]));
    }
  if (untried.empty()) return {};
  std::vector<std::size_t> chosen;
  if (settings_.rule == SelectionRule::kRandom) {
    RandomStream random(settings_.seed, "selection", {untried.size()});
    const auto order = permutation(random, static_cast<std::uint32_t>(untried.size()));
    chosen.assign(order.begin(),
                  order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size())));
  } else if (surrogate_ && settings_.rule == SelectionRule::kUncertainty) {
    Unsimulated points{.candidates = candidates,
                       .scores = {},
                       .simulated = units_of({State::kDone, State::kLengthening}),
                       .busy = units_of({State::kRunning}),
                       .places = {},
                       .unknown = {}};
    for (const std::size_t point : untried) points.scores.push_back(score_of(point));
    for (const std::uint32_t place : sampled_places(points_.size(), settings_.seed)) {
      points.places.push_back(space_.to_unit(points_[place]));
      points.unknown.push_back(score_of(place));
    }
    chosen = next_points(settings_.is_damped ? std::nullopt : surrogate_->lengths(), points, count);
  } else {
    chosen = space_filling(
        candidates, units_of({State::kRunning, State::kDone, State::kLengthening, State::kDropped}),
        settings_.seed, count);
  }
  for (std::size_t& index : chosen) index = untried[index];
  return chosen;
}

std::optional<std::size_t> SurrogateLoop::point_to_lengthen(double new_variance) const {
  std::vector<std::size_t> points;
  std::vector<double> statistical, variances;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.is_holdout || entry.state != State::kDone) continue;
    if (2.0 * entry.steps > static_cast<double>(std::size_t{1} << settings_.most_lengthened))
      continue;
    points.push_back(i);
    statistical.push_back(statistical_variance(*entry.sample));
    variances.push_back(variances_[i]);
  }
  const auto longer = worth_lengthening(statistical, variances, new_variance);
  return longer.empty() ? std::nullopt : std::optional(points[longer.front()]);
}

std::optional<std::string> SurrogateLoop::complete(std::size_t point, Sample sample) {
  Entry& entry = entries_.at(point);
  SCAVENGER_CHECK(entry.state == State::kRunning || entry.state == State::kLengthening);
  std::optional<std::string> fault = fault_of(sample, points_[point].size(), bins_);
  if (!fault && sample.parameters != points_[point]) fault = "has the parameters of another point";
  if (fault) {
    drop(point, *fault);
    return fault;
  }
  entry.steps = std::max(entry.steps, sample.steps);
  entry.sample = std::move(sample);
  entry.state = State::kDone;
  if (entry.is_holdout)
    judge();
  else
    ++results_since_training_;
  if (bins_ == 0) settle_bins();
  return std::nullopt;
}

// The first result may be the torn one: profiles have the length that three of them have first.
void SurrogateLoop::settle_bins() {
  constexpr std::size_t kEnough = 3;
  std::map<std::size_t, std::size_t> counts;
  for (const Entry& entry : entries_)
    if (entry.sample && ++counts[entry.sample->profile.size()] == kEnough)
      bins_ = entry.sample->profile.size();
  if (bins_ == 0) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.sample || entry.sample->profile.size() == bins_) continue;
    faults_[i] = *fault_of(*entry.sample, points_[i].size(), bins_);
    entry.sample.reset();
    entry.state = entry.state == State::kLengthening ? State::kRunning : State::kDropped;
  }
}

void SurrogateLoop::drop(std::size_t point, const std::string& reason) {
  Entry& entry = entries_.at(point);
  SCAVENGER_CHECK(entry.state == State::kRunning || entry.state == State::kLengthening);
  faults_[point] = reason;
  // What it had stays, and it is not lengthened again.
  entry.state = entry.sample ? State::kDone : State::kDropped;
  if (entry.sample) entry.steps = HUGE_VAL;
}

std::vector<Sample> SurrogateLoop::samples(bool is_holdout) const {
  std::vector<Sample> samples;
  for (const Entry& entry : entries_)
    if (entry.is_holdout == is_holdout && entry.sample) samples.push_back(*entry.sample);
  return samples;
}

bool SurrogateLoop::is_training_due() const {
  if (training_ || bins_ == 0) return false;
  std::size_t usable = 0;
  bool is_exhausted = true;  // nothing more will come that was not asked for yet
  for (const Entry& entry : entries_) {
    if (!entry.is_holdout && entry.sample) ++usable;
    if (!entry.is_holdout && entry.state == State::kUntried) is_exhausted = false;
  }
  if (usable < kFewestToTrain || results_since_training_ == 0) return false;
  if (!surrogate_ && usable < settings_.first) return is_exhausted;
  return results_since_training_ >= settings_.retrain_after || !surrogate_ || is_exhausted;
}

const Encoding& SurrogateLoop::begin_training() {
  SCAVENGER_CHECK(is_training_due());
  training_samples_ = samples(false);
  training_ = encode(space_, training_samples_, settings_.fit);
  results_since_training_ = 0;
  return *training_;
}

void SurrogateLoop::end_training(std::vector<Perceptron> members) {
  SCAVENGER_CHECK(training_ && members.size() == settings_.fit.members);
  surrogate_.emplace(std::move(*training_), std::move(members), training_samples_);
  training_.reset();
  trained_on_ = training_samples_.size();
  judge();
}

void SurrogateLoop::judge() {
  if (!surrogate_) return;
  const std::vector<Sample> holdout = samples(true);
  surrogate_->calibrate(holdout);
  error_ = surrogate_->error_on(holdout);
  variances_.clear();
  for (const std::vector<double>& point : points_)
    variances_.push_back(surrogate_->variance(point));
}

void SurrogateLoop::fail_training() {
  SCAVENGER_CHECK(training_.has_value());
  training_.reset();
}

bool SurrogateLoop::is_target_reached() const {
  if (!error_ || !settings_.target.is_set() || error_->profiles < 2) return false;
  const ErrorTarget& target = settings_.target;
  if (target.within_error_bars > 0.0 && error_->least_within < target.within_error_bars)
    return false;
  return target.rmse <= 0.0 || error_->most_rmse <= target.rmse;
}

}  // namespace scavenger::surrogate
