#include "elastic/coordinator/commands/control_socket.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("clients that say nothing do not keep the next one from an answer") {
  const TemporaryFolder folder;
  asio::io_context io;
  const ControlSocket ear(io, folder.path(),
                          [](const JobCommand&) { return nlohmann::json{{"state", "training"}}; });
  std::thread job([&] { io.run(); });

  using Protocol = asio::local::stream_protocol;
  asio::io_context ours;
  std::vector<Protocol::socket> idle;
  for (int i = 0; i < 40; ++i)
    idle.emplace_back(ours).connect(Protocol::endpoint((folder.path() / "control.sock").string()));

  for (int i = 0; i < 3; ++i)
    CHECK(ask_job(folder.path(), {{"command", "status"}}).at("state") == "training");
  io.stop();
  job.join();
}
