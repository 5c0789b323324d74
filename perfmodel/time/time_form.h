// The formula for the seconds of one iteration, and the variants of it that a fit chooses between.
//
//   C    = (a + c b) (1 + r log2 K)        compute of the slowest of K workers; if the form has
//                                          a floor, (f^8 + (a + c b)^8)^(1/8) replaces a + c b
//   S    = 0 for K = 1, else s0 + s1 g(K) + s2 B
//   tau  = (1 - p) C + ((p C)^4 + S^4)^(1/4)
//
// The share p of compute (the backward pass, in which gradients become final one after another)
// runs beside synchronisation, and the longer of the two counts; the 4-norm is a maximum rounded
// off by the iterations' scatter. p = 0 is Scavenger's eq. 8, tau = C + S. r is the price of
// waiting for the slowest of K alike workers: the largest of K random delays grows with log K.
// Scavenger eq. 9 and 10 are a + c b with a = 0, and g(K) = K with s0 = 0.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// g(K), 0 at K = 1.
enum class SyncShape {
  kShard,   // K - 1: one parameter-server shard serves the workers in turn
  kSpread,  // (K - 1) / K: a ring, or shards on all workers' hosts: bytes per host saturate
  kTree,    // log2 K: rounds of a tree, or contention that grows with every doubling
};

struct TimeForm {
  SyncShape shape = SyncShape::kShard;
  bool overlap = false;     // p may be above 0
  bool floor = false;       // f may be above 0: small batches do not fill the device
  bool batch_term = false;  // s2 may be above 0: synchronisation that waits for compute's skew

  bool operator==(const TimeForm&) const = default;
};

// "shard + overlap + floor"
std::string describe(const TimeForm& form);

enum TimeParameter : std::size_t {
  kComputeBase,       // a, seconds
  kComputePerSample,  // c, seconds
  kSyncBase,          // s0, seconds
  kSyncSlope,         // s1, seconds
  kStraggling,        // r, per doubling of K
  kOverlapShare,      // p
  kComputeFloor,      // f, seconds
  kSyncPerSample,     // s2, seconds
  kTimeParameters,
};
using TimeParameters = std::array<double, kTimeParameters>;

bool uses(const TimeForm& form, TimeParameter parameter);

struct TimeParts {
  double seconds = 0.0;             // tau
  double compute = 0.0;             // C
  double sync = 0.0;                // S, of which tau - C is exposed
  TimeParameters gradient{};        // d tau / d parameter
  double compute_elasticity = 0.0;  // d ln tau / d ln C
  double sync_elasticity = 0.0;     // d ln tau / d ln S
};

TimeParts evaluate(const TimeForm& form, const TimeParameters& parameters,
                   const Configuration& configuration);

}  // namespace scavenger::perfmodel
