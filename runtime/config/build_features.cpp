#include "runtime/config/build_features.h"

#include "runtime/base/error.h"
#include "runtime/config/placement.h"

namespace scavenger {
namespace {

constexpr const char* kCudaRemedy =
    "install NVIDIA's driver and the CUDA toolkit (nvcc), delete .venv/ and build/, and run make; "
    "or point Torch_DIR to a LibTorch for CUDA before a new build";

bool uses_nccl(const JobConfig& config) {
  return config.sync.strategy == SyncStrategy::kNccl ||
         config.sync.hierarchy == SyncHierarchy::kNccl;
}

void require(bool there, const char* what, const char* where, const char* remedy) {
  if (!there) throw ConfigError({.what = what, .where = where, .remedy = remedy});
}

}  // namespace

BuildFeatures build_features() {
  return {SCAVENGER_HAS_GLOO != 0, SCAVENGER_HAS_NCCL != 0, SCAVENGER_HAS_CUDA != 0};
}

void require_features(const JobConfig& config, const BuildFeatures& features) {
  const bool is_hierarchy = adds_up_by_collective(config);
  const char* const where = is_hierarchy ? "sync.hierarchy" : "sync.strategy";
  if (config.sync.strategy == SyncStrategy::kGloo || config.sync.hierarchy == SyncHierarchy::kGloo)
    require(features.gloo,
            "this build has no Gloo: it was made without LibTorch, or with one "
            "that was built without it",
            where,
            "build with the LibTorch that scripts/setup.sh installs, or use parameter_server");
  if (uses_nccl(config))
    require(features.nccl,
            "this build has no NCCL: its LibTorch is one for CPUs, or headers of NCCL were missing",
            where, kCudaRemedy);
  // A model in Python computes with the PyTorch of its own interpreter.
  if (config.device == Device::kCuda && config.model.type != ModelType::kPython)
    require(features.cuda, "this build has no CUDA: its LibTorch is one for CPUs", "device",
            kCudaRemedy);
}

bool needs_gpus(const JobConfig& config) {
  return config.device == Device::kCuda || uses_nccl(config);
}

void require_gpus(const JobConfig& config, std::uint32_t gpus) {
  const bool is_nccl = uses_nccl(config);
  const char* const where = adds_up_by_collective(config) ? "sync.hierarchy" : "sync.strategy";
  if (needs_gpus(config))
    require(gpus > 0, "this machine has no GPU that CUDA can use", is_nccl ? where : "device",
            is_nccl ? "use gloo or parameter_server, or install NVIDIA's driver"
                    : "set device to auto or cpu, or install NVIDIA's driver");
  // NCCL does not allow two ranks on one GPU.
  if (is_nccl)
    require(gpus >= config.cluster.workers, "nccl needs a GPU for each worker of a machine",
            "cluster.workers", "use fewer workers, or parameter_server, whose workers share GPUs");
}

}  // namespace scavenger
