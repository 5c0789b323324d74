#include "elastic/history/search_stays.h"

#include <algorithm>
#include <optional>

namespace scavenger::elastic {
namespace {

using perfmodel::Stay;
using perfmodel::StayKind;

constexpr double kUsualChangeSeconds = 0.15;
constexpr double kUsualStartSeconds = 1.0;          // of a process
constexpr double kUsualMachineStartSeconds = 60.0;  // of a machine

std::optional<perfmodel::MeasuredPace> pace_of(const SeriesStatistics& series) {
  const RobustMean mean = series.robust_mean();
  if (series.moments().count() == 0 || !(mean.mean > 0.0)) return std::nullopt;
  return perfmodel::MeasuredPace{mean.mean, mean.standard_error / mean.mean,
                                 series.moments().count()};
}

struct Change {
  double seconds = 0.0;
  bool is_told = false;
};

// How long the job stood still for this membership; nothing if somebody was lost. What is logged
// lasts until the end of the first iteration, which is taken out as one like those that were
// measured. If none was, `usual_seconds` are of the move, or half of it all if that is less; so it
// is also before the move is logged, which is after its first iteration.
std::optional<Change> change_of(const RunNumbers& numbers, const PhaseNumbers& phase,
                                const std::optional<perfmodel::MeasuredPace>& pace,
                                double usual_seconds) {
  for (const auto& timed : numbers.recoveries.list.latest) {
    const fact::Recovery& recovery = timed.fact;
    if (recovery.membership_epoch != phase.membership.membership_epoch) continue;
    if (!recovery.lost.empty()) return std::nullopt;
    const double seconds = pace ? std::max(0.0, recovery.seconds - pace->seconds)
                                : std::min(usual_seconds, 0.5 * recovery.seconds);
    return Change{seconds, true};
  }
  return Change{std::min(usual_seconds, 0.5 * phase.seconds), false};
}

// The place of the last step that was taken when the membership began; nothing before the first.
std::optional<std::size_t> step_of(const RunNumbers& numbers, const PhaseNumbers& phase) {
  std::optional<std::size_t> found;
  const auto& steps = numbers.search_steps.latest;
  for (std::size_t i = 0; i < steps.size() && steps[i].time <= phase.begin_time; ++i) found = i;
  return found;
}

bool is_at(const fact::SearchStep& step, const fact::Membership& membership) {
  return step.workers == membership.workers && step.batch_size == membership.batch_size;
}

// A look becomes the base where the next step stays there.
StayKind kind_of(const RunNumbers& numbers, std::optional<std::size_t> place) {
  const auto& steps = numbers.search_steps.latest;
  if (!place || steps[*place].fact.phase != fact::SearchPhase::kProfiling) return StayKind::kBase;
  if (*place + 1 == steps.size()) return StayKind::kVisit;
  const fact::SearchStep &now = steps[*place].fact, &next = steps[*place + 1].fact;
  const bool is_same = now.workers == next.workers && now.batch_size == next.batch_size;
  return is_same ? StayKind::kAdopted : StayKind::kVisit;
}

// Of new machines before one was waited for: as long as the job waited for its first ones.
double first_start_seconds(const RunNumbers& numbers) {
  const auto starts = static_cast<double>(numbers.starts.total);
  return numbers.start_up_seconds > 0.0 ? numbers.start_up_seconds / starts
                                        : kUsualMachineStartSeconds;
}

class MeanSeconds final {
 public:
  void add(double seconds) {
    sum_ += seconds;
    ++count_;
  }
  double or_else(double usual) const { return count_ > 0.0 ? sum_ / count_ : usual; }

 private:
  double sum_ = 0.0;
  double count_ = 0.0;
};

}  // namespace

double dollars_per_second(double workers, double price_per_worker_hour,
                          const perfmodel::MachinePool& machines) {
  constexpr double kSecondsPerHour = 3600.0;
  if (!machines.is_mixed()) {
    const double price = price_per_worker_hour > 0.0 ? price_per_worker_hour : 1.0;
    return workers * price / kSecondsPerHour;
  }
  double sum = 0.0;
  for (const perfmodel::MachineGroup& group : machines.first(workers))
    sum += group.workers * group.price_per_hour;
  return sum / kSecondsPerHour;
}

SearchStays search_stays(const RunNumbers& numbers, double price_per_worker_hour,
                         const perfmodel::MachinePool& machines, bool is_remote) {
  SearchStays result;
  MeanSeconds changes, starts;
  for (const PhaseNumbers& phase : numbers.phases) {
    const fact::Membership& membership = phase.membership;
    const double per_second =
        dollars_per_second(membership.workers, price_per_worker_hour, machines);
    result.elapsed_dollars += phase.seconds * per_second;
    result.is_complete = result.is_complete && phase.memberships == 1;
    const auto place = step_of(numbers, phase);
    const auto& steps = numbers.search_steps.latest;
    if (!steps.empty() && !is_at(steps[place.value_or(0)].fact, membership)) continue;
    Stay stay;
    stay.configuration = {static_cast<double>(membership.workers),
                          static_cast<double>(membership.batch_size)};
    stay.kind = result.stays.empty() ? StayKind::kBase : kind_of(numbers, place);
    stay.dollars_per_second = per_second;
    stay.iterations = phase.iterations;
    if (phase.seconds_after_first.count() > 0) stay.after_first = phase.seconds_after_first.mean();
    stay.whole = pace_of(phase.iteration_seconds);
    stay.last = pace_of(phase.latest_iteration_seconds.last());
    const bool has_moved =
        !result.stays.empty() && result.stays.back().configuration != stay.configuration;
    if (has_moved) {
      const double usual = changes.or_else(kUsualChangeSeconds);
      if (const auto change = change_of(numbers, phase, stay.whole, usual)) {
        stay.change_seconds = change->seconds;
        if (change->is_told) changes.add(change->seconds);
      }
      const double more = per_second - result.stays.back().dollars_per_second;
      if (place && more > 0.0) {
        const double waited =
            std::max(0.0, phase.begin_time - steps[*place].time - phase.evaluation_seconds_before);
        starts.add(waited);
        stay.start_dollars = waited * more;
      }
    }
    stay.seconds = std::max(
        0.0, phase.seconds - phase.paused_seconds - phase.evaluation_seconds - stay.change_seconds);
    result.stays.push_back(stay);
  }
  result.change_seconds = changes.or_else(kUsualChangeSeconds);
  result.start_seconds =
      starts.or_else(is_remote ? first_start_seconds(numbers) : kUsualStartSeconds);
  return result;
}

std::vector<perfmodel::LossPoint> training_losses(const RunNumbers& numbers) {
  std::vector<perfmodel::LossPoint> losses;
  std::size_t phase = 0;
  const auto is_of_next = [&](std::uint64_t first) {
    return phase + 1 < numbers.phases.size() &&
           numbers.phases[phase + 1].membership.first_iteration < first;
  };
  for (const CurvePoint& point : numbers.training_loss.points()) {
    while (is_of_next(point.first_iteration)) ++phase;
    if (point.count == 0 || phase >= numbers.phases.size()) continue;
    // An iteration is complete one later than its own number.
    if (point.first_iteration <= numbers.phases[phase].membership.first_iteration ||
        is_of_next(point.last_iteration))
      continue;
    const double batch = numbers.phases[phase].membership.batch_size;
    losses.push_back({batch, batch * static_cast<double>(point.count), point.mean});
  }
  return losses;
}

}  // namespace scavenger::elastic
