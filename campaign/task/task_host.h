// scavenger-task: runs the simulations of a campaign on one machine, each in a folder of its own,
// as the controller says, and brings home what they leave.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "campaign/task/hosted_files.h"
#include "campaign/task/task_channel.h"
#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"
#include "runtime/process/launch_ticket.h"

namespace scavenger::campaign {

// Thread: the io_context's, which is one. Requires that this program understands kGuardOption
// (command_guard.h).
class TaskHost final {
 public:
  TaskHost(asio::io_context& io, const LaunchTicket& ticket);
  ~TaskHost();

  // Connects and serves until the controller lets it go, or is gone. All commands are then killed.
  // Throws ConnectionError if it is gone, SystemError.
  awaitable<void> run();

 private:
  struct Hosted {
    explicit Hosted(asio::io_context& io) : timer(io) {}
    TaskId id = 0;
    std::filesystem::path folder;
    std::filesystem::path log;
    std::unique_ptr<ArrivingFile> arriving;
    message::Run command;
    std::unique_ptr<ChildProcess> child;
    bool is_stopping = false;  // was asked to stop: no command is started any more
    bool is_over = false;      // ended by the controller
    asio::steady_timer timer;  // looks for checkpoints that the command takes by itself
  };
  using HostedPointer = std::shared_ptr<Hosted>;

  awaitable<void> connect();
  void beat();
  void announce_departure();
  void obey(const TaskMessage& message);
  HostedPointer task_of(TaskId id);
  void begin_file(const message::PutFile& file);
  void take_piece(const Piece& piece);
  void finish_file(Hosted& task);
  void start(const message::Run& run);
  void stop(TaskId id);
  void end(TaskId id);
  void on_exit(const HostedPointer& task, const ExitStatus& status);
  void tell_end(const Hosted& task, const std::string& how, const std::string& reason);
  void deliver_segment(const Hosted& task);
  void watch_checkpoints(const HostedPointer& task);
  void deliver_checkpoint(const HostedPointer& task);

  asio::io_context& io_;
  const LaunchTicket ticket_;
  WorkFolder folder_;
  std::shared_ptr<FrameConnection> connection_;
  std::shared_ptr<DeliveryQueue> deliveries_;
  std::map<TaskId, HostedPointer> tasks_;
  asio::steady_timer heartbeat_;
  asio::signal_set departure_;
  bool is_leaving_ = false;
};

}  // namespace scavenger::campaign
