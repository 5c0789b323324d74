#include "elastic/control/boundary.h"

#include <cmath>

namespace scavenger::elastic {
namespace {

// The first whole sample at or after `position`. Products like 1.1 x 50000 come out a little above
// the integer that is meant: that must not cost another iteration.
std::uint64_t whole_position(double position) {
  constexpr double kRoundingShare = 1e-12;
  const double whole = std::ceil(position * (1.0 - kRoundingShare));
  return whole < 0x1p63 ? static_cast<std::uint64_t>(whole) : kNever;
}

std::uint64_t iterations_for_position(std::uint64_t position, const Membership& membership) {
  if (position <= membership.first_position) return membership.first_iteration;
  if (position == kNever) return kNever;
  const std::uint64_t samples = position - membership.first_position;
  return membership.first_iteration + (samples + membership.batch_size - 1) / membership.batch_size;
}

}  // namespace

std::uint64_t next_boundary(const Interval& interval, const Membership& membership,
                            std::uint64_t done, std::uint64_t samples_per_epoch) {
  if (interval.iterations > 0) return (done / interval.iterations + 1) * interval.iterations;
  if (interval.epochs <= 0.0) return kNever;
  const double period = interval.epochs * static_cast<double>(samples_per_epoch);
  if (period <= membership.batch_size) return done + 1;  // it comes round in every batch
  double turn = std::floor(static_cast<double>(membership.position_at(done)) / period);
  for (;;) {  // this turn's position may be in the batch that was done
    turn += 1.0;
    const std::uint64_t iteration =
        iterations_for_position(whole_position(turn * period), membership);
    if (iteration > done) return iteration;
  }
}

std::uint64_t iterations_for_epochs(double epochs, const Membership& membership,
                                    std::uint64_t samples_per_epoch) {
  return iterations_for_position(whole_position(epochs * static_cast<double>(samples_per_epoch)),
                                 membership);
}

}  // namespace scavenger::elastic
