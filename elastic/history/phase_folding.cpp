#include "elastic/history/phase_folding.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace scavenger::elastic {
namespace {

using Kind = std::tuple<std::uint32_t, std::uint32_t, bool>;

Kind kind_of(const PhaseNumbers& phase) {
  const fact::Membership& membership = phase.membership;
  return {membership.workers, membership.batch_size, has_even_shares(membership)};
}

double iterations_of(const NoiseMeter& noise) {
  const auto numbers = noise.numbers();
  return numbers ? static_cast<double>(numbers->estimate.iterations) : 0.0;
}

void merge(WorkerNumbers& into, const WorkerNumbers& from) {
  into.share = from.share;
  for (const auto part :
       {&WorkerNumbers::data_wait_seconds, &WorkerNumbers::forward_seconds,
        &WorkerNumbers::backward_seconds, &WorkerNumbers::compute_seconds,
        &WorkerNumbers::sync_wait_seconds, &WorkerNumbers::straggler_wait_seconds})
    (into.*part).merge(from.*part);
}

// `from` is the later one. Its membership stands for both, and the longer estimate of noise.
void merge(PhaseNumbers& into, PhaseNumbers from) {
  into.merge(from);
  into.memberships += from.memberships;
  into.seconds += from.seconds;
  into.paused_seconds += from.paused_seconds;
  into.evaluation_seconds += from.evaluation_seconds;
  into.cost += from.cost;
  into.iterations += from.iterations;
  into.samples += from.samples;
  into.discarded_iterations += from.discarded_iterations;
  into.seconds_after_first.merge(from.seconds_after_first);
  for (std::size_t rank = 0; rank < into.workers.size(); ++rank)
    merge(into.workers[rank], from.workers[rank]);
  if (iterations_of(from.noise) >= iterations_of(into.noise)) into.noise = from.noise;
  into.latest_iteration_seconds = std::move(from.latest_iteration_seconds);
  into.price_per_worker_hour = from.price_per_worker_hour;
  into.membership = std::move(from.membership);
}

}  // namespace

void fold_old_phases(std::vector<PhaseNumbers>& phases, std::size_t& first_own) {
  if (phases.size() <= kMostPhases) return;
  const auto kept = phases.end() - static_cast<std::ptrdiff_t>(kKeptPhases);
  std::map<Kind, PhaseNumbers> folded;
  for (auto phase = phases.begin() + 1; phase != kept; ++phase) {
    const auto [place, is_new] = folded.try_emplace(kind_of(*phase));
    if (is_new)
      place->second = std::move(*phase);
    else
      merge(place->second, std::move(*phase));
  }
  std::vector<PhaseNumbers> rest;
  rest.reserve(1 + folded.size() + kKeptPhases);
  rest.push_back(std::move(phases.front()));
  for (auto& [kind, phase] : folded) rest.push_back(std::move(phase));
  const std::size_t removed = phases.size() - kKeptPhases - rest.size();
  first_own = std::max(rest.size(), first_own < removed ? 0 : first_own - removed);
  std::move(kept, phases.end(), std::back_inserter(rest));
  phases = std::move(rest);
}

}  // namespace scavenger::elastic
