#include "elastic/vms/race/audition_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "elastic/vms/race/vm_race.h"
#include "runtime/base/check.h"

namespace scavenger::elastic {

std::vector<MeasuredShare> measured_shares(const RunNumbers& numbers, std::uint32_t worker,
                                           double since) {
  std::vector<MeasuredShare> known;
  for (const PhaseNumbers& phase : numbers.phases) {
    if (phase.begin_time < since) continue;
    for (const WorkerNumbers& one : phase.workers) {
      if (one.rank >= phase.membership.indices.size() ||
          phase.membership.indices[one.rank] != worker)
        continue;
      const auto is_same = [&](const MeasuredShare& entry) { return entry.share == one.share; };
      if (std::ranges::any_of(known, is_same)) continue;
      if (const auto time = share_time(numbers, worker, one.share, since))
        known.push_back({one.share, *time});
    }
  }
  return known;
}

std::uint32_t next_audition_share(std::span<const MeasuredShare> known, std::uint32_t others,
                                  std::uint32_t batch_size) {
  SCAVENGER_CHECK(!known.empty());
  if (known.size() >= kSharesOfAudition) return 0;
  const auto [share, time] = known.back();
  double base = 0.0, each = time.seconds / share;
  if (known.size() > 1) {
    const auto& [other_share, other] = known.front();
    const double slope = (time.seconds - other.seconds) /
                         (static_cast<double>(share) - static_cast<double>(other_share));
    if (slope > 0.0) {
      each = slope;
      base = std::max(0.0, time.seconds - slope * share);
    }
  }
  const double even = static_cast<double>(batch_size) / (others + 1.0);
  double largest = std::min((kMostSlowdown * time.others - base) / each, 2.0 * even);
  largest = std::min(largest, static_cast<double>(batch_size - others));
  const double wanted = known.size() == 1 ? std::sqrt(share * std::max(largest, 1.0)) : largest;
  const auto next = static_cast<std::uint32_t>(std::max(0.0, std::round(wanted)));
  return next > share ? next : 0;
}

}  // namespace scavenger::elastic
