#include "kubernetes/provider/kubernetes_factory.h"

#include <utility>

#include "kubernetes/provider/kubernetes_provider.h"
#include "runtime/base/clock.h"
#include "runtime/provider/launch_words.h"

namespace scavenger::kubernetes {
namespace {

class KubernetesFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    return kubernetes_catalogue(kubernetes_settings(config.provider));
  }

  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost& host) const override {
    static const SteadyClock clock;
    KubernetesSettings settings = kubernetes_settings(config.provider);
    settings.worker = worker_words(config);
    return std::make_unique<KubernetesProvider>(io, std::move(settings), config.name,
                                                host.state_folder, clock);
  }

  void check(const JobConfig& config) const override {
    const SteadyClock clock;
    find_cluster(kubernetes_settings(config.provider).access, clock);
  }
};

}  // namespace

const ProviderFactory& kubernetes_provider_factory() {
  static const KubernetesFactory factory;
  return factory;
}

}  // namespace scavenger::kubernetes
