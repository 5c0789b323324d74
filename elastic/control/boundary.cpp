#include "elastic/control/boundary.h"

#include <cmath>

namespace scavenger::elastic {
namespace {

std::uint64_t iterations_for_position(std::uint64_t position, const Membership& membership) {
  if (position <= membership.first_position) return membership.first_iteration;
  const std::uint64_t samples = position - membership.first_position;
  return membership.first_iteration + (samples + membership.batch_size - 1) / membership.batch_size;
}

}  // namespace

std::uint64_t next_boundary(const Interval& interval, const Membership& membership,
                            std::uint64_t done, std::uint64_t samples_per_epoch) {
  if (interval.iterations > 0) return (done / interval.iterations + 1) * interval.iterations;
  if (interval.epochs <= 0.0) return kNever;
  const double period = interval.epochs * static_cast<double>(samples_per_epoch);
  auto turn =
      static_cast<std::uint64_t>(static_cast<double>(membership.position_at(done)) / period);
  for (;;) {  // a period can be shorter than a batch: several turns then fall on one iteration
    ++turn;
    const auto position = static_cast<std::uint64_t>(std::ceil(static_cast<double>(turn) * period));
    const std::uint64_t iteration = iterations_for_position(position, membership);
    if (iteration > done) return iteration;
  }
}

std::uint64_t iterations_for_epochs(double epochs, const Membership& membership,
                                    std::uint64_t samples_per_epoch) {
  const double position = std::ceil(epochs * static_cast<double>(samples_per_epoch));
  return iterations_for_position(static_cast<std::uint64_t>(position), membership);
}

}  // namespace scavenger::elastic
