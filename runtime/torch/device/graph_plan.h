// Decides for each forward and backward pass whether it is computed kernel by kernel, recorded as a
// graph, or replayed from one. Pure: it knows nothing of graphs but their number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scavenger {

// All that a recorded pass has in itself: a pass of another key needs another graph.
struct PassKey {
  std::vector<std::int64_t> shape;  // of all input tensors
  double loss_terms = 1.0;          // Batch::loss_terms
  double loss_scale = 1.0;          // of float16
  const void* weights = nullptr;    // where they are on the device
  const void* gradients = nullptr;

  auto operator<=>(const PassKey&) const = default;
  bool operator==(const PassKey&) const = default;
};

enum class PassWay { kEager, kCapture, kReplay };

class GraphPlan final {
 public:
  // The first passes of a key run kernel by kernel: libraries choose their kernels in them.
  static constexpr std::uint32_t kWarmUpPasses = 3;
  // Weights have two places in turns, and half batches are of two sizes more.
  static constexpr std::size_t kMostGraphs = 8;
  // After so many passes in a row of which none was recorded or replayed, none is likely to be.
  static constexpr std::uint32_t kMostEagerPasses = 200;

  struct Decision {
    PassWay way = PassWay::kEager;
    std::size_t slot = 0;  // of the graph, below kMostGraphs; a new one takes the place of another
  };

  Decision next(const PassKey& key);
  // The pass that next() had recorded is in its slot.
  void captured();
  // The memory that graphs read is gone or needed: none is left.
  void forget();
  // No graph can be used from now on.
  void give_up() { is_given_up_ = true; }

  bool is_given_up() const { return is_given_up_; }
  // Whether the last next() has given up, since keys do not repeat.
  bool has_just_given_up() const { return has_just_given_up_; }
  std::uint32_t captures() const { return captures_; }

 private:
  struct Known {
    PassKey key;
    std::uint32_t passes = 0;
    std::uint64_t last_use = 0;
    std::optional<std::size_t> slot;
  };

  Known& known_of(const PassKey& key);
  std::size_t place_for_graph();

  std::vector<Known> known_;
  std::optional<PassKey> under_way_;  // to be recorded
  std::size_t under_way_slot_ = 0;
  std::uint64_t uses_ = 0;
  std::uint32_t eager_in_a_row_ = 0;
  std::uint32_t captures_ = 0;
  bool is_given_up_ = false;
  bool has_just_given_up_ = false;
};

}  // namespace scavenger
