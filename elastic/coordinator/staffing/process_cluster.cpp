#include "elastic/coordinator/staffing/process_cluster.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>

#include "elastic/coordinator/staffing/state_sender.h"
#include "elastic/report/quantity_text.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"
#include "runtime/config/placement.h"
#include "runtime/provider/launch_words.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kLogTailBytes = 2000;
constexpr int kBadInputCode = 2;  // with which a process ends that was given what is wrong
// Who has lost its connection is about to end by itself, and its exit tells more; who has ended may
// have said why. Neither is waited for for long.
constexpr auto kLastNewsDelay = std::chrono::milliseconds(300);
// The others begin when one is released, and to end takes a process some milliseconds of a core.
constexpr auto kFarewellDelay = std::chrono::milliseconds(300);
// Signs of life are checked several times a second, unless this process itself is stopped.
constexpr double kOwnPauseSeconds = 1.0;

void check_build(const Joined& message) {
  if (message.version_line == version_line("scavenger")) return;
  throw ProtocolError({.what = fmt::format("it is {}, and this is {}", message.version_line,
                                           version_line("scavenger")),
                       .where = "another build",
                       .remedy = "install one build everywhere"});
}

// The place's launch words, which end with the program that they are to start there, and its own.
ChildProcess::Command command_at(const ProcessPlace& place, const std::filesystem::path& folder,
                                 const std::vector<std::string>& program) {
  std::vector<std::string> words = place.launch;
  words.push_back((folder / program.front()).string());
  words.insert(words.end(), program.begin() + 1, program.end());
  ChildProcess::Command command;
  command.program = words.front();
  command.arguments.assign(words.begin() + 1, words.end());
  return command;
}

// The last lines of a log, for the user's terminal.
std::string quoted_tail(const std::filesystem::path& log, std::uintmax_t begin) {
  std::string text;
  std::istringstream lines(log_tail(log, kLogTailBytes, begin));
  for (std::string line; std::getline(lines, line);) text += "\n    | " + printable(line);
  return text;
}

}  // namespace

ProcessCluster::ProcessCluster(asio::io_context& io, const Clock& clock, ClusterListener& listener,
                               JobCredentials credentials, Settings settings)
    : io_(io),
      clock_(clock),
      listener_(listener),
      credentials_(credentials),
      settings_(std::move(settings)),
      control_(io, {settings_.address, settings_.config.cluster.port}, credentials_,
               kControlQueueLimitBytes,
               [this](std::shared_ptr<FrameConnection> connection) {
                 return serve(std::move(connection));
               }),
      kill_timer_(io) {}

ProcessCluster::~ProcessCluster() = default;

// ---- Starting. ----

std::filesystem::path ProcessCluster::log_of(const ProcessName& process) const {
  return settings_.log_folder /
         fmt::format("{}_{}.log", scavenger::name_of(process.role), process.index);
}

std::int64_t ProcessCluster::pid_of(const ProcessName& process) const {
  return members_.at(process)->pid;
}

std::string ProcessCluster::address_of_shard(std::uint32_t shard) const {
  const HostConfig* const host = host_of_shard(settings_.config, shard);
  return host != nullptr ? host->address : settings_.address;
}

LaunchTicket ProcessCluster::ticket_for(const ProcessName& process) const {
  LaunchTicket ticket;
  ticket.role = process.role;
  ticket.index = process.index;
  ticket.credentials = credentials_;
  ticket.controller = {settings_.address, control_.port()};
  ticket.config = settings_.config_json;
  return ticket;
}

