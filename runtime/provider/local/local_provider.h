// Provides this machine and those of cluster.hosts, which are neither rented nor started or ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"

namespace scavenger {

// Returns an entry for each host, or, without hosts, one for this machine, with room for a worker
// on each of its `cores`.
MachineCatalogue local_catalogue(const ClusterConfig& cluster, std::uint32_t cores);

class LocalProvider final : public Lessor {
 public:
  // `cores`: of this machine; hosts are assumed to have as many.
  LocalProvider(asio::io_context& io, const ClusterConfig& cluster, std::uint32_t cores)
      : Lessor(io), cluster_(cluster), cores_(cores), catalogue_(local_catalogue(cluster, cores)) {}

  std::string name() const override { return "local"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  const ClusterConfig cluster_;
  const std::uint32_t cores_;
  const MachineCatalogue catalogue_;
};

const ProviderFactory& local_provider_factory();

}  // namespace scavenger
