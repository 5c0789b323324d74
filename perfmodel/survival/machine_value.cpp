#include "perfmodel/survival/machine_value.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kFewAlive = 1e-9;

OfferValue value_of(const MachineOffer& offer, std::size_t index,
                    const CheckpointCost& checkpoint) {
  const double seconds = *offer.task_seconds;
  SCAVENGER_CHECK(seconds > 0.0 && offer.tasks_at_once > 0.0);
  OfferValue value{.offer = index, .task_seconds = seconds};
  if (offer.survival != nullptr) {
    const Work work{seconds, checkpoint, offer.start_seconds};
    const ExpectedTime time(*offer.survival, work);
    value.task_seconds = time.on_machine_seconds(0.0);
    value.paid_per_useful_second =
        paid_per_useful_second(*offer.survival, work, time.retire_age_seconds());
  }
  value.dollars_per_task = offer.price_per_hour / kHourSeconds * seconds *
                           value.paid_per_useful_second / offer.tasks_at_once;
  return value;
}

}  // namespace

double paid_per_useful_second(const Survival& survival, const Work& work, double retire_age) {
  double useful = 0.0, age = 0.0;
  for (bool is_used = true; is_used && survival.survival(age) > kFewAlive;) {
    is_used = age < retire_age;
    for (double left = work.seconds; is_used && left > 0.0;) {
      const double segment = next_segment_seconds(survival, age, left, work.checkpoint);
      is_used = segment > 0.0;
      if (!is_used) break;
      age += segment < left ? segment + work.checkpoint.seconds : segment;
      useful += survival.survival(age) * segment;
      left = segment < left ? left - segment : 0.0;
    }
  }
  if (useful <= 0.0) return kNeverSeconds;
  return (work.start_seconds + survival.lived_seconds(0.0, age)) / useful;
}

std::vector<OfferValue> rank_offers(std::span<const MachineOffer> offers,
                                    const CheckpointCost& checkpoint) {
  std::vector<OfferValue> values;
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (offers[i].task_seconds) values.push_back(value_of(offers[i], i, checkpoint));
  std::ranges::stable_sort(values, {}, &OfferValue::dollars_per_task);
  return values;
}

std::optional<std::size_t> next_offer(std::span<const MachineOffer> offers,
                                      const CheckpointCost& checkpoint) {
  std::optional<std::size_t> untried;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].task_seconds) continue;
    const auto price = [&](std::size_t one) {
      return offers[one].price_per_hour / offers[one].tasks_at_once;
    };
    if (!untried || price(i) < price(*untried)) untried = i;
  }
  if (untried) return untried;
  const std::vector<OfferValue> ranked = rank_offers(offers, checkpoint);
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().offer);
}

}  // namespace scavenger::perfmodel
