#include "elastic/providers/job_provider.h"

#include <exception>
#include <utility>

#include "cloud_gcp/provider/gcp_factory.h"
#include "kubernetes/provider/kubernetes_factory.h"
#include "runtime/base/check.h"
#include "runtime/provider/emulated/emulated_provider.h"
#include "runtime/provider/local/local_provider.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/ssh/ssh_provider.h"

namespace scavenger::elastic {

// Without a default, so that the compiler names what is missing here.
const ProviderFactory& provider_factory(ProviderType type) {
  switch (type) {
    case ProviderType::kLocal:
      return local_provider_factory();
    case ProviderType::kEmulated:
      return emulated_provider_factory();
    case ProviderType::kSsh:
      return ssh_provider_factory();
    case ProviderType::kSlurm:
      return slurm_provider_factory();
    case ProviderType::kGcp:
      return gcp::gcp_provider_factory();
    case ProviderType::kKubernetes:
      return kubernetes::kubernetes_provider_factory();
  }
  check_failed("a provider type of the enumeration", __FILE__, __LINE__);
}

std::vector<std::string> clean_after_killed_jobs() {
  std::vector<std::string> removed;
  std::exception_ptr failure;
  for (const ProviderType type : kProviderTypes) {
    asio::io_context io;
    asio::co_spawn(io, provider_factory(type).clean(),
                   [&](std::exception_ptr error, const std::vector<std::string>& found) {
                     if (error) failure = std::move(error);
                     removed.insert(removed.end(), found.begin(), found.end());
                   });
    io.run();
  }
  if (failure) std::rethrow_exception(failure);
  return removed;
}

}  // namespace scavenger::elastic
