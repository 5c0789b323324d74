#include "runtime/provider/local/local_provider.h"

#include <algorithm>

#include "runtime/config/placement.h"

namespace scavenger {

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

std::optional<MachinePrice> LocalProvider::price(const std::string&, bool) const {
  MachinePrice price;
  price.per_hour = cluster_.price_per_worker_hour;
  return price;
}

}  // namespace scavenger
