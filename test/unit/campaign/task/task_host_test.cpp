#include "campaign/task/task_host.h"

#include <catch2/catch.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/job_listener.h"

namespace scavenger::campaign {
namespace {

// A controller that asks a task to stop before it sends the task's file and its command. Returns
// what it is told until the first heartbeat after it has asked the host to leave, or its end.
struct StoppingController {
  std::vector<std::string> told;

  awaitable<void> serve(std::shared_ptr<FrameConnection> connection) {
    co_await receive_task_arrival(*connection);  // Hello
    const message::Stop stop{7};
    post_message(*connection, stop);
    bool has_sent = false;
    for (;;) {
      const TaskArrival arrival = co_await receive_task_arrival(*connection);
      const auto* message = std::get_if<TaskMessage>(&arrival);
      if (message == nullptr) continue;
      if (std::holds_alternative<message::Began>(*message)) told.push_back("began");
      const auto* ended = std::get_if<message::Ended>(message);
      if (ended == nullptr) continue;
      told.push_back(ended->how);
      if (!has_sent) send_task(*connection);
      has_sent = true;
    }
  }

  static void send_task(FrameConnection& connection) {
    message::PutFile file;
    file.task = 7;
    file.name = "empty.txt";
    file.sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    post_message(connection, file);
    message::Run run;
    run.task = 7;
    run.words = {"/bin/true"};
    post_message(connection, run);
    post_message(connection, message::End{7});
    post_message(connection, message::Leave{});
  }
};

}  // namespace

TEST_CASE("a task that is asked to stop before its first file has come ends at once") {
  asio::io_context io;
  StoppingController controller;
  const JobCredentials job = JobCredentials::generate();
  JobListener listener(io, {"127.0.0.1", 0}, job, kTaskQueueLimitBytes,
                       [&](std::shared_ptr<FrameConnection> connection) {
                         return controller.serve(std::move(connection));
                       });
  LaunchTicket ticket;
  ticket.index = 1;
  ticket.credentials = job;
  ticket.controller = {"127.0.0.1", listener.port()};
  TaskHost host(io, ticket);
  std::exception_ptr failure;
  asio::co_spawn(io, host.run(), [&](std::exception_ptr error) {
    failure = std::move(error);
    io.stop();
  });
  io.run();
  CHECK_FALSE(failure);
  // The second time for the command, which the controller does not wait for any more.
  CHECK(controller.told == std::vector<std::string>{"stopped", "stopped"});
}

}  // namespace scavenger::campaign
