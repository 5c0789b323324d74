#include "runtime/data/length_buckets.h"

#include <algorithm>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger {
namespace {

template <typename Element>
void shuffle(std::span<Element> elements, RandomStream& stream) {
  const std::vector<Element> before(elements.begin(), elements.end());
  const auto places = permutation(stream, static_cast<std::uint32_t>(before.size()));
  for (std::size_t i = 0; i < before.size(); ++i) elements[i] = before[places[i]];
}

void arrange_window(std::span<std::uint32_t> window, std::size_t bucket_size,
                    const SampleLength& length, RandomStream& stream) {
  std::ranges::stable_sort(window, {}, length);
  std::vector<std::vector<std::uint32_t>> buckets;
  for (std::size_t first = 0; first < window.size(); first += bucket_size) {
    const auto bucket = window.subspan(first, bucket_size);
    buckets.emplace_back(bucket.begin(), bucket.end());
    shuffle(std::span(buckets.back()), stream);
  }
  shuffle(std::span(buckets), stream);
  auto place = window.begin();
  for (const auto& bucket : buckets) place = std::ranges::copy(bucket, place).out;
}

}  // namespace

void arrange_in_buckets(std::span<std::uint32_t> order, std::uint64_t first_position,
                        const BucketConfig& config, const SampleLength& length, std::uint64_t seed,
                        std::uint64_t epoch) {
  if (config.size <= 1) return;
  const std::uint64_t lead = (config.size - first_position % config.size) % config.size;
  if (lead >= order.size()) return;
  std::span<std::uint32_t> rest = order.subspan(lead);
  rest = rest.first(rest.size() / config.size * config.size);
  for (std::uint64_t window = 0; !rest.empty(); ++window) {
    const std::size_t size = std::min<std::size_t>(config.window, rest.size());
    RandomStream stream(seed, "buckets", {epoch, window});
    arrange_window(rest.first(size), config.size, length, stream);
    rest = rest.subspan(size);
  }
}

}  // namespace scavenger
