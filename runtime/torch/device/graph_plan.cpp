#include "runtime/torch/device/graph_plan.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

constexpr std::size_t kMostKeys = 16;  // that are counted; more than there can be graphs

}  // namespace

GraphPlan::Known& GraphPlan::known_of(const PassKey& key) {
  const auto found = std::ranges::find(known_, key, &Known::key);
  if (found != known_.end()) return *found;
  if (known_.size() == kMostKeys) {
    const auto is_older = [](const Known& a, const Known& b) {
      if (a.slot.has_value() != b.slot.has_value()) return !a.slot.has_value();
      return a.last_use < b.last_use;
    };
    known_.erase(std::ranges::min_element(known_, is_older));
  }
  return known_.emplace_back(Known{.key = key, .slot = std::nullopt});
}

// A free one, or that of the graph that was not used for longest.
std::size_t GraphPlan::place_for_graph() {
  std::vector<bool> taken(kMostGraphs);
  Known* oldest = nullptr;
  for (Known& known : known_) {
    if (!known.slot) continue;
    taken[*known.slot] = true;
    if (oldest == nullptr || known.last_use < oldest->last_use) oldest = &known;
  }
  const auto free = std::ranges::find(taken, false);
  if (free != taken.end()) return static_cast<std::size_t>(free - taken.begin());
  const std::size_t slot = *oldest->slot;
  oldest->slot.reset();
  oldest->passes = 0;
  return slot;
}

GraphPlan::Decision GraphPlan::next(const PassKey& key) {
  under_way_.reset();
  has_just_given_up_ = false;
  if (is_given_up_) return {};
  Known& known = known_of(key);
  known.last_use = ++uses_;
  if (known.slot) {
    eager_in_a_row_ = 0;
    return {PassWay::kReplay, *known.slot};
  }
  if (known.passes < kWarmUpPasses) {
    ++known.passes;
    if (++eager_in_a_row_ >= kMostEagerPasses) is_given_up_ = has_just_given_up_ = true;
    return {};
  }
  under_way_ = key;
  under_way_slot_ = place_for_graph();
  return {PassWay::kCapture, under_way_slot_};
}

void GraphPlan::captured() {
  SCAVENGER_CHECK(under_way_.has_value());
  known_of(*under_way_).slot = under_way_slot_;
  under_way_.reset();
  eager_in_a_row_ = 0;
  ++captures_;
}

void GraphPlan::forget() {
  known_.clear();
  under_way_.reset();
}

}  // namespace scavenger
