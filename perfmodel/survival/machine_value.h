// What a unit of work, such as one simulation, costs on machines of a type: price, measured speed
// and survival in one number, dollars.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/survival/expected_time.h"

namespace scavenger::perfmodel {

// One way to rent machines: a type in a zone, on demand or spot.
struct MachineOffer {
  std::string name;
  double price_per_hour = 0.0;  // dollars
  double start_seconds = 0.0;   // paid for before the first work
  double tasks_at_once = 1.0;
  // Null: never taken away (on demand). Must outlive the call.
  const Survival* survival = nullptr;
  // Measured here; none before the first task has ended.
  std::optional<double> task_seconds{};
};

struct OfferValue {
  std::size_t offer = 0;                // index
  double task_seconds = 0.0;            // expected, with what losses and checkpoints add
  double paid_per_useful_second = 1.0;  // of machine time
  double dollars_per_task = 0.0;
};

// Machine seconds that are paid for each second of useful work, if machines are used from their
// start until they are lost or retired at `retire_age_seconds`: by renewal, E[paid] / E[useful] of
// one machine's life. At least 1.
double paid_per_useful_second(const Survival& survival, const Work& work,
                              double retire_age_seconds);

// The value of each offer whose tasks were measured, cheapest first.
std::vector<OfferValue> rank_offers(std::span<const MachineOffer> offers,
                                    const CheckpointCost& checkpoint);

// The offer for the next machine: one that was never measured, as long as there are such (of these
// the cheapest per task at once); then the cheapest per task. Nothing if there are no offers.
std::optional<std::size_t> next_offer(std::span<const MachineOffer> offers,
                                      const CheckpointCost& checkpoint);

}  // namespace scavenger::perfmodel
