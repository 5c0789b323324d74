#include "ps/process/shard_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <variant>

#include "ps/shm/segment_keeper.h"
#include "ps/tcp/shard_server.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/overloaded.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/net/spawn.h"
#include "runtime/process/child_process.h"
#include "runtime/protocol/control_channel.h"

namespace scavenger::ps {
namespace {

constexpr double kConnectSeconds = 20.0;

std::unique_ptr<ShardService> make_service(asio::io_context& io, const LaunchTicket& ticket,
                                           const JobConfig& config) {
  if (ticket.has_shared_file)
    return std::make_unique<SegmentKeeper>(io, FileDescriptor(kInheritedFile), config.optimizer,
                                           config.ps.chunk_bytes);
  return std::make_unique<ShardServer>(io, Endpoint{ticket.listen_host, ticket.listen_port},
                                       ticket.credentials, config.optimizer, config.ps.chunk_bytes,
                                       WireFormat(config.sync.wire_precision));
}

// Thread: the io_context's, which is the process's main thread.
class ShardProcess final {
 public:
  ShardProcess(asio::io_context& io, const LaunchTicket& ticket)
      : io_(io),
        ticket_(ticket),
        config_(parse_resolved_config(ticket.config, "launch ticket")),
        service_(make_service(io, ticket, config_)),
        heartbeat_(io) {}

  awaitable<void> run() {
    JobSocket socket =
        co_await connect_authenticated(ticket_.controller, ticket_.credentials, kConnectSeconds);
    control_ = std::make_shared<FrameConnection>(std::move(socket), kControlQueueLimitBytes);
    Joined joined;
    joined.role = Role::kShard;
    joined.index = ticket_.index;
    joined.pid = ::getpid();
    joined.version_line = version_line("scavenger");
    joined.port = service_->port();
    post_message(*control_, joined);
    beat();
    log_info("joined the job, {}",
             ticket_.has_shared_file
                 ? "keeping the memory that its workers share"
                 : fmt::format("serving at {}:{}", ticket_.listen_host, service_->port()));
    while (!stopped_) {
      ControlArrival arrival =
          co_await receive_arrival(*control_, static_cast<std::uint32_t>(config_.ps.chunk_bytes));
      if (const auto* header = std::get_if<FrameHeader>(&arrival)) {
        service_->state_payload().resize(header->payload_bytes);
        co_await control_->receive_payload(service_->state_payload());
        if (service_->load_state(*header)) say_ready();
      } else {
        obey(std::get<ControlMessage>(arrival));
      }
    }
  }

  void report_failure(const Error& error) {
    if (!control_) return;
    const bool by_peer = dynamic_cast<const ConnectionError*>(&error) != nullptr;
    const bool bad_input = dynamic_cast<const InputError*>(&error) != nullptr;
    const Failed failed{Role::kShard, ticket_.index, error.what(), by_peer, bad_input, {}};
    post_message(*control_, failed);
    control_->close_when_written();
  }

 private:
  void on_configure_shard(const ConfigureShard& message) {
    service_->configure(message);
    log_info("shard {} of {}: {} parameters in all, {} workers", message.index, message.shards,
             message.flat_size, message.membership.workers());
    membership_epoch_ = message.membership.epoch;
    if (!message.has_state) say_ready();
  }

  void on_snapshot(const Snapshot& message) {
    service_->begin_snapshot(message.iteration);
    post_message(*control_, SnapshotTaken{message.iteration, service_->progress().optimizer_steps});
    spawn(io_, unless_disconnected(service_->send_snapshot(control_)));
  }

  void on_halt(const Halt&) { post_message(*control_, service_->halt()); }

  void on_stop(const Stop&) { stopped_ = true; }

  void obey(const ControlMessage& command) {
    const Overloaded handlers{
        [this](const ConfigureShard& message) { on_configure_shard(message); },
        [this](const Snapshot& message) { on_snapshot(message); },
        [this](const Halt& message) { on_halt(message); },
        [this](const Stop& message) { on_stop(message); },
        [](const auto&) {
          throw ProtocolError({.what = "the controller sent a message that is not for shards",
                               .where = {},
                               .remedy = {}});
        },
    };
    std::visit(handlers, command);
  }

  void say_ready() { post_message(*control_, Ready{membership_epoch_}); }

  void beat() {
    post_message(*control_, Heartbeat{});
    heartbeat_.expires_after(std::chrono::milliseconds(static_cast<int>(kHeartbeatSeconds * 1000)));
    heartbeat_.async_wait([this](const boost::system::error_code& error) {
      if (!error) beat();
    });
  }

  asio::io_context& io_;
  const LaunchTicket& ticket_;
  const JobConfig config_;
  const std::unique_ptr<ShardService> service_;
  std::shared_ptr<FrameConnection> control_;
  asio::steady_timer heartbeat_;
  std::uint32_t membership_epoch_ = 0;
  bool stopped_ = false;
};

}  // namespace

int run_shard_process(const LaunchTicket& ticket) {
  asio::io_context io(1);
  ShardProcess process(io, ticket);
  int exit_code = 1;
  asio::co_spawn(io, process.run(), [&](const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      log_info("ended by the controller");
      exit_code = 0;
    } catch (const Error& error) {
      log_error("{}", error.what());
      process.report_failure(error);
    }
    io.stop();
  });
  io.run();
  if (exit_code != 0) {
    io.restart();
    io.run_for(std::chrono::milliseconds(200));  // time to send the last message
  }
  return exit_code;
}

}  // namespace scavenger::ps
