// Interface of a synchroniser if every worker keeps the job's weights and optimizer state: it loads
// them from a checkpoint, reports which it has, and takes snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace scavenger {

// Thread: as Synchroniser, between two iterations.
class StateHolder {
 public:
  virtual ~StateHolder() = default;

  // Discards the present state. The state after `iteration` iterations follows by load(), piece by
  // piece.
  virtual void begin_load(std::uint64_t iteration) = 0;
  // Loads one chunk of one vector; vector 0 holds the weights. Returns true for the last piece.
  // Throws ProtocolError if the piece does not fit.
  virtual bool load(std::uint32_t vector, std::uint32_t chunk,
                    std::span<const std::byte> floats) = 0;

  // Returns the number of iterations after which this worker has the complete state; nothing if it
  // does not have one.
  virtual std::optional<std::uint64_t> held_iteration() const = 0;

  // Keeps the state after `iteration` iterations until it has been copied, while training goes on.
  // Returns the number of optimizer steps taken with it. Throws ProtocolError if this worker does
  // not have that state.
  virtual std::uint64_t begin_snapshot(std::uint64_t iteration) = 0;
};

}  // namespace scavenger
