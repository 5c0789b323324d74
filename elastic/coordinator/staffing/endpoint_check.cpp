#include "elastic/coordinator/staffing/endpoint_check.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/config/placement.h"
#include "runtime/net/authentication.h"
#include "runtime/net/job_listener.h"

namespace scavenger::elastic {

void check_endpoints_are_free(const JobConfig& config) {
  asio::io_context io;
  const std::string& address = config.cluster.listen_address;
  try {
    listen_on(io, {address, 0});
  } catch (const SystemError& error) {
    throw InputError({.what = error.problem().what,
                      .where = "cluster.listen_address: " + address,
                      .remedy = "set it to an address of this machine"});
  }
  try {
    listen_on(io, {address, config.cluster.port});
  } catch (const SystemError& error) {
    throw InputError({.what = error.problem().what,
                      .where = fmt::format("cluster.port: {}", config.cluster.port),
                      .remedy = error.problem().remedy});
  }
  for (std::uint32_t shard = 0; config.ps.port != 0 && shard < shard_count(config); ++shard) {
    if (host_of_shard(config, shard) != nullptr) continue;
    const std::uint32_t port = config.ps.port + shard;
    try {
      if (port > 65535)
        throw SystemError(
            {.what = "there is no such port", .where = {}, .remedy = "use a lower ps.port"});
      listen_on(io, {address, static_cast<std::uint16_t>(port)});
    } catch (const SystemError& error) {
      throw InputError({.what = error.problem().what,
                        .where = fmt::format("ps.port: port {} of shard {}", port, shard),
                        .remedy = error.problem().remedy});
    }
  }
}

}  // namespace scavenger::elastic