std::int64_t ProcessCluster::start(const ProcessName& process, const ProcessPlace& place,
                                   std::uint32_t threads, std::uint16_t listen_port) {
  LaunchTicket ticket = ticket_for(process);
  ticket.parent_pid = place.launch.empty() ? ::getpid() : 0;
  ticket.threads = threads;
  ticket.listen_host = place.address;
  ticket.listen_port = listen_port;
  ticket.has_shared_file = settings_.shared_file >= 0;
  const auto& folder =
      place.program_folder.empty() ? settings_.program_folder : place.program_folder;
  const std::vector<std::string> program = process.role == Role::kWorker
                                               ? worker_words(settings_.config)
                                               : std::vector<std::string>{"scavenger-ps"};
  ChildProcess::Command command = command_at(place, folder, program);
  command.standard_input = encode(ticket);
  command.log = log_of(process);
  command.inherited_file = settings_.shared_file;

  auto member = std::make_shared<Member>(io_);
  member->name = process;
  std::error_code is_new;
  member->log_begin = std::filesystem::file_size(command.log, is_new);
  if (is_new) member->log_begin = 0;
  member->child = std::make_unique<ChildProcess>(
      io_, command, [this, which = std::weak_ptr(member)](const ExitStatus& status) {
        if (const auto ended = which.lock()) on_exit(ended, status);
      });
  member->start_seconds = clock_.now_seconds();
  const std::int64_t pid = member->child->pid();
  members_[process] = std::move(member);
  return pid;
}

std::string ProcessCluster::expect(const ProcessName& process) {
  auto member = std::make_shared<Member>(io_);
  member->name = process;
  member->start_seconds = clock_.now_seconds();
  members_[process] = std::move(member);
  return encode(ticket_for(process));
}

// ---- Talking. ----

awaitable<void> ProcessCluster::serve(std::shared_ptr<FrameConnection> connection) {
  MemberPointer member;
  try {
    ControlMessage first = co_await receive_message(*connection);
    while (
        std::holds_alternative<Heartbeat>(first))  // it is still reading data or building its model
      first = co_await receive_message(*connection);
    if (const auto* failed = std::get_if<Failed>(&first)) co_return note_early_failure(*failed);
    const auto* joined = std::get_if<Joined>(&first);
    if (joined == nullptr)
      throw ProtocolError({.what = "a process did not say who it is", .where = {}, .remedy = {}});
    member = admit(*joined, connection);
    check_build(*joined);
    listener_.on_joined(member->name, *joined);
    co_await serve_member(member);
  } catch (const Error& failure) {
    connection->close();
    if (member && !member->child) {
      end_stranger(member, fmt::format("lost its connection: {}", failure.what()));
      co_return;
    }
    if (ending_) co_return;
    if (!member) throw;
    on_disconnected(member, failure);
  }
}

// It could not even join: its data or its model are not to be had.
void ProcessCluster::note_early_failure(const Failed& message) {
  const ProcessName process{message.role, message.index};
  const auto found = members_.find(process);
  if (found == members_.end() || found->second->connection || !found->second->failure.empty())
    throw ProtocolError({.what = process.text() + " is not expected", .where = {}, .remedy = {}});
  const MemberPointer& member = found->second;
  member->failure = message.reason;
  member->bad_input = message.bad_input;
  member->traceback = message.traceback;
  if (!member->child) member->status = ExitStatus();
  if (member->status && !member->released) announce_loss(member);
}

ProcessCluster::MemberPointer ProcessCluster::admit(
    const Joined& message, const std::shared_ptr<FrameConnection>& connection) {
  const ProcessName process{message.role, message.index};
  const auto found = members_.find(process);
  if (found == members_.end() || found->second->connection || found->second->status)
    throw ProtocolError({.what = process.text() + " is not expected", .where = {}, .remedy = {}});
  const MemberPointer& member = found->second;
  member->connection = connection;
  member->pid = message.pid;
  member->is_read = true;
  member->last_sign_seconds = clock_.now_seconds();
  return member;
}

awaitable<void> ProcessCluster::serve_member(MemberPointer member) {
  for (;;) {
    const ControlArrival arrival =
        co_await receive_arrival(*member->connection, settings_.state_payload_limit_bytes);
    member->last_sign_seconds = clock_.now_seconds();
    if (const auto* header = std::get_if<FrameHeader>(&arrival)) {
      co_await member->connection->receive_payload(
          listener_.state_destination(member->name, *header));
      listener_.on_state(member->name, *header);
      continue;
    }
    const ControlMessage& message = std::get<ControlMessage>(arrival);
    if (const auto* failed = std::get_if<Failed>(&message)) {
      member->failure = failed->reason;
      member->failed_by_peer = failed->by_peer;
      member->bad_input = failed->bad_input;
      member->traceback = failed->traceback;
    } else if (!std::holds_alternative<Heartbeat>(message)) {
      listener_.on_message(member->name, message);
    }
  }
}

