// What the page shows of a run over time, beside the sums of run_summary.h: curves, the lives of
// processes, and what happened when. The same for a log that is read and for one that grows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/history/downsampled_curve.h"
#include "elastic/history/recent_pace.h"
#include "elastic/history/run_summary.h"
#include "elastic/report/event_text.h"

namespace scavenger::elastic {

// Where the seconds of iterations went: curves over the same iterations, so that their points
// match. Means over the workers.
struct TimerCurves {
  DownsampledCurve seconds;
  DownsampledCurve data_wait;
  DownsampledCurve forward;
  DownsampledCurve backward;
  DownsampledCurve sync_wait;
};

// The noise scale in samples, as it was estimated meanwhile; points match.
struct NoiseCurves {
  DownsampledCurve value;
  DownsampledCurve low;   // of its 95 % interval
  DownsampledCurve high;  // not finite if it is open
};

struct MetricCurve {
  Split split = Split::kTest;
  Metric metric = Metric::kLoss;
  DownsampledCurve values;
};

enum class LifeEnd { kNone, kReleased, kLost };

// A process of the job, from its start to its end; times in seconds of the job's life.
struct ProcessLife {
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  std::int64_t pid = 0;
  double started = 0.0;
  std::optional<double> joined;
  std::optional<double> ended;
  LifeEnd end = LifeEnd::kNone;
  std::string how;       // it was lost
  bool trained = false;  // it is in a membership
};

// One place where a machine was asked for in vain.
struct MachineRefusal {
  double time = 0.0;
  std::string zone;
  std::string machine_type;
  std::string reason;
};

// A machine from its request to its end; times as above.
struct MachineLife {
  static constexpr std::size_t kMaxRefusals = 50;

  fact::Machine machine;  // as it was said last
  double requested = 0.0;
  std::vector<MachineRefusal> refusals;  // before it was ready, the first of them
  std::optional<double> ready;
  double charged_seconds = 0.0;  // before it was ready
  std::optional<double> notice;
  // Lost, released, refused, or not heard of again after a process of scavenger-train was killed.
  std::optional<double> ended;

  // What is charged until `time`: seconds, and dollars, by its price or as if it were not spot.
  double seconds(double time) const;
  double cost(double time) const;
  double on_demand_cost(double time) const;
};

// What was chosen by a prediction, and what it was expected to take.
struct ChosenConfiguration {
  double time = 0.0;
  std::uint64_t iteration = 0;
  Policy policy = Policy::kKnee;
  std::string reason;
  bool relative = false;
  fact::PredictedConfiguration predicted;
};

// Something that people should see beside the curves.
struct Note {
  double time = 0.0;
  std::uint64_t iteration = 0;  // complete at that time
  std::string kind;             // the event's name
  Attention attention = Attention::kNone;
  std::string text;
};

// Pure; memory is bounded but for the number of memberships. One thread. It has more than
// 25 methods: an accessor for each chart or table of the page, and an add() for each event.
class RunHistory final {
 public:
  // Throws InputError where events contradict each other, as RunSummary does.
  void apply(const LoggedEvent& logged);

  const RunNumbers& numbers() const { return summary_.numbers(); }
  const RecentPace& pace() const { return pace_; }
  const TimerCurves& timers() const { return timers_; }
  // Own seconds of an iteration, without synchronisation, of the workers with the lowest indices.
  const std::map<std::uint32_t, DownsampledCurve>& worker_seconds() const {
    return worker_seconds_;
  }
  static constexpr std::size_t kMaxWorkerCurves = 8;
  const NoiseCurves& noise() const { return noise_; }
  const std::vector<MetricCurve>& metrics() const { return metrics_; }  // by first evaluation
  const LatestList<ProcessLife>& processes() const { return processes_; }
  const LatestList<Timed<fact::Checkpoint>>& checkpoints() const { return checkpoints_; }
  const LatestList<Timed<fact::NoiseStable>>& stable_noise() const { return stable_noise_; }
  const LatestList<MachineLife>& machines() const { return machines_; }
  const LatestList<ChosenConfiguration>& choices() const { return choices_; }
  const LatestList<Note>& notes() const { return notes_; }

 private:
  void add(const LoggedEvent& logged, const fact::Iterations& iterations);
  void add(const LoggedEvent& logged, const fact::IterationBlock& block);
  void add(const LoggedEvent& logged, const fact::Evaluation& evaluation);
  void add(const LoggedEvent& logged, const fact::Start& start);
  void add(const LoggedEvent& logged, const fact::End& end);
  void add(const LoggedEvent& logged, const fact::Membership& membership);
  void add(const LoggedEvent& logged, const fact::ProcessStarted& started);
  void add(const LoggedEvent& logged, const fact::ProcessJoined& joined);
  void add(const LoggedEvent& logged, const fact::ProcessLost& lost);
  void add(const LoggedEvent& logged, const fact::Checkpoint& checkpoint);
  void add(const LoggedEvent& logged, const fact::NoiseStable& stable);
  void add(const LoggedEvent& logged, const fact::Machine& machine);
  void add(const LoggedEvent& logged, const fact::Prediction& prediction);
  template <typename Fact>
  void add(const LoggedEvent&, const Fact&) {}

  void add_timers(const LoggedEvent& logged, const fact::Iterations& iterations);
  void add_worker_seconds(const fact::Membership& membership, const fact::Iterations& iterations,
                          std::size_t i, const IterationPlace& place);
  void sample_noise(double time);
  void forget_after(std::uint64_t iteration);
  void note(const LoggedEvent& logged);
  MachineLife& machine_life(const LoggedEvent& logged, const fact::Machine& machine);
  ProcessLife* find_life(Role role, std::uint32_t index, std::int64_t pid);
  void end_lives(double time);

  RunSummary summary_;
  RecentPace pace_;
  TimerCurves timers_;
  std::map<std::uint32_t, DownsampledCurve> worker_seconds_;  // by index
  NoiseCurves noise_;
  double next_noise_time_ = 0.0;
  std::vector<MetricCurve> metrics_;
  LatestList<ProcessLife> processes_;
  LatestList<Timed<fact::Checkpoint>> checkpoints_;
  LatestList<Timed<fact::NoiseStable>> stable_noise_;
  LatestList<MachineLife> machines_;
  LatestList<ChosenConfiguration> choices_;
  LatestList<Note> notes_;
};

}  // namespace scavenger::elastic
