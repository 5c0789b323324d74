#include "runtime/torch/c10d/c10d_backend.h"

#ifdef USE_C10D_GLOO

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

namespace scavenger {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> connect_gloo(const C10dPlace& place, const C10dOptions& options) {
  auto settings = c10d::ProcessGroupGloo::Options::create(milliseconds(options.connect_seconds));
  settings->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(options.address)};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(place.store, place.rank, place.size,
                                                           std::move(settings));
  group->setTimeout(milliseconds(options.operation_seconds));
  return group;
}

}  // namespace scavenger

#else

#include "runtime/base/error.h"

namespace scavenger {

c10::intrusive_ptr<c10d::Backend> connect_gloo(const C10dPlace&, const C10dOptions&) {
  throw InputError({.what = "this build has no Gloo",
                    .where = "sync.strategy",
                    .remedy = "build with the LibTorch that scripts/setup.sh installs"});
}

}  // namespace scavenger

#endif
