// Seconds per iteration and price of a cluster of unequal machines, from a time model of alike
// ones: the sum of the speeds counts where shares follow them, the slowest machine where they are
// even, and the slowest link for synchronisation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perfmodel/time/time_model.h"

namespace scavenger::perfmodel {

// Some workers' machines of one type.
struct MachineGroup {
  double workers = 1.0;
  double speed = 1.0;  // of computing, in units of the machines that the model was fitted on
  double link = 1.0;   // of the network, likewise
  double price_per_hour = 0.0;  // of each, in dollars
  std::string type{};           // for people
};

// How a batch is shared out: alike, or by what each machine can do.
enum class Sharing { kEven, kDynamic };

// All machines that can be had, in the order in which workers get them.
struct MachinePool {
  std::vector<MachineGroup> groups;  // empty: as many as are wanted, all alike
  Sharing sharing = Sharing::kEven;

  bool is_mixed() const { return !groups.empty(); }
  double size() const;
  // Those of so many workers. Throws DataError where there are fewer.
  std::vector<MachineGroup> first(double workers) const;
};

struct MixedPrediction {
  double seconds = 0.0;         // per iteration
  std::vector<double> shares;   // b_k of a worker of each group
  double price_per_hour = 0.0;  // of all workers
};

// Throws DataError where there is no group, a number is not positive (a price: negative), or there
// are more workers than samples. With groups that are all as the model's machines it is the model's
// own prediction.
MixedPrediction predict_mixed(const TimeModel& model, std::span<const MachineGroup> groups,
                              double global_batch, Sharing sharing);

// Observations that were made on machines of the pool, as a time model of machines of speed 1 has
// to be told of them. Links count as alike. Throws DataError where there are fewer machines than
// workers.
std::vector<TimeObservation> with_slowdowns(std::span<const TimeObservation> observations,
                                            const MachinePool& pool);

}  // namespace scavenger::perfmodel
