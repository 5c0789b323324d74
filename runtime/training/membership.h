// The workers that take part in the training between two reshapes, and their shares of the global
// batch.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// K, B and the b_k between two reshapes. Membership epochs count from 1. Messages carry their
// epoch; those of another epoch are ignored.
struct Membership {
  std::uint32_t epoch = 0;
  std::uint32_t batch_size = 0;       // B = sum of shares
  std::vector<std::uint32_t> shares;  // b_k by rank; none is 0
  std::uint64_t first_iteration =
      0;  // of this membership; iterations count from 0 over the whole job
  std::uint64_t first_position = 0;  // of that iteration, in the global sample order
  // Factor of the scheduled learning rate if B is not the batch size that the rate was chosen for.
  double rate_factor = 1.0;

  std::uint32_t workers() const { return static_cast<std::uint32_t>(shares.size()); }
  // Returns the number of samples consumed before `iteration` starts.
  std::uint64_t position_at(std::uint64_t iteration) const {
    return first_position + (iteration - first_iteration) * batch_size;
  }
  // Returns the start of the rank's slice within the global batch.
  std::uint32_t offset_of(std::uint32_t rank) const {
    std::uint32_t offset = 0;
    for (std::uint32_t r = 0; r < rank; ++r) offset += shares[r];
    return offset;
  }

  bool operator==(const Membership&) const = default;
};

}  // namespace scavenger
