// The result of every reader: samples and targets in memory, in the order of the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scavenger {

enum class FeatureType : std::uint32_t { kUint8 = 0, kFloat32 = 1, kToken = 2 };

struct SampleTable {
  FeatureType feature_type = FeatureType::kUint8;
  std::vector<std::int64_t> sample_shape;  // {channels, height, width} or {features}
  // Samples x product(sample_shape), row-major, in the vector that feature_type selects.
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  // Targets: one label for each sample, in [0, classes), or product(target_shape) values.
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> target_shape;  // of the values of one sample
  std::vector<float> values;

  // Text. Running text is one vector of tokens. In parallel text, sample i is tokens
  // [token_ends[i], token_ends[i + 1]): words and kEndToken. Its target has the same form, with a
  // leading kBeginToken.
  std::vector<std::int32_t> tokens;
  std::vector<std::uint64_t> token_ends;  // begins with 0
  std::vector<std::int32_t> target_tokens;
  std::vector<std::uint64_t> target_ends;
  std::string vocabulary, target_vocabulary;  // Vocabulary::text()

  // Returns 0 for running text, which is cut into samples later.
  std::uint64_t sample_count() const {
    if (!token_ends.empty()) return token_ends.size() - 1;
    std::uint64_t values_of_one = 1;
    for (const std::int64_t size : target_shape) values_of_one *= static_cast<std::uint64_t>(size);
    return values.empty() ? labels.size() : values.size() / values_of_one;
  }
};

}  // namespace scavenger
