#include "runtime/data/sample_transform.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger {

SampleTransform::SampleTransform(const DataSet& data, const DataConfig& config)
    : data_(&data), padding_(config.augment.crop_padding) {
  const std::vector<std::int64_t>& shape = data.sample_shape();
  if (shape.size() == 3) {
    planes_ = shape[0];
    height_ = shape[1];
    width_ = shape[2];
  }
  const NormaliseConfig normalise =
      config.normalise.value_or(NormaliseConfig{.mean = {0.0}, .standard_deviation = {1.0}});
  for (std::size_t i = 0; i < normalise.mean.size(); ++i)
    affines_.push_back({.scale = config.scale,
                        .mean = normalise.mean[i],
                        .standard_deviation = normalise.standard_deviation[i]});
  if (data.element_type() != ElementType::kUint8) return;
  tables_.resize(affines_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i)
    for (std::size_t raw = 0; raw < 256; ++raw)
      tables_[i].values[raw] = affines_[i](static_cast<float>(raw));
}

void SampleTransform::write(std::uint32_t index, float* destination) const {
  if (data_->element_type() == ElementType::kUint8)
    write_plain(data_->bytes(index).data(), tables_, destination);
  else
    write_plain(data_->floats(index).data(), affines_, destination);
}

void SampleTransform::write_augmented(std::uint32_t index, const Augmentation& augmentation,
                                      float* destination) const {
  SCAVENGER_CHECK(planes_ > 0);
  if (data_->element_type() == ElementType::kUint8)
    write_image(data_->bytes(index).data(), tables_, augmentation, destination);
  else
    write_image(data_->floats(index).data(), affines_, augmentation, destination);
}

template <typename Element, typename Value>
void SampleTransform::write_plain(const Element* source, const std::vector<Value>& values,
                                  float* destination) const {
  const std::size_t size = data_->elements_per_sample() / values.size();
  for (const Value& value : values) {
    for (std::size_t i = 0; i < size; ++i) destination[i] = value(source[i]);
    source += size;
    destination += size;
  }
}

template <typename Element, typename Value>
void SampleTransform::write_image(const Element* source, const std::vector<Value>& values,
                                  const Augmentation& augmentation, float* destination) const {
  const std::ptrdiff_t size = height_ * width_;
  for (std::ptrdiff_t plane = 0; plane < planes_; ++plane) {
    const Value& value = values[values.size() == 1 ? 0 : static_cast<std::size_t>(plane)];
    write_plane(source + plane * size, value, augmentation, destination + plane * size);
  }
}

template <typename Element, typename Value>
void SampleTransform::write_plane(const Element* source, const Value& value,
                                  const Augmentation& augmentation, float* destination) const {
  const float black = value(Element{0});
  // Where the cut starts in the image, and which of its columns are in the image.
  const std::ptrdiff_t top = static_cast<std::ptrdiff_t>(augmentation.top) - padding_;
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(augmentation.left) - padding_;
  const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(-left, 0, width_);
  const std::ptrdiff_t last = std::clamp<std::ptrdiff_t>(width_ - left, 0, width_);
  for (std::ptrdiff_t y = 0; y < height_; ++y, destination += width_) {
    if (y + top < 0 || y + top >= height_) {
      std::fill_n(destination, width_, black);
      continue;
    }
    const Element* row = source + (y + top) * width_ + left;
    std::fill_n(destination, first, black);
    for (std::ptrdiff_t x = first; x < last; ++x) destination[x] = value(row[x]);
    std::fill(destination + last, destination + width_, black);
    if (augmentation.flip) std::reverse(destination, destination + width_);
  }
}

}  // namespace scavenger
