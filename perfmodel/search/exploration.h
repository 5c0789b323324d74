// What a search has spent on looking around, and what it may: a budget, whose bound holds whatever
// the configurations turn out to be.
//
// A visit is a stay at a configuration in order to measure it. It is charged with the seconds, and
// the dollars, that it took beyond what the same progress takes where the job came from, counted
// low: an iteration of a larger batch is worth one of a smaller one at least, and a sample of a
// smaller batch one of a larger one. The machines that the job goes back to are paid for meanwhile.
// Where the job stays at what it visited, the move alone is charged. So what is charged is never
// less than what was lost, as far as iterations of larger batches are not worth less than smaller
// ones'.
//
// The bound, whatever iterations and moves take: at every moment
//   charged <= budget x elapsed + R + M,
// where R is what one report of a visit is charged with, whose iterations were granted before: what
// takes a twentieth of a second by the last one's pace, or one iteration if that takes longer. (A
// visit that goes on after 32 iterations reports as rarely as the job does elsewhere.) M is what
// the moves there and back took longer than was to be expected when the visit began: the mean of
// those before. A visit begins only where the pessimist's charge for its first iterations fits. It
// is broken off at the first report after which the charge so far, one more iteration as slow as
// those before, and the way back would not fit any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// The mean of some iterations.
struct MeasuredPace {
  double seconds = 0.0;         // per iteration
  double relative_error = 0.0;  // of that mean; 0 where there is one iteration
  std::uint64_t iterations = 0;
};

enum class StayKind {
  kBase,     // where the job trains
  kAdopted,  // a visit that the job has not left
  kVisit,    // to measure; the job has gone back from it, or has not decided yet
};

// A period with one configuration. A visit that was broken off has no `whole` worth the name: it
// says that the configuration is about so slow, as iterations take long by chance, and not short.
struct Stay {
  Configuration configuration{};
  StayKind kind = StayKind::kBase;
  double dollars_per_second = 0.0;  // of its machines
  double seconds = 0.0;             // wall, without pauses that somebody asked for
  std::uint64_t iterations = 0;
  std::optional<double> after_first{};  // seconds per iteration, the first one left out
  double change_seconds = 0.0;          // that the job stood still to get here
  double start_dollars = 0.0;           // of machines that were waited for before it began
  std::optional<MeasuredPace> whole{};  // the first iterations left out
  std::optional<MeasuredPace> last{};   // of its last ten seconds or so
};

struct Expense {
  double seconds = 0.0;
  double dollars = 0.0;
};

// Charged so far. `stays` begin with a base.
Expense charged(std::span<const Stay> stays);

// What a stay of so many seconds and iterations at `at` costs beyond what the same progress takes
// at `base`, at `base_pace` seconds per iteration; the change and the machines' start left out.
struct Beside {
  Configuration at{};
  double dollars_per_second = 0.0;
  Configuration base{};
  double base_pace = 0.0;
  double base_dollars_per_second = 0.0;
};
Expense excess(const Beside& beside, double seconds, double iterations);

// The place of the last stay that is no visit.
std::size_t base_of(std::span<const Stay> stays);

}  // namespace scavenger::perfmodel
