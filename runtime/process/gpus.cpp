#include "runtime/process/gpus.h"

#include <dlfcn.h>

namespace scavenger {

// Loads the driver's own library, as every CUDA program does. It stays loaded, since it has
// threads.
std::uint32_t count_gpus() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  const bool answers = initialise != nullptr && count != nullptr && initialise(0) == 0;
  return answers && count(&gpus) == 0 && gpus > 0 ? static_cast<std::uint32_t>(gpus) : 0;
}

}  // namespace scavenger
