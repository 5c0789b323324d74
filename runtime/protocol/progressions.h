// Lists with a number for each worker, as messages carry them: each of K workers is told the shares
// and the indices of all, so a list of K numbers in each message would cost K * K. Most are a few
// arithmetic progressions: even shares (5, 5, ..., 4, 4, ...) and indices (0, 1, 2, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scavenger {

// The most numbers that a list may have; four times the workers that a job may have.
inline constexpr std::size_t kListLimit = 4096;

// Returns [first, step, count, first, step, count, ...], with each progression as long as can be,
// from the first number on. So each list has one form. The form of a list without progressions has
// three numbers for each two of the list.
std::vector<std::int64_t> to_progressions(std::span<const std::uint32_t> numbers);

// Throws ProtocolError if that is no list of whole progressions, if a number does not fit, or if
// there are more than kListLimit.
std::vector<std::uint32_t> from_progressions(std::span<const std::int64_t> progressions);

}  // namespace scavenger
