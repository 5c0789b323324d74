// How much memory the passes of a ModelTrainer take, and how many samples have room in one.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/imported/memory_limit.h"
#include "runtime/torch/trainer/memory_meter.h"
#include "runtime/torch/trainer/model_trainer.h"

namespace scavenger {
namespace {

constexpr std::uint32_t kTrialSamples = 2;  // batch normalisation needs more than one
// The fraction of the available memory that samples may use, since other data also grows.
constexpr double kUsableMemory = 0.75;
// The same on a device, which nobody else uses.
constexpr double kUsableDeviceMemory = 0.9;

}  // namespace

SampleMemory sample_memory_on_device(const DeviceMemory& before, const DeviceMemory& after,
                                     std::uint64_t samples) {
  SampleMemory memory;
  if (samples == 0 || after.most_used <= before.used) return memory;
  memory.bytes_per_sample = (after.most_used - before.used + samples - 1) / samples;
  const double bytes =
      kUsableDeviceMemory * static_cast<double>(before.free + before.reserved - before.used);
  memory.room_samples = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(bytes / static_cast<double>(memory.bytes_per_sample)));
  return memory;
}

std::optional<DeviceUse> ModelTrainer::device_use() const {
  const at::Device device = options_.placement.device;
  const auto memory = memory_of(device);
  if (!memory) return std::nullopt;
  return DeviceUse{"GPU " + std::to_string(device.index()), memory->most_used,
                   memory->most_reserved, memory->total, graphed_ ? graphed_->captures() : 0};
}

// Measures the growth from a small pass to one of twice as many samples, since gradients and the
// layers' own memory are the same in both.
void ModelTrainer::measure_samples(const Batch& batch) {
  if (batch.size < 2 * kTrialSamples) return;
  try {
    const std::int64_t few = most_bytes_of_pass(batch, kTrialSamples);
    const std::int64_t more = most_bytes_of_pass(batch, 2 * kTrialSamples);
    memory_.bytes_per_sample =
        static_cast<std::uint64_t>(std::max<std::int64_t>(more - few, 0)) / kTrialSamples;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
  }
}

std::int64_t ModelTrainer::most_bytes_of_pass(const Batch& batch, std::uint32_t samples) {
  const ReducedPrecision reduced(options_.compute.precision, at::kCPU);
  const GradientReady nobody;
  collector_.begin(nobody);
  collector_.begin_pass(/*is_last=*/true);
  const MemoryMeter meter;
  const BatchTensors tensors = tensors_for(batch, 0, samples);
  use_keys(batch, 0, samples);
  loss_of(tensors, samples, batch.size, batch.loss_terms).backward();
  collector_.finish();
  return meter.most_bytes();
}

// Linux lets a process allocate more memory than there is, and kills it when it uses that. A pass
// therefore has at most as many samples as fit into this process's share of the memory, which is
// its share of the cores.
void ModelTrainer::leave_room(std::uint32_t batch_size) {
  largest_batch_ = batch_size;
  if (memory_.bytes_per_sample == 0) return;
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  const double share = std::min(1.0, at::get_num_threads() / cores) * kUsableMemory;
  const double room = share * static_cast<double>(options_.available_bytes()) /
                      static_cast<double>(memory_.bytes_per_sample);
  memory_.room_samples = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(room));
  const std::uint32_t before = micro_batch_ == 0 ? batch_size : micro_batch_;
  if (room < before) micro_batch_ = std::max(1u, static_cast<std::uint32_t>(room));
}

void ModelTrainer::halve_micro_batch(std::uint32_t batch_size) {
  const std::uint32_t before = micro_batch_ == 0 ? batch_size : std::min(micro_batch_, batch_size);
  if (before == 1)
    throw JobError({.what = "memory does not suffice for one sample",
                    .where = {},
                    .remedy = "use a smaller model, or a machine with more memory"});
  micro_batch_ = before / 2;
  if (graphed_) graphed_->forget();  // they take memory, too
  options_.tell("no memory for a pass of " + std::to_string(before) +
                " samples: from now on a pass has at most " + std::to_string(micro_batch_));
}

}  // namespace scavenger
