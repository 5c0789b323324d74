// What a synchroniser also does where every worker keeps the job's weights and optimizer state:
// take them from a checkpoint, say what it has, hand out snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace scavenger {

// Thread: as Synchroniser, in between two iterations.
class StateHolder {
 public:
  virtual ~StateHolder() = default;

  // What this worker has is of no use any more: the state after `iteration` iterations comes with
  // load(), piece by piece. Vector 0 are the weights.
  virtual void begin_load(std::uint64_t iteration) = 0;
  // True with the last piece. Throws ProtocolError where it does not fit.
  virtual bool load(std::uint32_t vector, std::uint32_t chunk,
                    std::span<const std::byte> floats) = 0;

  // After how many iterations the state is complete here.
  virtual std::optional<std::uint64_t> held_iteration() const = 0;

  // From now on the state after `iteration` iterations is kept until it has been copied, beside
  // training; returns how many steps were taken with it. Throws ProtocolError where that is not
  // what this worker has.
  virtual std::uint64_t begin_snapshot(std::uint64_t iteration) = 0;
};

}  // namespace scavenger
