#include "elastic/control/share_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

struct Claim {
  double speed = 1.0;
  std::uint32_t smallest = 1;
  std::uint32_t largest = UINT32_MAX;
};

// The pinned shares of these workers, as far as the others keep a sample each.
std::vector<std::uint32_t> pins_of(const ShareRule& rule, std::uint32_t batch_size,
                                   std::span<const std::uint32_t> workers) {
  std::vector<std::uint32_t> pins(workers.size(), 0);
  auto room = batch_size - static_cast<std::uint32_t>(workers.size());  // beyond one for each
  auto left = workers.size();  // somebody has to take what is left
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto pinned = rule.pinned.find(workers[i]);
    if (pinned == rule.pinned.end() || left == 1 || pinned->second - 1 > room) continue;
    pins[i] = pinned->second;
    room -= pinned->second - 1;
    --left;
  }
  return pins;
}

// Bounds that leave room for the batch.
std::vector<Claim> claims_of(const ShareRule& rule, std::uint32_t batch_size,
                             std::span<const std::uint32_t> workers) {
  const std::vector<std::uint32_t> pins = pins_of(rule, batch_size, workers);
  std::uint32_t to_share = batch_size, count = 0;  // among those that are not pinned
  for (const std::uint32_t pin : pins) {
    to_share -= pin;
    count += pin == 0 ? 1 : 0;
  }
  std::vector<Claim> claims;
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Claim claim;
    claim.speed = rule.speed_of(workers[i]);
    claim.smallest = claim.largest = pins[i];
    if (pins[i] == 0) {
      claim.smallest = std::clamp(rule.smallest_share, 1U, to_share / count);
      claim.largest =
          std::clamp(rule.largest_share_of(workers[i]), claim.smallest, std::max(1U, to_share));
      room += claim.largest;
    }
    claims.push_back(claim);
  }
  if (room >= to_share) return claims;
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (pins[i] == 0)
      claims[i].largest = static_cast<std::uint32_t>(
          (std::uint64_t{claims[i].largest} * to_share + room - 1) / room);
  return claims;
}

// What a worker does within a time, in whole samples within its bounds.
std::uint32_t share_within(const Claim& claim, double overhead_samples, double seconds) {
  const double samples = std::floor(claim.speed * seconds - overhead_samples);
  return static_cast<std::uint32_t>(
      std::clamp(samples, static_cast<double>(claim.smallest), static_cast<double>(claim.largest)));
}

}  // namespace

std::uint32_t ShareRule::largest_share_of(std::uint32_t worker) const {
  std::uint32_t largest = UINT32_MAX;
  if (!largest_shares.empty()) {
    const std::uint32_t stated = largest_shares[worker % largest_shares.size()];
    if (stated > 0) largest = stated;
  }
  const auto learned = learned_bounds.find(worker);
  return learned == learned_bounds.end() ? largest : std::min(largest, learned->second);
}

double ShareRule::speed_of(std::uint32_t worker) const {
  const auto known = speeds.find(worker);
  if (known != speeds.end()) return known->second;
  if (speeds.empty()) return 1.0;
  const double sum =
      std::accumulate(speeds.begin(), speeds.end(), 0.0,
                      [](double total, const auto& one) { return total + one.second; });
  return sum / static_cast<double>(speeds.size());
}

std::vector<std::uint32_t> shares_of(const ShareRule& rule, std::uint32_t batch_size,
                                     std::span<const std::uint32_t> workers) {
  SCAVENGER_CHECK(!workers.empty() && workers.size() <= batch_size);
  const std::vector<Claim> claims = claims_of(rule, batch_size, workers);
  const auto total_within = [&](double seconds) {
    std::uint64_t total = 0;
    for (const Claim& claim : claims) total += share_within(claim, rule.overhead_samples, seconds);
    return total;
  };
  // The longest time in which the workers together do not do more than the batch.
  const double slowest = std::ranges::min_element(claims, {}, &Claim::speed)->speed;
  double within = 0.0, beyond = (rule.overhead_samples + batch_size + 1.0) / slowest;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (within + beyond);
    (total_within(middle) <= batch_size ? within : beyond) = middle;
  }
  std::vector<std::uint32_t> shares;
  for (const Claim& claim : claims)
    shares.push_back(share_within(claim, rule.overhead_samples, within));
  // What is left, one by one to whoever is done with it first.
  for (auto left = batch_size - total_within(within); left > 0; --left) {
    std::size_t next = claims.size();
    double next_seconds = 0.0;
    for (std::size_t k = 0; k < claims.size(); ++k) {
      if (shares[k] >= claims[k].largest) continue;
      const double seconds = (rule.overhead_samples + shares[k] + 1.0) / claims[k].speed;
      if (next < claims.size() && seconds >= next_seconds) continue;
      next = k;
      next_seconds = seconds;
    }
    ++shares[next];
  }
  return shares;
}

}  // namespace scavenger::elastic
