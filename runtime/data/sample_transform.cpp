#include "runtime/data/sample_transform.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger {

SampleTransform::SampleTransform(const DataSet& data, const DataConfig& config)
    : data_(&data), padding_(config.augment.crop_padding) {
  const NormaliseConfig normalise =
      config.normalise.value_or(NormaliseConfig{.mean = {0.0}, .standard_deviation = {1.0}});
  for (std::size_t i = 0; i < normalise.mean.size(); ++i)
    channels_.push_back(
        {.scale = static_cast<float>(config.scale),
         .mean = static_cast<float>(normalise.mean[i]),
         .inverse_deviation = static_cast<float>(1.0 / normalise.standard_deviation[i])});
  const std::vector<std::int64_t>& shape = data.shape().sample_shape;
  if (shape.size() != 3) return;
  planes_ = shape[0];
  height_ = shape[1];
  width_ = shape[2];
  augmented_bytes_.resize(data.elements_per_sample());
  augmented_floats_.resize(data.elements_per_sample());
}

void SampleTransform::write(std::uint32_t index, float* destination) const {
  if (data_->feature_type() == FeatureType::kUint8)
    normalise(data_->bytes(index).data(), destination);
  else
    normalise(data_->floats(index).data(), destination);
}

void SampleTransform::write_augmented(std::uint32_t index, const Augmentation& augmentation,
                                      float* destination) {
  SCAVENGER_CHECK(planes_ > 0);
  if (data_->feature_type() == FeatureType::kUint8) {
    augment(data_->bytes(index).data(), augmentation, augmented_bytes_.data());
    normalise(augmented_bytes_.data(), destination);
  } else {
    augment(data_->floats(index).data(), augmentation, augmented_floats_.data());
    normalise(augmented_floats_.data(), destination);
  }
}

// Every byte of training data passes this loop. It is kept simple, so that the compiler vectorises
// it.
template <typename Element>
void SampleTransform::normalise(const Element* source, float* destination) const {
  const std::size_t size = data_->elements_per_sample() / channels_.size();
  for (const ChannelNormalisation channel : channels_) {
    const Element* __restrict from = source;
    float* __restrict to = destination;
    for (std::size_t i = 0; i < size; ++i)
      to[i] =
          (static_cast<float>(from[i]) * channel.scale - channel.mean) * channel.inverse_deviation;
    source += size;
    destination += size;
  }
}

template <typename Element>
void SampleTransform::augment(const Element* source, const Augmentation& augmentation,
                              Element* destination) const {
  // Where the crop starts in the image, and which of its columns lie in the image.
  const std::ptrdiff_t top = static_cast<std::ptrdiff_t>(augmentation.top) - padding_;
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(augmentation.left) - padding_;
  const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(-left, 0, width_);
  const std::ptrdiff_t last = std::clamp<std::ptrdiff_t>(width_ - left, first, width_);
  std::fill_n(destination, planes_ * height_ * width_, Element{0});
  for (std::ptrdiff_t plane = 0; plane < planes_; ++plane) {
    const std::ptrdiff_t rows_before = plane * height_;
    for (std::ptrdiff_t y = std::max<std::ptrdiff_t>(0, -top); y < std::min(height_, height_ - top);
         ++y) {
      const Element* row = source + (rows_before + y + top) * width_;
      Element* to = destination + (rows_before + y) * width_;
      if (augmentation.flip)
        std::reverse_copy(row + (left + first), row + (left + last), to + (width_ - last));
      else
        std::copy(row + (left + first), row + (left + last), to + first);
    }
  }
}

}  // namespace scavenger
