// scavenger-task: runs simulations of a campaign on a machine. scavenger-campaign starts it.
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/command_line/job_process.h"
#include "campaign/task/command_guard.h"
#include "campaign/task/task_host.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

// --guard PARENT FOLDER WORDS...: what it starts itself with.
int guard(int argc, char** argv) {
  const std::vector<std::string> words(argv + 4, argv + argc);
  return campaign::run_guarded(std::stol(argv[2]), argv[3], words);
}

int serve(const LaunchTicket& ticket) {
  asio::io_context io{1};
  campaign::TaskHost host(io, ticket);
  std::exception_ptr failure;
  asio::co_spawn(io, host.run(), [&](std::exception_ptr error) {
    failure = std::move(error);
    io.stop();
  });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return 0;
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  if (argc > 4 && std::string_view(argv[1]) == campaign::kGuardOption) return guard(argc, argv);
  return run_job_process("scavenger-task", argc, argv, serve);
}
