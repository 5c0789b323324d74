// A run whose cluster changes for ever takes no more memory for it.
#include "elastic/history/phase_folding.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "elastic/history/run_summary.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kIterations = 10;  // of each membership

// Memberships of one to four workers in turn, one after the other.
class ChangingRun final {
 public:
  ChangingRun() { summary_.apply({.time = 0.0, .event = sample_start()}); }
  void change() {
    ++epoch_;
    const std::uint32_t workers = 1 + epoch_ % 4;
    summary_.apply({.time = time_ += 1.0,
                    .event = sample_membership(epoch_, std::vector<std::uint32_t>(workers, 32),
                                               iteration_, position_)});
    summary_.apply({.time = time_ += 1.0,
                    .event = sample_iterations(epoch_, iteration_, kIterations, workers)});
    iteration_ += kIterations;
    position_ += kIterations * workers * 32;
  }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  std::uint64_t position() const { return position_; }

 private:
  RunSummary summary_;
  double time_ = 0.0;
  std::uint32_t epoch_ = 0;
  std::uint64_t iteration_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace

TEST_CASE("thousands of memberships leave a bounded number of phases, and no sum changes") {
  constexpr std::uint32_t kChanges = 3000;
  ChangingRun run;
  for (std::uint32_t i = 0; i < kChanges; ++i) {
    run.change();
    REQUIRE(run.numbers().phases.size() <= kMostPhases);
  }
  std::uint64_t memberships = 0, iterations = 0, samples = 0;
  double seconds = 0.0;
  for (const PhaseNumbers& phase : run.numbers().phases) {
    memberships += phase.memberships;
    iterations += phase.iterations;
    samples += phase.samples;
    seconds += phase.seconds;
  }
  CHECK(memberships == kChanges);
  CHECK(iterations == kChanges * kIterations);
  CHECK(samples == run.position());
  CHECK(seconds == Approx(run.numbers().seconds - run.numbers().start_up_seconds));

  const auto configurations = run.numbers().configurations();
  REQUIRE(configurations.size() == 4);
  for (const ConfigurationNumbers& one : configurations) {
    CHECK(one.iterations == kChanges * kIterations / 4);
    CHECK(one.iteration_seconds.moments().count() + one.discarded_iterations == one.iterations);
  }
}

TEST_CASE("few memberships are kept one by one, and of many the first and the latest") {
  ChangingRun run;
  for (std::size_t i = 0; i < kMostPhases; ++i) run.change();
  for (const PhaseNumbers& phase : run.numbers().phases) CHECK(phase.memberships == 1);
  run.change();
  const auto& phases = run.numbers().phases;
  CHECK(phases.size() == 1 + 4 + kKeptPhases);
  CHECK(phases.front().membership.membership_epoch == 1);
  for (std::size_t i = 0; i < kKeptPhases; ++i)
    CHECK(phases[phases.size() - 1 - i].membership.membership_epoch == kMostPhases + 1 - i);
}

}  // namespace scavenger::elastic
