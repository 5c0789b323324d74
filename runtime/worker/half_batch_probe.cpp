#include "runtime/worker/half_batch_probe.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

std::span<float> aligned_part(std::vector<float>& memory, std::uint64_t index, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float);
  const std::uint64_t skip = (kTensorAlignment - address % kTensorAlignment) % kTensorAlignment;
  return std::span(memory).subspan(skip + index * size, size);
}

}  // namespace

HalfBatchShare half_batch_share(const JobConfig& config) {
  HalfBatchShare share{.usual = config.noise.half_batch_share};
  // `auto` waits for nothing, and pays for nothing before it knows that it is worth it.
  if (config.search.mode != SearchMode::kOff && config.search.mode != SearchMode::kAuto) {
    share.early = std::max(share.usual, config.noise.cold_start_share);
    share.early_iterations = config.search.cold_start_iterations;
  }
  return share;
}

HalfBatchProbe::HalfBatchProbe(Trainer& trainer, const Clock& clock,
                               std::vector<ParameterGroup> groups, HalfBatchShare share)
    : trainer_(trainer), clock_(clock), groups_(std::move(groups)), share_(share) {}

bool HalfBatchProbe::is_due(std::uint64_t iteration, double pass_seconds) {
  const double now_seconds = clock_.now_seconds();
  allowed_seconds_ += share_.at(iteration) * (now_seconds - asked_seconds_.value_or(now_seconds));
  asked_seconds_ = now_seconds;
  const double next = last_seconds_ > 0.0 ? last_seconds_ : pass_seconds;
  return next > 0.0 && next <= allowed_seconds_;
}

HalfBatchNorms HalfBatchProbe::measure(const Batch& batch, std::uint64_t iteration,
                                       std::uint64_t random_key, std::span<float> gradients) {
  SCAVENGER_CHECK(batch.size >= 2);
  const double begin = clock_.now_seconds();
  const std::uint64_t size = trainer_.parameters().flat_size();
  if (memory_.empty()) memory_.resize(2 * size + kTensorAlignment);
  first_ = aligned_part(memory_, 0, size);
  second_ = aligned_part(memory_, 1, size);
  std::vector<float> buffers(trainer_.buffers().flat_size());
  if (!buffers.empty()) trainer_.read_buffers(buffers);

  HalfBatchNorms norms;
  norms.iteration = iteration;
  norms.first_samples = batch.size / 2;
  norms.second_samples = batch.size - norms.first_samples;
  trainer_.use_gradients(first_);
  gradient_of(batch, 0, norms.first_samples, random_key);
  trainer_.use_gradients(second_);
  gradient_of(batch, norms.first_samples, norms.second_samples, ~random_key);
  trainer_.use_gradients(gradients);
  if (!buffers.empty()) trainer_.write_buffers(buffers);

  norms.first_sqr_norm = sqr_norms(first_);
  norms.second_sqr_norm = sqr_norms(second_);
  const float share = static_cast<float>(norms.first_samples) / static_cast<float>(batch.size);
  for (std::uint64_t i = 0; i < size; ++i)
    first_[i] = share * first_[i] + (1.0F - share) * second_[i];
  norms.whole_sqr_norm = sqr_norms(first_);
  last_seconds_ = norms.seconds = clock_.now_seconds() - begin;
  allowed_seconds_ -= last_seconds_;
  return norms;
}

void HalfBatchProbe::gradient_of(const Batch& batch, std::uint32_t first, std::uint32_t size,
                                 std::uint64_t random_key) {
  // Takes the samples of each buffer that the batch uses: features or tokens, labels or values.
  const auto take = [&](const auto& all, auto& part) {
    const auto width = static_cast<std::ptrdiff_t>(all.size() / batch.size);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(first) * width;
    part.assign(from, from + static_cast<std::ptrdiff_t>(size) * width);
  };
  half_.first_position = batch.first_position + first;
  half_.size = size;
  half_.sample_shape = batch.sample_shape;
  half_.target_shape = batch.target_shape;
  half_.loss_terms = batch.loss_terms;
  take(batch.features, half_.features);
  take(batch.raw_images.bytes, half_.raw_images.bytes);
  take(batch.raw_images.floats, half_.raw_images.floats);
  take(batch.raw_images.changes, half_.raw_images.changes);
  half_.raw_images.padding = batch.raw_images.padding;
  half_.raw_images.channels = batch.raw_images.channels;
  take(batch.tokens, half_.tokens);
  take(batch.labels, half_.labels);
  take(batch.values, half_.values);
  trainer_.forward_backward(half_, random_key, [](std::uint64_t, std::uint64_t) {});
}

std::vector<double> HalfBatchProbe::sqr_norms(std::span<const float> gradient) const {
  std::vector<double> norms;
  for (const ParameterGroup& group : groups_) {
    double sum = 0.0;
    for (const FlatRange& range : group.ranges)
      for (const float value : gradient.subspan(range.first, range.size))
        sum += static_cast<double>(value) * static_cast<double>(value);
    norms.push_back(sum);
  }
  return norms;
}

}  // namespace scavenger
