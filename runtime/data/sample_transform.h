// Converts the raw features of one sample to the input of a model.
//
// value = (raw * scale - mean) / standard deviation, in single precision. The first dimension of a
// sample's shape counts its channels: a flat sample may be normalised by one mean for all, or by
// one for each feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/data_set.h"
#include "runtime/training/raw_images.h"

namespace scavenger {

// Thread: one thread at a time.
class SampleTransform final {
 public:
  // `data` was opened with `config`, and must outlive the transform.
  SampleTransform(const DataSet& data, const DataConfig& config);

  // Both functions write data.elements_per_sample() floats.
  void write(std::uint32_t index, float* destination) const;
  // For images only. Padding is raw zeros, so it is scaled and normalised like black pixels.
  void write_augmented(std::uint32_t index, const Augmentation& augmentation, float* destination);

  const std::vector<ChannelNormalisation>& channels() const { return channels_; }

 private:
  template <typename Element>
  void normalise(const Element* source, float* destination) const;
  template <typename Element>
  void augment(const Element* source, const Augmentation& augmentation, Element* destination) const;

  const DataSet* data_;
  std::vector<ChannelNormalisation> channels_;  // one for all channels, or one for each
  std::ptrdiff_t padding_;
  std::ptrdiff_t planes_ = 0;  // planes of an image; 0 for flat samples
  std::ptrdiff_t height_ = 0;
  std::ptrdiff_t width_ = 0;
  std::vector<std::uint8_t> augmented_bytes_;  // one image, between augment() and normalise()
  std::vector<float> augmented_floats_;        // likewise
};

}  // namespace scavenger
