// The smallest job there is, for tests of what a worker does: a model with a known gradient, and a
// group of one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/training/synchroniser.h"
#include "runtime/training/trainer.h"
#include "test/support/manual_clock.h"

namespace scavenger {

// f(w) = mean over the batch of |w - x|^2 / 2, so the gradient is w - mean(x). One iteration takes
// `seconds_per_step` on the clock. Its buffer counts the passes.
class QuadraticTrainer final : public Trainer {
 public:
  explicit QuadraticTrainer(ManualClock& clock) : clock_(clock) {
    layout_.add("w", {16});
    buffers_.add("passes", {1});
  }

  const TensorLayout& parameters() const override { return layout_; }
  const TensorLayout& buffers() const override { return buffers_; }
  void use_weights(std::span<float> weights) override {
    weights_ = weights;
    holds_vectors = true;
  }
  void release_vectors() override { holds_vectors = false; }
  void use_gradients(std::span<float> gradients) override { gradients_ = gradients; }
  void write_initial_weights() override { std::fill(weights_.begin(), weights_.end(), 1.0F); }
  void read_buffers(std::span<float> destination) const override { destination[0] = passes; }
  void write_buffers(std::span<const float> source) override { passes = source[0]; }

  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override {
    random_keys.push_back(random_key);
    passes += 1.0F;
    TrainingStep step{0.0, 0.001, 0.002};
    std::copy(weights_.begin(), weights_.end(), gradients_.begin());
    for (std::size_t i = 0; i < batch.features.size(); ++i) {
      const float difference = weights_[i % 16] - batch.features[i];
      step.loss_sum += 0.5 * difference * difference;
      gradients_[i % 16] -= batch.features[i] / static_cast<float>(batch.size);
    }
    clock_.seconds = clock_.seconds + seconds_per_step;
    if (!std::isfinite(step.loss_sum))
      throw JobError({.what = "the loss is not a number", .where = {}, .remedy = {}});
    ready(8, 16);
    ready(0, 8);
    return step;
  }
  EvaluationSums evaluate(const Batch& batch) override {
    evaluated_sizes.push_back(batch.size);
    return {.samples = batch.size,
            .predictions = batch.size,
            .correct = batch.size - 1,
            .loss = 2.0 * batch.size,
            .bleu = {}};
  }

  std::optional<DeviceUse> device_use() const override { return use; }

  std::optional<DeviceUse> use;  // as if it computed on a device
  double seconds_per_step = 0.02;
  float passes = 0.0F;
  bool holds_vectors = false;  // of the synchroniser
  std::vector<std::uint64_t> random_keys;
  std::vector<std::uint32_t> evaluated_sizes;

 private:
  ManualClock& clock_;
  TensorLayout layout_, buffers_;
  std::span<float> weights_, gradients_;
};

// A job of one: steps by half of the gradient. From iteration `waits_from` on it waits for peers
// that never come, and gives up where it is interrupted, or at once where a problem is set.
class LocalSynchroniser final : public Synchroniser {
 public:
  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override {
    groups.push_back(group);
    if (before_join) before_join();
    if (group.writes_initial_weights) initial_weights(weights_);
    const std::lock_guard lock(mutex_);
    return !interrupted_ && problem_.empty();
  }
  std::span<float> weights() override { return weights_; }
  std::span<float> gradients() override { return gradients_; }
  void begin(std::uint64_t iteration) override {
    iteration_ = iteration;
    calls.push_back({iteration, 0});
  }
  void gradient_ready(std::uint64_t first, std::uint64_t last) override {
    calls.push_back({first, last});
  }
  std::optional<SyncResult> finish() override {
    if (iteration_ >= waits_from) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return interrupted_ || !problem_.empty(); });
    }
    {
      const std::lock_guard lock(mutex_);
      if (interrupted_ || !problem_.empty()) return std::nullopt;
    }
    SyncResult result{0.003, 0.0, 0.0};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] -= 0.5F * gradients_[i];
      result.local_gradient_sqr_norm += static_cast<double>(gradients_[i]) * gradients_[i];
    }
    result.global_gradient_sqr_norm = 2.0 * result.local_gradient_sqr_norm;
    if (!is_late) return result;
    late_ = result;
    return SyncResult{.is_late = true};
  }
  SyncResult late_result() override {
    SCAVENGER_CHECK(late_.has_value());
    calls.push_back({kLateResult, iteration_});
    return *std::exchange(late_, std::nullopt);
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }
  void allow() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = false;
    problem_.clear();
  }
  std::string problem() const override {
    const std::lock_guard lock(mutex_);
    return interrupted_ ? "" : problem_;
  }
  void break_connection() {
    const std::lock_guard lock(mutex_);
    problem_ = "shard 0 is gone";
    changed_.notify_all();
  }

  static constexpr std::uint64_t kLateResult = UINT64_MAX;  // in `calls`, with the iteration

  bool is_late = false;  // results come after the iteration, as from a device
  std::atomic<std::uint64_t> waits_from = UINT64_MAX;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  std::vector<SyncGroup> groups;  // joined
  std::function<void()> before_join;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
  std::string problem_;
  std::uint64_t iteration_ = 0;
  std::optional<SyncResult> late_;
  std::vector<float> weights_ = std::vector<float>(16), gradients_ = std::vector<float>(16);
};

}  // namespace scavenger