void ProcessCluster::send(const ProcessName& process, const ControlMessage& message) {
  post_message(*members_.at(process)->connection, message);
}

void ProcessCluster::send_state(const ProcessName& process, StatePart part) {
  elastic::send_state(io_, members_.at(process)->connection, settings_.config.optimizer,
                      std::move(part));
}

double ProcessCluster::seconds_since_start(const ProcessName& process) const {
  return clock_.now_seconds() - members_.at(process)->start_seconds;
}

// ---- Losing. ----

void ProcessCluster::on_exit(const MemberPointer& member, const ExitStatus& status) {
  member->status = status;
  if (ending_) {
    if (ends_in_order_ && settings_.config.model.has_own_loop && status.code != 0)
      log_warning("{} ended with {}, after the training:{}", member->name.text(), status.text(),
                  quoted_tail(log_of(member->name), member->log_begin));
    if (!any_running()) {
      kill_timer_.cancel();
      listener_.on_all_ended();
    }
    return;
  }
  if (member->released) return forget(member);
  if (!member->connection && status.code == kBadInputCode && member->failure.empty())
    return await_last_words(member);
  if (!member->is_read) return announce_loss(member);
  if (!member->why_ended.empty()) return member->connection->close();  // we know why
  // What it said last is still to be read: its socket ends with it, so that is soon.
  member->news_timer.expires_after(kLastNewsDelay);
  member->news_timer.async_wait([member](const boost::system::error_code& error) {
    if (!error) member->connection->close();
  });
}

// It ended before it had joined, and has said why: that may be read later than its end.
void ProcessCluster::await_last_words(const MemberPointer& member) {
  member->news_timer.expires_after(kLastNewsDelay);
  member->news_timer.async_wait([this, member](const boost::system::error_code& error) {
    if (!error && member->failure.empty()) announce_loss(member);
  });
}

void ProcessCluster::on_disconnected(const MemberPointer& member, const Error& failure) {
  member->is_read = false;
  if (member->released) return;  // its end follows
  if (member->status) return announce_loss(member);
  if (member->failure.empty())  // else it has said why
    log_warning("the connection to {} was ended: {}", member->name.text(), failure.what());
  const std::string why = fmt::format("lost its connection to the controller: {}", failure.what());
  if (dynamic_cast<const ProtocolError*>(&failure) != nullptr) {
    member->why_ended = why;
    member->refused = true;
  }
  // One that lives on without us must not write any more.
  member->news_timer.expires_after(kLastNewsDelay);
  member->news_timer.async_wait([this, member, why](const boost::system::error_code& error) {
    if (error || member->status) return;
    if (member->failure.empty()) return kill(member->name, why);
    end_hard(member);  // it has said why, and takes its time to end
  });
}

void ProcessCluster::release(const ProcessName& process) {
  const MemberPointer member = members_.at(process);
  member->released = true;
  if (member->status) return forget(member);
  if (!member->connection || !member->connection->is_open()) return end_hard(member);
  member->news_timer.expires_after(kFarewellDelay);
  member->news_timer.async_wait([this, member](const boost::system::error_code& error) {
    if (!error && !member->status) dismiss(member);
  });
}

void ProcessCluster::dismiss(const MemberPointer& member) {
  if (!member->connection->is_open()) return end_hard(member);
  post_message(*member->connection, Stop{});
  member->news_timer.expires_after(
      std::chrono::milliseconds(static_cast<long>(settings_.config.limits.stop_seconds * 1000)));
  member->news_timer.async_wait([this, member](const boost::system::error_code& error) {
    if (!error && !member->status) end_hard(member);
  });
}

// What was started from here is killed; what was not loses its connection, and its machine ends.
void ProcessCluster::end_hard(const MemberPointer& member) {
  if (member->child) return member->child->signal(SIGKILL);
  if (member->connection) member->connection->close();
  asio::post(io_, [this, member] { end_stranger(member, "it was ended"); });
}

