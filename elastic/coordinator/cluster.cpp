#include "elastic/coordinator/cluster.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kLogTailBytes = 2000;
// When a process dies, others notice by their connections: wait for all the news before saying who
// was the cause.
constexpr auto kLossNewsDelay = std::chrono::milliseconds(300);

void check_build(const Joined& message) {
  if (message.version_line == version_line("scavenger")) return;
  throw ProtocolError({.what = fmt::format("it is {}, and this is {}", message.version_line,
                                           version_line("scavenger")),
                       .where = "another build",
                       .remedy = "install one build everywhere"});
}

}  // namespace

void check_ports_are_free(const PsConfig& config, std::uint32_t shards) {
  if (config.port == 0) return;
  asio::io_context io;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const std::uint32_t port = config.port + shard;
    try {
      if (port > 65535)
        throw SystemError(
            {.what = "there is no such port", .where = {}, .remedy = "use a lower ps.port"});
      listen_on(io, {"127.0.0.1", static_cast<std::uint16_t>(port)});
    } catch (const SystemError& error) {
      throw InputError({.what = error.problem().what,
                        .where = fmt::format("ps.port: port {} of shard {}", port, shard),
                        .remedy = error.problem().remedy});
    }
  }
}

Cluster::Cluster(asio::io_context& io, const Clock& clock, ClusterListener& listener,
                 JobCredentials credentials, Settings settings)
    : io_(io),
      clock_(clock),
      listener_(listener),
      credentials_(credentials),
      settings_(std::move(settings)),
      control_(io, {"127.0.0.1", 0}, credentials_, kControlQueueLimitBytes,
               [this](std::shared_ptr<FrameConnection> connection) {
                 return serve(std::move(connection));
               }),
      loss_timer_(io),
      kill_timer_(io) {}

Cluster::~Cluster() = default;

// ---- Starting. ----

std::filesystem::path Cluster::log_of(const ProcessName& process) const {
  return settings_.log_folder /
         fmt::format("{}_{}.log", scavenger::name_of(process.role), process.index);
}

std::int64_t Cluster::start(const ProcessName& process, std::uint32_t threads,
                            std::uint16_t listen_port, const std::string& config) {
  LaunchTicket ticket;
  ticket.role = process.role;
  ticket.index = process.index;
  ticket.credentials = credentials_;
  ticket.controller = {"127.0.0.1", control_.port()};
  ticket.parent_pid = ::getpid();
  ticket.threads = threads;
  ticket.listen_port = listen_port;
  ticket.has_shared_file = settings_.shared_file >= 0;
  ticket.config = config;
  ChildProcess::Command command;
  command.program = settings_.program_folder /
                    (process.role == Role::kWorker ? "scavenger-worker" : "scavenger-ps");
  command.standard_input = encode(ticket);
  command.log = log_of(process);
  command.inherited_file = settings_.shared_file;

  Member& member = members_[process];
  member.child = std::make_unique<ChildProcess>(
      io_, command, [this, process](const ExitStatus& status) { on_exit(process, status); });
  member.start_seconds = clock_.now_seconds();
  return member.child->pid();
}

// ---- Talking. ----

awaitable<void> Cluster::serve(std::shared_ptr<FrameConnection> connection) {
  std::optional<ProcessName> process;
  try {
    ControlMessage first = co_await receive_message(*connection);
    while (
        std::holds_alternative<Heartbeat>(first))  // it is still reading data or building its model
      first = co_await receive_message(*connection);
    const auto* joined = std::get_if<Joined>(&first);
    if (joined == nullptr)
      throw ProtocolError({.what = "a process did not say who it is", .where = {}, .remedy = {}});
    admit(*joined, connection);
    process = ProcessName{joined->role, joined->index};
    check_build(*joined);
    listener_.on_joined(*process, *joined);
    co_await serve_member(connection, *process);
  } catch (const Error& failure) {
    connection->close();
    if (ending_) co_return;
    if (!process) throw;
    log_warning("the connection to {} was ended: {}", process->text(), failure.what());
    members_.at(*process).refused = dynamic_cast<const ProtocolError*>(&failure) != nullptr;
    // Its exit tells more than this, if it comes; a process that lives on without us is lost all
    // the same.
    lose(*process, fmt::format("lost its connection to the controller: {}", failure.what()));
  }
}

