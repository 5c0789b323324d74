// Averages over a simulation, with standard errors from blocks: samples that follow each other are
// alike, the means of long blocks are not.
//
// Everything is a sum that is kept in the state, so that a run in segments has the same averages to
// the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scavenger::md {

struct Average {
  double mean = 0.0;
  double error = 0.0;  // standard error; not a number with fewer than two blocks
};

// The sums of `Number` quantities. Whole numbers (counts) add up exactly.
template <typename Number>
struct BlockSums {
  std::vector<Number> total;    // over all samples
  std::vector<Number> block;    // over the block that is not yet complete
  std::vector<double> squares;  // of the sums of complete blocks
  std::vector<double> sums;     // of the sums of complete blocks

  void resize(std::size_t quantities);
  void add(std::size_t quantity, Number value) { block[quantity] += value; }
  void close_block();
};

class Averages final {
 public:
  Averages() = default;
  Averages(std::size_t values, std::size_t counts, std::int64_t samples_per_block);

  void add_value(std::size_t quantity, double value) { values_.add(quantity, value); }
  void add_count(std::size_t bin) { counts_.add(bin, 1); }
  void end_sample();

  std::int64_t samples() const { return samples_; }
  std::int64_t blocks() const { return blocks_; }
  Average value(std::size_t quantity) const;
  Average count(std::size_t bin) const;  // per sample
  // False for sums that came from a damaged file.
  bool is_consistent() const;
  template <typename Archive>
  void archive(Archive& archive) {
    archive(samples_per_block_, samples_, blocks_, values_.total, values_.block, values_.squares,
            values_.sums, counts_.total, counts_.block, counts_.squares, counts_.sums);
  }

 private:
  std::int64_t samples_per_block_ = 1;
  std::int64_t samples_ = 0;
  std::int64_t blocks_ = 0;
  BlockSums<double> values_;
  BlockSums<std::int64_t> counts_;
};

}  // namespace scavenger::md
