#include "runtime/protocol/progressions.h"

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::size_t kNumbersPerProgression = 3;

void require_in_list(bool holds, const char* complaint) {
  if (!holds) throw ProtocolError({.what = complaint, .where = "control message", .remedy = {}});
}

}  // namespace

std::vector<std::int64_t> to_progressions(std::span<const std::uint32_t> numbers) {
  std::vector<std::int64_t> progressions;
  for (std::size_t first = 0; first < numbers.size();) {
    const auto step_after = [&](std::size_t i) {
      return std::int64_t{numbers[i + 1]} - std::int64_t{numbers[i]};
    };
    const std::int64_t step = first + 1 < numbers.size() ? step_after(first) : 0;
    std::size_t last = first;
    while (last + 1 < numbers.size() && step_after(last) == step) ++last;
    const auto count = static_cast<std::int64_t>(last - first + 1);
    progressions.insert(progressions.end(), {std::int64_t{numbers[first]}, step, count});
    first = last + 1;
  }
  return progressions;
}

std::vector<std::uint32_t> from_progressions(std::span<const std::int64_t> progressions) {
  constexpr std::int64_t kLargest = UINT32_MAX;
  require_in_list(progressions.size() % kNumbersPerProgression == 0,
                  "a list ends within a progression");
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < progressions.size(); i += kNumbersPerProgression) {
    const std::int64_t first = progressions[i], step = progressions[i + 1];
    const std::int64_t count = progressions[i + 2];
    require_in_list(count > 0 && static_cast<std::uint64_t>(count) <= kListLimit - numbers.size(),
                    "a list is too long, or has an empty part");
    // Without overflow: count is at most kListLimit, and step is bounded before it is multiplied.
    require_in_list(first >= 0 && first <= kLargest && step >= -kLargest && step <= kLargest,
                    "a number of a list does not fit");
    const std::int64_t last = first + step * (count - 1);
    require_in_list(last >= 0 && last <= kLargest, "a number of a list does not fit");
    for (std::int64_t k = 0; k < count; ++k)
      numbers.push_back(static_cast<std::uint32_t>(first + step * k));
  }
  return numbers;
}

}  // namespace scavenger
