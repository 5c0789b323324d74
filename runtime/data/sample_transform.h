// From the raw features of one sample to the numbers that a model sees.
//
// value = (raw * scale - mean) / standard deviation, computed in double and rounded once. The first
// dimension of a sample's shape counts its channels: a flat sample may be normalised by one mean
// for all, or by one for each feature.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/data_set.h"

namespace scavenger {

// Constant after construction, so any thread may use it.
class SampleTransform final {
 public:
  // `data` was opened with `config`, and must outlive the transform.
  SampleTransform(const DataSet& data, const DataConfig& config);

  // Both write data.elements_per_sample() floats.
  void write(std::uint32_t index, float* destination) const;
  // For images only. Padding is raw zeros, so it is scaled and normalised like black pixels.
  void write_augmented(std::uint32_t index, const Augmentation& augmentation,
                       float* destination) const;

 private:
  struct Affine {
    double scale = 1.0;
    double mean = 0.0;
    double standard_deviation = 1.0;
    float operator()(float raw) const {
      return static_cast<float>((static_cast<double>(raw) * scale - mean) / standard_deviation);
    }
  };
  // An Affine's results for all bytes.
  struct ByteTable {
    std::array<float, 256> values;
    float operator()(std::uint8_t raw) const { return values[raw]; }
  };

  template <typename Element, typename Value>
  void write_plain(const Element* source, const std::vector<Value>& values,
                   float* destination) const;
  template <typename Element, typename Value>
  void write_image(const Element* source, const std::vector<Value>& values,
                   const Augmentation& augmentation, float* destination) const;
  template <typename Element, typename Value>
  void write_plane(const Element* source, const Value& value, const Augmentation& augmentation,
                   float* destination) const;

  const DataSet* data_;
  std::ptrdiff_t padding_;
  std::ptrdiff_t planes_ = 0;  // of an image; 0 for flat samples
  std::ptrdiff_t height_ = 0;
  std::ptrdiff_t width_ = 0;
  std::vector<Affine> affines_;    // one for all channels, or one for each
  std::vector<ByteTable> tables_;  // likewise; for u8 samples only
};

}  // namespace scavenger
