#include "runtime/provider/machine_visit.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger {

ProviderConfig provider_of_job(const std::filesystem::path& run_or_config, ProviderType type,
                               std::string_view place) {
  const JobConfig config = config_of(run_or_config);
  if (config.provider.type != type)
    throw InputError({.what = fmt::format("this job has no machines {}", place),
                      .where = config_file_of(run_or_config),
                      .remedy = fmt::format("name a run folder or a configuration whose provider "
                                            "is of type {}",
                                            name_of(type))});
  return config.provider;
}

std::string deletion_text(const std::string& name, const std::string& problem) {
  return problem.empty() ? fmt::format("deleted {}\n", name)
                         : fmt::format("NOT deleted {}: {}\n", name, problem);
}

bool finish_visit(asio::io_context& io, awaitable<bool> visit) {
  std::exception_ptr failure;
  bool is_done = false;
  asio::co_spawn(io, std::move(visit), [&](std::exception_ptr error, bool result) {
    failure = std::move(error);
    is_done = result;
  });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return is_done;
}

}  // namespace scavenger