void Cluster::admit(const Joined& message, const std::shared_ptr<FrameConnection>& connection) {
  const ProcessName process{message.role, message.index};
  const auto member = members_.find(process);
  if (member == members_.end() || member->second.connection)
    throw ProtocolError({.what = process.text() + " is not expected", .where = {}, .remedy = {}});
  member->second.connection = connection;
  member->second.last_sign_seconds = clock_.now_seconds();
}

awaitable<void> Cluster::serve_member(std::shared_ptr<FrameConnection> connection,
                                      ProcessName process) {
  Member& member = members_.at(process);
  for (;;) {
    const ControlArrival arrival =
        co_await receive_arrival(*connection, settings_.state_payload_limit_bytes);
    member.last_sign_seconds = clock_.now_seconds();
    if (const auto* header = std::get_if<FrameHeader>(&arrival)) {
      co_await connection->receive_payload(listener_.state_destination(process, *header));
      listener_.on_state(process, *header);
      continue;
    }
    const ControlMessage& message = std::get<ControlMessage>(arrival);
    if (const auto* failed = std::get_if<Failed>(&message)) {
      member.failure = failed->reason;
      member.failed_by_peer = failed->by_peer;
    } else if (!std::holds_alternative<Heartbeat>(message)) {
      listener_.on_message(process, message);
    }
  }
}

void Cluster::send(const ProcessName& process, const ControlMessage& message) {
  post_message(connection(process), message);
}

FrameConnection& Cluster::connection(const ProcessName& process) {
  return *members_.at(process).connection;
}

std::shared_ptr<FrameConnection> Cluster::shared_connection(const ProcessName& process) {
  return members_.at(process).connection;
}

double Cluster::seconds_since_start(const ProcessName& process) const {
  return clock_.now_seconds() - members_.at(process).start_seconds;
}

// ---- Losing. ----

void Cluster::on_exit(const ProcessName& process, const ExitStatus& status) {
  if (ending_) {
    if (!any_running()) {
      kill_timer_.cancel();
      listener_.on_all_ended();
    }
    return;
  }
  Member& member = members_.at(process);
  if (!member.refused)
    member.how_lost.clear();  // how it ended says more than that its connection did
  lose(process, status.signal != 0 ? "was " + status.text() : "ended with " + status.text());
}

void Cluster::lose(const ProcessName& process, std::string how) {
  Member& member = members_.at(process);
  if (!member.how_lost.empty()) return;
  member.how_lost = std::move(how);
  if (first_lost_) return;
  first_lost_ = process;
  loss_timer_.expires_after(kLossNewsDelay);
  loss_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !ending_) announce_loss();
  });
}

void Cluster::announce_loss() {
  // The cause is who ended by itself, not who ended because a peer was gone.
  ProcessName cause = *first_lost_;
  for (const auto& [process, member] : members_) {
    if (member.how_lost.empty() || member.failed_by_peer || member.child->running()) continue;
    cause = process;
    break;
  }
  const Member& member = members_.at(cause);
  std::string how = member.how_lost;
  if (!member.failure.empty()) how = "failed: " + member.failure;
  listener_.on_lost(cause, member.child->pid(), how, log_tail(log_of(cause), kLogTailBytes));
}

void Cluster::check_signs_of_life() {
  if (ending_) return;
  for (auto& [process, member] : members_) {
    if (!member.connection || !member.how_lost.empty()) continue;
    const double silent_seconds = clock_.now_seconds() - member.last_sign_seconds;
    if (silent_seconds < settings_.limits.heartbeat_seconds) continue;
    lose(process,
         fmt::format(
             "gave no sign of life for {} (limits.heartbeat_seconds): it hangs or is stopped",
             format_duration(silent_seconds)));
  }
}

// ---- Ending. ----

bool Cluster::any_running() const {
  for (const auto& [process, member] : members_)
    if (member.child->running()) return true;
  return false;
}

void Cluster::end_all() {
  ending_ = true;
  for (auto& [process, member] : members_) {
    if (member.connection && member.connection->is_open())
      post_message(*member.connection, Stop{});
    else
      member.child->signal(SIGKILL);
  }
  kill_timer_.expires_after(
      std::chrono::milliseconds(static_cast<long>(settings_.limits.stop_seconds * 1000)));
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    log_warning("some processes did not end when asked to, and are killed");
    kill_all();
  });
  if (!any_running()) asio::post(io_, [this] { listener_.on_all_ended(); });
}

void Cluster::kill_all() {
  ending_ = true;
  for (auto& [process, member] : members_) member.child->signal(SIGKILL);
  if (!any_running()) asio::post(io_, [this] { listener_.on_all_ended(); });
}

}  // namespace scavenger::elastic
