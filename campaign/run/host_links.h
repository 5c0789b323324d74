// The processes scavenger-task on the campaign's machines: starts them, talks to them, notices when
// one is gone or silent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "campaign/task/task_channel.h"
#include "runtime/base/clock.h"
#include "runtime/net/job_listener.h"
#include "runtime/process/child_process.h"
#include "runtime/process/launch_ticket.h"
#include "runtime/provider/machine.h"

namespace scavenger::campaign {

// Thread: the io_context's.
class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void on_host_joined(MachineId machine) = 0;
  // It is gone, once for each start; no news of it follows.
  virtual void on_host_lost(MachineId machine, const std::string& how) = 0;
  virtual void on_host_leaving(MachineId machine) = 0;
  virtual void on_task_message(MachineId machine, const TaskMessage& message) = 0;
  virtual void on_piece(MachineId machine, const Piece& piece) = 0;
};

// Thread: the io_context's. The destructor kills what still runs.
class HostLinks final {
 public:
  struct Settings {
    std::filesystem::path program_folder;  // of scavenger-task on this machine
    std::filesystem::path log_folder;
    Endpoint endpoint;  // where it listens; port 0: any
    double start_seconds = 60.0;
    double silence_seconds = 30.0;
  };

  // Throws SystemError if it cannot listen. The references must outlive it.
  HostLinks(asio::io_context& io, const Clock& clock, HostListener& listener, Settings settings);
  ~HostLinks();

  // A machine was asked for. Returns the ticket for one that starts its process by itself, which
  // may connect from now on.
  std::string expect(MachineId machine);
  // Starts scavenger-task there, unless the machine does. Throws SystemError.
  void start(MachineId machine, const Machine& where);
  // Asks it to end, and kills it if it does not. No news follows.
  void end(MachineId machine);
  void kill_all();
  // No effect if it has not joined.
  void send(MachineId machine, const TaskMessage& message);
  void send_files(MachineId machine, TaskId task, std::vector<TaskFile> files, TaskMessage after);
  void drop_files(MachineId machine, TaskId task);
  // Gives up those that are late or silent. Call about once a second.
  void check_signs_of_life();
  bool any_running() const;

 private:
  struct Host {
    explicit Host(asio::io_context& io) : kill_timer(io) {}
    MachineId machine = 0;
    std::unique_ptr<ChildProcess> child;  // null: the machine has started it by itself
    std::shared_ptr<FrameConnection> connection;
    std::shared_ptr<DeliveryQueue> deliveries;
    std::optional<double> start_seconds;  // when it should have been started
    double sign_seconds = 0.0;
    bool is_told = false;  // that it is lost, or it was ended
    asio::steady_timer kill_timer;
  };
  using HostPointer = std::shared_ptr<Host>;

  LaunchTicket ticket_for(MachineId machine) const;
  std::filesystem::path log_of(MachineId machine) const;
  awaitable<void> serve(std::shared_ptr<FrameConnection> connection);
  HostPointer admit(const message::Hello& hello,
                    const std::shared_ptr<FrameConnection>& connection);
  awaitable<void> serve_host(HostPointer host);
  void lose(const HostPointer& host, const std::string& how);

  asio::io_context& io_;
  const Clock& clock_;
  HostListener& listener_;
  const Settings settings_;
  const JobCredentials credentials_;
  JobListener control_;
  std::map<MachineId, HostPointer> hosts_;
  double checked_seconds_ = 0.0;
};

}  // namespace scavenger::campaign