// One that was not started from here is gone with its connection.
void ProcessCluster::end_stranger(const MemberPointer& member, const std::string& why) {
  if (member->status) return;
  member->status = ExitStatus();
  if (member->why_ended.empty()) member->why_ended = why;
  if (ending_) {
    if (any_running()) return;
    kill_timer_.cancel();
    return listener_.on_all_ended();
  }
  if (member->released) return forget(member);
  announce_loss(member);
}

// Later, since it may be one of its own handlers that calls.
void ProcessCluster::forget(const MemberPointer& member) {
  member->news_timer.cancel();
  asio::post(io_, [this, member] {
    const auto found = members_.find(member->name);
    if (found == members_.end() || found->second != member) return;
    members_.erase(found);
    if (!ending_) listener_.on_left(member->name);
  });
}

void ProcessCluster::announce_loss(const MemberPointer& member) {
  member->news_timer.cancel();
  if (ending_) return;
  const ExitStatus& status = *member->status;
  LostProcess lost;
  lost.process = member->name;
  lost.pid = member->child ? member->child->pid() : member->pid;
  lost.how = status.signal != 0 ? "was " + status.text() : "ended with " + status.text();
  if (status.signal == SIGKILL) lost.how += "; perhaps memory ran out";  // we did not: see below
  if (!member->failure.empty()) lost.how = "failed: " + member->failure;
  if (!member->why_ended.empty()) lost.how = member->why_ended;
  lost.bad_input = member->bad_input && member->why_ended.empty();
  lost.traceback = member->traceback;
  if (!lost.bad_input)
    lost.log_tail = log_tail(log_of(member->name), kLogTailBytes, member->log_begin);
  const bool told = !member->failure.empty() && !member->failed_by_peer;
  lost.has_joined = member->connection != nullptr;
  const bool never_joined = member->child && !lost.has_joined && status.signal == 0;
  lost.by_itself = member->refused || (member->why_ended.empty() && (told || never_joined));
  listener_.on_lost(lost);
}

void ProcessCluster::kill(const ProcessName& process, const std::string& why) {
  const MemberPointer member = members_.at(process);
  if (member->status) return;
  if (member->why_ended.empty()) member->why_ended = why;
  end_hard(member);
}

void ProcessCluster::check_signs_of_life() {
  const double now_seconds = clock_.now_seconds();
  const double pause_seconds = now_seconds - checked_seconds_.value_or(now_seconds);
  checked_seconds_ = now_seconds;
  if (ending_) return;
  // While this process was stopped (Ctrl-Z, a machine that was moved) it could hear nobody.
  if (pause_seconds > kOwnPauseSeconds)
    for (const auto& [process, member] : members_)
      member->last_sign_seconds = std::min(now_seconds, member->last_sign_seconds + pause_seconds);
  for (const auto& [process, member] : members_) {
    if (!member->is_read || member->status || member->released) continue;
    const double silent_seconds = now_seconds - member->last_sign_seconds;
    if (silent_seconds < settings_.config.limits.heartbeat_seconds) continue;
    kill(process,
         fmt::format(
             "gave no sign of life for {} (limits.heartbeat_seconds): it hangs or is stopped",
             format_duration(silent_seconds)));
  }
}

// ---- Ending. ----

bool ProcessCluster::any_running() const {
  for (const auto& [process, member] : members_)
    if (member->child ? member->child->running() : member->connection && !member->status)
      return true;
  return false;
}

void ProcessCluster::end_all() {
  ending_ = ends_in_order_ = true;
  for (auto& [process, member] : members_) {
    if (member->connection && member->connection->is_open())
      post_message(*member->connection, Stop{});
    else
      end_hard(member);
  }
  kill_timer_.expires_after(
      std::chrono::milliseconds(static_cast<long>(settings_.config.limits.stop_seconds * 1000)));
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    log_warning("some processes did not end when asked to, and are killed");
    ends_in_order_ = false;
    kill_all();
  });
  if (!any_running()) asio::post(io_, [this] { listener_.on_all_ended(); });
}

void ProcessCluster::kill_all() {
  ending_ = true;
  for (auto& [process, member] : members_) end_hard(member);
  if (!any_running()) asio::post(io_, [this] { listener_.on_all_ended(); });
}

}  // namespace scavenger::elastic
