// Which pieces of a state have arrived: one chunk of one vector each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace scavenger::ps {

// A piece that comes twice does not stand for another.
class LoadedPieces final {
 public:
  void expect(std::size_t vectors, std::size_t chunks) {
    chunks_ = chunks;
    missing_ = vectors * chunks;
    loaded_.assign(missing_, 0);
  }
  // True with the last missing one. Requires a piece that is expected.
  bool note(std::size_t vector, std::size_t chunk_index) {
    SCAVENGER_CHECK(vector * chunks_ + chunk_index < loaded_.size());
    return std::exchange(loaded_[vector * chunks_ + chunk_index], std::uint8_t{1}) == 0 &&
           --missing_ == 0;
  }
  bool complete() const { return missing_ == 0; }

 private:
  std::vector<std::uint8_t> loaded_;
  std::size_t chunks_ = 0;
  std::size_t missing_ = 0;
};

}  // namespace scavenger::ps
