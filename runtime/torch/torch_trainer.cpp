#include "runtime/torch/torch_trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/torch/device.h"
#include "runtime/torch/model_registry.h"
#include "runtime/torch/model_trainer.h"

namespace scavenger {
namespace {

// Denormal numbers make arithmetic up to a hundred times slower, and appear as gradients vanish.
// The switch is a register of each core's thread, hence the loop over all of them.
void prepare_compute_threads(std::uint32_t threads) {
  SCAVENGER_CHECK(threads > 0);
  at::set_num_threads(static_cast<int>(threads));
  at::parallel_for(0, threads, 1,
                   [](std::int64_t, std::int64_t) { at::globalContext().setFlushDenormal(true); });
}

}  // namespace

std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options) {
  prepare_compute_threads(options.threads);
  return std::make_unique<ModelTrainer>(
      make_model(options.model, options.sample_shape, options.classes), options.sample_shape,
      options.seed,
      ModelPlacement{device_of(options.place),
                     options.place.is_gpu && options.vectors == VectorHome::kHost});
}

DevicePlace choose_device(Device wanted, std::uint32_t place_on_host) {
  const std::uint32_t gpus =
      wanted != Device::kCpu && at::hasCUDA() ? static_cast<std::uint32_t>(at::getNumGPUs()) : 0;
  if (gpus > 0) return {true, static_cast<int>(place_on_host % gpus)};
  if (wanted == Device::kCuda)
    throw InputError({.what = "this machine has no GPU that CUDA can use",
                      .where = "device",
                      .remedy = "set device to auto or cpu, or install NVIDIA's driver"});
  return {};
}

}  // namespace scavenger
