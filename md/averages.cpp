#include "md/averages.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scavenger::md {
namespace {

template <typename Number>
Average average(const BlockSums<Number>& sums, std::size_t quantity, std::int64_t samples,
                std::int64_t blocks, std::int64_t samples_per_block) {
  Average result;
  result.error = std::numeric_limits<double>::quiet_NaN();
  if (samples == 0) {
    result.mean = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  const auto all = static_cast<double>(sums.total[quantity] + sums.block[quantity]);
  result.mean = all / static_cast<double>(samples);
  if (blocks < 2) return result;
  const auto count = static_cast<double>(blocks);
  const double mean = sums.sums[quantity] / count;
  const double variance = std::max(0.0, sums.squares[quantity] / count - mean * mean);
  result.error = std::sqrt(variance / (count - 1.0)) / static_cast<double>(samples_per_block);
  return result;
}

}  // namespace

template <typename Number>
void BlockSums<Number>::resize(std::size_t quantities) {
  total.assign(quantities, Number{});
  block.assign(quantities, Number{});
  squares.assign(quantities, 0.0);
  sums.assign(quantities, 0.0);
}

template <typename Number>
void BlockSums<Number>::close_block() {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto sum = static_cast<double>(block[i]);
    total[i] += block[i];
    sums[i] += sum;
    squares[i] += sum * sum;
    block[i] = Number{};
  }
}

template struct BlockSums<double>;
template struct BlockSums<std::int64_t>;

Averages::Averages(std::size_t values, std::size_t counts, std::int64_t samples_per_block)
    : samples_per_block_(samples_per_block) {
  values_.resize(values);
  counts_.resize(counts);
}

void Averages::end_sample() {
  ++samples_;
  if (samples_ % samples_per_block_ != 0) return;
  values_.close_block();
  counts_.close_block();
  ++blocks_;
}

bool Averages::is_consistent() const {
  const auto agree = [](const auto& sums) {
    const std::size_t size = sums.total.size();
    return sums.block.size() == size && sums.squares.size() == size && sums.sums.size() == size;
  };
  return samples_per_block_ > 0 && samples_ >= 0 && blocks_ == samples_ / samples_per_block_ &&
         agree(values_) && agree(counts_);
}

Average Averages::value(std::size_t quantity) const {
  return average(values_, quantity, samples_, blocks_, samples_per_block_);
}

Average Averages::count(std::size_t bin) const {
  return average(counts_, bin, samples_, blocks_, samples_per_block_);
}

}  // namespace scavenger::md
