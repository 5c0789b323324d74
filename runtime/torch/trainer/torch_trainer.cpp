#include "runtime/torch/trainer/torch_trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/imported/frozen_parameters.h"
#include "runtime/torch/imported/start_weights.h"
#include "runtime/torch/models/model_registry.h"
#include "runtime/torch/trainer/device.h"
#include "runtime/torch/trainer/model_trainer.h"
#include "runtime/training/in_parallel.h"

namespace scavenger {
namespace {

// Denormal numbers make arithmetic up to a hundred times slower, and appear when gradients vanish.
// The switch is a register of each thread.
void flush_denormals() {
  on_torch_threads([] { at::globalContext().setFlushDenormal(true); });
}

}  // namespace

void use_torch_threads(std::uint32_t threads) {
  SCAVENGER_CHECK(threads > 0);
  if (at::get_num_threads() == static_cast<int>(threads)) return;
  at::set_num_threads(static_cast<int>(threads));
  flush_denormals();
}

// at::parallel_for() would run on this thread alone, as this file is compiled without OpenMP.
void on_torch_threads(const std::function<void()>& work) {
  static const auto parallel =
      reinterpret_cast<ParallelCall>(::dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  if (parallel == nullptr) return work();
  call_in_parallel(parallel, static_cast<std::uint32_t>(at::get_num_threads()), work);
}

DevicePlace choose_device(Device wanted, std::uint32_t index) {
  const std::size_t gpus = wanted != Device::kCpu && at::hasCUDA() ? at::getNumGPUs() : 0;
  if (gpus > 0) return {true, static_cast<int>(index % gpus)};
  if (wanted == Device::kCuda)
    throw ConfigError({.what = "this machine has no GPU that CUDA can use",
                       .where = "device",
                       .remedy = "set device to auto or cpu, or install NVIDIA's driver"});
  return {};
}

std::string products_text(Precision precision, const DevicePlace& place) {
  switch (precision) {
    case Precision::kFloat32:
      break;
    case Precision::kTf32:
      return place.is_gpu ? "tf32" : "float32";
    case Precision::kBfloat16:
      return "bfloat16";
    case Precision::kFloat16:
      return "float16";
  }
  return "float32";
}

std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options) {
  keep_freed_memory();
  use_torch_threads(options.threads);
  flush_denormals();
  if (options.place.is_gpu) use_gpu_kernels(options.compute);
  at::manual_seed(options.seed);  // a user's model may have random initial values of its own
  auto model = make_model(options.model, options.data, options.loss);
  const StartConfig& start = options.model.start;
  if (!start.weights.empty()) start_from(start.weights, start.except, *model);
  freeze_parameters(options.model.freeze, options.seed, *model);
  const bool is_mirrored = options.place.is_gpu && options.vectors == VectorHome::kHost;
  const auto transport = options.transport == WirePrecision::kBfloat16
                             ? DeviceMirror::Transport::kBfloat16
                             : DeviceMirror::Transport::kFloat32;
  auto trainer = std::make_unique<ModelTrainer>(
      std::move(model),
      TrainerOptions{.data = options.data,
                     .loss = options.loss,
                     .seed = options.seed,
                     .beam_width = options.beam_width,
                     .compute = options.compute,
                     .placement = {device_of(options.place), is_mirrored, transport},
                     .say = options.say,
                     .tell = options.tell});
  if (options.place.is_gpu) trainer->warm_up();
  return trainer;
}

}  // namespace scavenger
