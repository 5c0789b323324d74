#include "campaign/run/host_links.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"
#include "runtime/process/task_ticket.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kLogTailBytes = 2000;
constexpr auto kEndDelay = std::chrono::seconds(3);
// Its exit says more than its connection, and comes at about the same time.
constexpr auto kLastNewsDelay = std::chrono::milliseconds(300);
// Signs of life are checked about once a second, unless this process itself was stopped.
constexpr double kOwnPauseSeconds = 5.0;

}  // namespace

HostLinks::HostLinks(asio::io_context& io, const Clock& clock, HostListener& listener,
                     Settings settings)
    : io_(io),
      clock_(clock),
      listener_(listener),
      settings_(std::move(settings)),
      credentials_(JobCredentials::generate()),
      control_(io, settings_.endpoint, credentials_, kTaskQueueLimitBytes,
               [this](std::shared_ptr<FrameConnection> connection) {
                 return serve(std::move(connection));
               }),
      checked_seconds_(clock.now_seconds()) {}

HostLinks::~HostLinks() = default;

// ---- Starting. ----

std::filesystem::path HostLinks::log_of(MachineId machine) const {
  return settings_.log_folder / fmt::format("machine_{}.log", machine);
}

LaunchTicket HostLinks::ticket_for(MachineId machine) const {
  LaunchTicket ticket;
  ticket.index = static_cast<std::uint32_t>(machine);
  ticket.credentials = credentials_;
  ticket.controller = {settings_.endpoint.host, control_.port()};
  ticket.config = kTaskTicketConfig;
  return ticket;
}

std::string HostLinks::expect(MachineId machine) {
  auto host = std::make_shared<Host>(io_);
  host->machine = machine;
  hosts_[machine] = std::move(host);
  return encode(ticket_for(machine));
}

void HostLinks::start(MachineId machine, const Machine& where) {
  const HostPointer host = hosts_.at(machine);
  host->start_seconds = clock_.now_seconds();
  if (where.starts_worker) return;
  LaunchTicket ticket = ticket_for(machine);
  ticket.parent_pid = where.launch.empty() ? ::getpid() : 0;
  ticket.listen_host = where.address;
  std::vector<std::string> words = where.launch;
  const auto& folder =
      where.program_folder.empty() ? settings_.program_folder : where.program_folder;
  words.push_back((folder / "scavenger-task").string());
  ChildProcess::Command command;
  command.program = words.front();
  command.arguments.assign(words.begin() + 1, words.end());
  command.standard_input = encode(ticket);
  command.log = log_of(machine);
  const auto ended = [this, which = std::weak_ptr(host)](const ExitStatus& status) {
    const HostPointer gone = which.lock();
    if (!gone) return;
    const std::string tail = log_tail(log_of(gone->machine), kLogTailBytes);
    lose(gone, fmt::format("scavenger-task ended with {}{}{}", status.text(),
                           tail.empty() ? "" : ": ", tail));
  };
  host->child = std::make_unique<ChildProcess>(io_, command, ended);
}

// ---- Talking. ----

awaitable<void> HostLinks::serve(std::shared_ptr<FrameConnection> connection) {
  const TaskArrival first = co_await receive_task_arrival(*connection);
  const auto* message = std::get_if<TaskMessage>(&first);
  const auto* hello = message == nullptr ? nullptr : std::get_if<message::Hello>(message);
  if (hello == nullptr)
    throw ProtocolError({.what = "a process did not say who it is", .where = {}, .remedy = {}});
  const HostPointer host = admit(*hello, connection);
  std::string how;
  try {
    co_await serve_host(host);
  } catch (const Error& failure) {
    how = fmt::format("its connection was lost: {}", failure.what());
  }
  connection->close();
  if (host->child && host->child->running()) {
    host->kill_timer.expires_after(kLastNewsDelay);
    const auto quietly = asio::as_tuple(use_awaitable);
    co_await host->kill_timer.async_wait(quietly);
    host->child->signal(SIGKILL);
  }
  lose(host, how);
}

HostLinks::HostPointer HostLinks::admit(const message::Hello& hello,
                                        const std::shared_ptr<FrameConnection>& connection) {
  const auto found = hosts_.find(hello.machine);
  if (found == hosts_.end() || found->second->connection || found->second->is_told)
    throw ProtocolError({.what = fmt::format("machine {} is not expected", hello.machine),
                         .where = {},
                         .remedy = {}});
  if (hello.version_line != version_line("scavenger"))
    throw ProtocolError({.what = fmt::format("machine {} has {}, and this is {}", hello.machine,
                                             hello.version_line, version_line("scavenger")),
                         .where = "another build",
                         .remedy = "install one build everywhere"});
  const HostPointer host = found->second;
  host->connection = connection;
  host->deliveries = std::make_shared<DeliveryQueue>(io_, connection);
  host->sign_seconds = clock_.now_seconds();
  listener_.on_host_joined(host->machine);
  return host;
}

