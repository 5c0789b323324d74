// Who takes part in the training from one boundary to the next, and how the global batch is shared
// out.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// K, B and the b_k between two reshapes. Epochs of membership count up from 1; messages carry
// theirs, and those of another epoch change nothing (design, invariant 4).
struct Membership {
  std::uint32_t epoch = 0;
  std::uint32_t batch_size = 0;       // B = sum of shares
  std::vector<std::uint32_t> shares;  // b_k by rank; none is 0
  std::uint64_t first_iteration =
      0;  // of this membership; iterations count up from 0 over the whole job
  std::uint64_t first_position = 0;  // in the global sample order, of that iteration
  // What the schedule's learning rate is multiplied with, where B is not what it was chosen for.
  double rate_factor = 1.0;

  std::uint32_t workers() const { return static_cast<std::uint32_t>(shares.size()); }
  // Samples consumed before `iteration` starts.
  std::uint64_t position_at(std::uint64_t iteration) const {
    return first_position + (iteration - first_iteration) * batch_size;
  }
  // Where rank's slice starts within the global batch.
  std::uint32_t offset_of(std::uint32_t rank) const {
    std::uint32_t offset = 0;
    for (std::uint32_t r = 0; r < rank; ++r) offset += shares[r];
    return offset;
  }

  bool operator==(const Membership&) const = default;
};

}  // namespace scavenger
