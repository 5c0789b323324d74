// Which iteration a worker begins, and as what.
#pragma once

#include <cstdint>

namespace scavenger {

struct WorkerIteration {
  std::uint64_t iteration = 0;
  std::uint32_t rank = 0;
  std::uint32_t workers = 1;     // K
  std::uint32_t batch_size = 0;  // B
  std::uint32_t share = 0;       // b_k: samples of this worker; noise is measured on fewer

  bool operator==(const WorkerIteration&) const = default;
};

}  // namespace scavenger