awaitable<void> HostLinks::serve_host(HostPointer host) {
  for (;;) {
    const TaskArrival arrival = co_await receive_task_arrival(*host->connection);
    host->sign_seconds = clock_.now_seconds();
    if (host->is_told) continue;
    if (const auto* piece = std::get_if<Piece>(&arrival)) {
      listener_.on_piece(host->machine, *piece);
      continue;
    }
    const TaskMessage& message = std::get<TaskMessage>(arrival);
    if (std::holds_alternative<message::Leaving>(message))
      listener_.on_host_leaving(host->machine);
    else if (!std::holds_alternative<message::Alive>(message))
      listener_.on_task_message(host->machine, message);
  }
}

void HostLinks::send(MachineId machine, const TaskMessage& message) {
  const auto found = hosts_.find(machine);
  if (found == hosts_.end() || !found->second->connection) return;
  if (found->second->connection->is_open()) post_message(*found->second->connection, message);
}

void HostLinks::send_files(MachineId machine, TaskId task, std::vector<TaskFile> files,
                           TaskMessage after) {
  const auto found = hosts_.find(machine);
  if (found != hosts_.end() && found->second->deliveries)
    found->second->deliveries->send(task, std::move(files), std::move(after));
}

void HostLinks::drop_files(MachineId machine, TaskId task) {
  const auto found = hosts_.find(machine);
  if (found != hosts_.end() && found->second->deliveries) found->second->deliveries->drop(task);
}

// ---- Losing and ending. ----

void HostLinks::lose(const HostPointer& host, const std::string& how) {
  const auto found = hosts_.find(host->machine);
  if (found == hosts_.end() || found->second != host) return;
  // Later, since it may be one of its own handlers that calls.
  asio::post(io_, [host] { host->kill_timer.cancel(); });
  if (host->connection) host->connection->close();
  hosts_.erase(found);
  if (!std::exchange(host->is_told, true)) listener_.on_host_lost(host->machine, how);
}

void HostLinks::end(MachineId machine) {
  const auto found = hosts_.find(machine);
  if (found == hosts_.end()) return;
  const HostPointer host = found->second;
  host->is_told = true;
  send(machine, message::Leave{});
  if (!host->child) {
    hosts_.erase(found);
    return;
  }
  if (!host->connection) return host->child->signal(SIGKILL);
  host->kill_timer.expires_after(kEndDelay);
  host->kill_timer.async_wait([host](const boost::system::error_code& error) {
    if (!error) host->child->signal(SIGKILL);
  });
}

void HostLinks::kill_all() {
  for (const auto& [machine, host] : hosts_) {
    host->is_told = true;
    if (host->child) host->child->signal(SIGKILL);
  }
}

bool HostLinks::any_running() const {
  return std::ranges::any_of(hosts_, [](const auto& entry) {
    return entry.second->child && entry.second->child->running();
  });
}

void HostLinks::check_signs_of_life() {
  const double now_seconds = clock_.now_seconds();
  const double pause_seconds = now_seconds - std::exchange(checked_seconds_, now_seconds);
  const double forgiven_seconds = pause_seconds > kOwnPauseSeconds ? pause_seconds : 0.0;
  std::vector<std::pair<HostPointer, std::string>> given_up;
  for (const auto& [machine, host] : hosts_) {
    if (host->is_told) continue;
    if (host->start_seconds) *host->start_seconds += forgiven_seconds;
    host->sign_seconds += forgiven_seconds;
    if (!host->connection && host->start_seconds &&
        now_seconds - *host->start_seconds > settings_.start_seconds)
      given_up.emplace_back(host,
                            fmt::format("it did not connect within {} (machines.start_seconds)",
                                        format_duration(settings_.start_seconds)));
    if (host->connection && now_seconds - host->sign_seconds > settings_.silence_seconds)
      given_up.emplace_back(host,
                            fmt::format("it gave no sign of life for {} (machines.silence_seconds)",
                                        format_duration(settings_.silence_seconds)));
  }
  for (const auto& [host, how] : given_up) {
    if (host->child) host->child->signal(SIGKILL);
    lose(host, how);
  }
}

}  // namespace scavenger::campaign
