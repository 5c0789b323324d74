#include "runtime/provider/local/local_provider.h"

#include <algorithm>

#include "runtime/config/placement.h"

namespace scavenger {

MachineCatalogue local_catalogue(const ClusterConfig& cluster, std::uint32_t cores) {
  const MachinePrice price{.per_hour = cluster.price_per_worker_hour, .source = {}};
  MachineCatalogue catalogue;
  for (const HostConfig& host : cluster.hosts)
    catalogue.entries.push_back({.type = {},
                                 .zone = {},
                                 .cores = static_cast<double>(cores),
                                 .on_demand = price,
                                 .count = host.workers});
  if (catalogue.entries.empty())
    catalogue.entries.push_back(
        {.type = {}, .cores = static_cast<double>(cores), .on_demand = price, .count = cores});
  return catalogue;
}

awaitable<void> LocalProvider::open() {
  co_return;
}

awaitable<Machine> LocalProvider::obtain(MachineId, const MachineRequest& request) {
  Machine machine;
  machine.name = "here";
  machine.cores = cores_;
  machine.price = *price({}, false);
  machine.address = address_of_worker(cluster_, request.worker);
  if (const HostConfig* const host = host_of_worker(cluster_, request.worker)) {
    machine.name = host->name;
    machine.launch = host->launch;
  }
  co_return machine;
}

awaitable<void> LocalProvider::give_back(MachineId) {
  co_return;
}

awaitable<std::vector<std::string>> LocalProvider::close() {
  co_return std::vector<std::string>();
}

namespace {

class LocalFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t cores) const override {
    return local_catalogue(config.cluster, cores);
  }
  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost& host) const override {
    return std::make_unique<LocalProvider>(io, config.cluster, host.cores);
  }
};

}  // namespace

const ProviderFactory& local_provider_factory() {
  static const LocalFactory factory;
  return factory;
}

}  // namespace scavenger
