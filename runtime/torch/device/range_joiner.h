// Joins ranges that become final one after another into larger ones. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace scavenger {

// Neighbours leave together, in pieces of at least so many floats, except for the last ones.
class RangeJoiner final {
 public:
  explicit RangeJoiner(std::uint64_t piece_floats) : piece_floats_(piece_floats) {}

  // Takes [first, last), and calls send(first, last) for each piece that is complete.
  template <typename Send>
  void add(std::uint64_t first, std::uint64_t last, const Send& send) {
    const bool is_neighbour = last == first_ || first == last_;
    if (is_empty()) {
      first_ = first;
      last_ = last;
    } else if (is_neighbour) {
      first_ = std::min(first_, first);
      last_ = std::max(last_, last);
    } else {
      send(std::exchange(first_, first), std::exchange(last_, last));
    }
    if (last_ - first_ >= piece_floats_) flush(send);
  }
  template <typename Send>
  void flush(const Send& send) {
    if (!is_empty()) send(first_, last_);
    clear();
  }
  void clear() { first_ = last_ = 0; }

 private:
  bool is_empty() const { return first_ == last_; }

  std::uint64_t piece_floats_;
  std::uint64_t first_ = 0, last_ = 0;  // final, but not sent yet
};

}  // namespace scavenger
