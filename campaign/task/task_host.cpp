#include "campaign/task/task_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <system_error>
#include <utility>

#include "campaign/task/command_guard.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

constexpr double kConnectSeconds = 20.0;
constexpr auto kHeartbeat = std::chrono::seconds(1);
constexpr auto kLookForCheckpoints = std::chrono::milliseconds(250);
constexpr std::size_t kLogTailBytes = 2000;
constexpr std::uintmax_t kMostLogBytes = std::uintmax_t{16} << 20;
constexpr int kDivergedCode = 3;
constexpr const char* kCheckpointDone = "checkpoint-done";

// Nobody reads more of a command's output than its end, and it must not fill the machine's disk.
// The command appends to the file, wherever its end is.
void bound_log(const fs::path& log) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(log, error);
  if (error || bytes <= kMostLogBytes) return;
  std::ifstream input(log, std::ios::binary);
  input.seekg(static_cast<std::streamoff>(bytes - kLogTailBytes));
  std::string tail(kLogTailBytes, ' ');
  input.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  fs::resize_file(log, 0, error);
  std::ofstream(log, std::ios::binary | std::ios::app) << tail;
}

}  // namespace

TaskHost::TaskHost(asio::io_context& io, const LaunchTicket& ticket)
    : io_(io), ticket_(ticket), heartbeat_(io), departure_(io, SIGTERM) {}

TaskHost::~TaskHost() = default;

// ---- The connection. ----

awaitable<void> TaskHost::connect() {
  JobSocket socket =
      co_await connect_authenticated(ticket_.controller, ticket_.credentials, kConnectSeconds);
  connection_ = std::make_shared<FrameConnection>(std::move(socket), kTaskQueueLimitBytes);
  deliveries_ = std::make_shared<DeliveryQueue>(io_, connection_);
  message::Hello hello;
  hello.machine = ticket_.index;
  hello.pid = ::getpid();
  hello.version_line = version_line("scavenger");
  post_message(*connection_, hello);
  beat();
  announce_departure();
}

// Whoever takes a machine away says so with SIGTERM, if at all.
void TaskHost::announce_departure() {
  departure_.async_wait([this](const boost::system::error_code& error, int) {
    if (error || !connection_->is_open()) return;
    post_message(*connection_, message::Leaving{});
    announce_departure();
  });
}

void TaskHost::beat() {
  if (!connection_->is_open()) return;
  post_message(*connection_, message::Alive{});
  for (const auto& [id, task] : tasks_) bound_log(task->log);
  heartbeat_.expires_after(kHeartbeat);
  heartbeat_.async_wait([this](const boost::system::error_code& error) {
    if (!error) beat();
  });
}

awaitable<void> TaskHost::run() {
  co_await connect();
  log_info("ready for simulations, in {}", folder_.path().string());
  while (!is_leaving_) {
    TaskArrival arrival = co_await receive_task_arrival(*connection_);
    if (const auto* piece = std::get_if<Piece>(&arrival))
      take_piece(*piece);
    else
      obey(std::get<TaskMessage>(arrival));
  }
  heartbeat_.cancel();
  departure_.cancel();
  tasks_.clear();  // kills what runs
  connection_->close();
}

void TaskHost::obey(const TaskMessage& message) {
  if (const auto* file = std::get_if<message::PutFile>(&message)) return begin_file(*file);
  if (const auto* run = std::get_if<message::Run>(&message)) return start(*run);
  if (const auto* asked = std::get_if<message::Stop>(&message)) return stop(asked->task);
  if (const auto* asked = std::get_if<message::End>(&message)) return end(asked->task);
  if (std::holds_alternative<message::Leave>(message)) is_leaving_ = true;
}

TaskHost::HostedPointer TaskHost::task_of(TaskId id) {
  HostedPointer& task = tasks_[id];
  if (task) return task;
  task = std::make_shared<Hosted>(io_);
  task->id = id;
  task->folder = folder_.path() / fmt::format("task-{}", id);
  task->log = folder_.path() / fmt::format("task-{}.log", id);
  std::error_code error;
  fs::create_directories(task->folder, error);
  if (error)
    throw SystemError(
        {.what = error.message(), .where = task->folder.string(), .remedy = "make room for it"});
  return task;
}

// ---- Files. ----

void TaskHost::begin_file(const message::PutFile& file) {
  const HostedPointer task = task_of(file.task);
  task->arriving = std::make_unique<ArrivingFile>(task->folder, file);
  if (task->arriving->is_whole()) finish_file(*task);
}

void TaskHost::take_piece(const Piece& piece) {
  const auto found = tasks_.find(piece.task);
  if (found == tasks_.end()) return;  // it was ended meanwhile
  const HostedPointer task = found->second;
  if (!task->arriving)
    throw ProtocolError({.what = "a piece belongs to no file", .where = {}, .remedy = {}});
  task->arriving->add(piece.bytes);
  if (task->arriving->is_whole()) finish_file(*task);
}

void TaskHost::finish_file(Hosted& task) {
  task.arriving->finish();
  task.arriving.reset();
}

// ---- Commands. ----

void TaskHost::start(const message::Run& run) {
  const HostedPointer task = task_of(run.task);
  task->command = run;
  std::error_code ignored;
  fs::remove(task->folder / kCheckpointDone, ignored);
  if (!run.stop_file.empty()) fs::remove(task->folder / run.stop_file, ignored);
  if (task->is_stopping) return tell_end(*task, "stopped", "it was asked to stop");
  ChildProcess::Command command = guarded_command("/proc/self/exe", task->folder, run.words);
  command.log = task->log;
  try {
    task->child = std::make_unique<ChildProcess>(
        io_, command, [this, which = std::weak_ptr(task)](const ExitStatus& status) {
          if (const HostedPointer ended = which.lock()) on_exit(ended, status);
        });
  } catch (const SystemError& error) {
    return tell_end(*task, "failed", error.what());
  }
  post_message(*connection_, message::Began{run.task});
  if (run.takes_checkpoints) watch_checkpoints(task);
}

// A task of which nothing has come yet is known from here on: its files and its command may still
// be on their way, and are not used.
void TaskHost::stop(TaskId id) {
  const HostedPointer hosted = task_of(id);
  Hosted& task = *hosted;
  if (std::exchange(task.is_stopping, true)) return;
  if (!task.child) return tell_end(task, "stopped", "it was asked to stop before it began");
  if (!task.child->running()) return;
  if (task.command.stop_signal != 0) return task.child->signal(task.command.stop_signal);
  if (!task.command.stop_file.empty()) std::ofstream(task.folder / task.command.stop_file);
}

void TaskHost::end(TaskId id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  const HostedPointer task = found->second;
  tasks_.erase(found);
  task->is_over = true;
  task->timer.cancel();
  task->child.reset();  // kills it
  deliveries_->drop(id);
  std::error_code ignored;
  fs::remove_all(task->folder, ignored);
  fs::remove(task->log, ignored);
}

void TaskHost::on_exit(const HostedPointer& task, const ExitStatus& status) {
  task->timer.cancel();
  const int signal = task->command.stop_signal;
  const bool was_asked = task->is_stopping;
  const bool is_well =
      status.signal == 0 &&
      (status.code == 0 || (was_asked && signal != 0 && status.code == 128 + signal));
  if (is_well) return deliver_segment(*task);
  const std::string how = status.text();
  if (status.signal == 0 && status.code == kDivergedCode)
    return tell_end(*task, "diverged", "the command ended with exit code 3");
  if (was_asked) return tell_end(*task, "stopped", how);
  tell_end(*task, "failed", "the command ended with " + how);
}

void TaskHost::tell_end(const Hosted& task, const std::string& how, const std::string& reason) {
  message::Ended ended;
  ended.task = task.id;
  ended.how = how;
  ended.reason = reason;
  if (how != "kept") ended.log_tail = log_tail(task.log, kLogTailBytes);
  post_message(*connection_, ended);
}

void TaskHost::deliver_segment(const Hosted& task) {
  tell_end(task, "kept", {});
  std::vector<TaskFile> files;
  try {
    files = read_fitting_files(task.folder, task.command.checkpoint_files, true);
    for (TaskFile& file : read_fitting_files(task.folder, task.command.result_files, false))
      files.push_back(std::move(file));
  } catch (const Error& error) {
    return tell_end(task, "failed", error.what());
  }
  deliveries_->send(task.id, std::move(files), message::Delivered{task.id, true});
}

// ---- Checkpoints that the command takes by itself. ----

void TaskHost::watch_checkpoints(const HostedPointer& task) {
  task->timer.expires_after(kLookForCheckpoints);
  task->timer.async_wait([this, task](const boost::system::error_code& error) {
    if (error || task->is_over || !task->child || !task->child->running()) return;
    deliver_checkpoint(task);
    watch_checkpoints(task);
  });
}

// If the command writes the next one while this one is read, the next one counts.
void TaskHost::deliver_checkpoint(const HostedPointer& task) {
  const fs::path done = task->folder / kCheckpointDone;
  std::error_code error;
  if (!fs::exists(done, error)) return;
  fs::remove(done, error);
  try {
    const auto& patterns = task->command.checkpoint_files;
    std::vector<TaskFile> files = read_fitting_files(task->folder, patterns, true);
    const std::string stamp = stamp_of(task->folder, files);
    const std::vector<TaskFile> again = read_fitting_files(task->folder, patterns, true);
    const auto same = [](const TaskFile& a, const TaskFile& b) {
      return a.name == b.name && a.content == b.content;
    };
    const bool is_whole = stamp == stamp_of(task->folder, again) &&
                          std::ranges::equal(files, again, same) && !fs::exists(done, error);
    if (is_whole)
      deliveries_->send(task->id, std::move(files), message::Delivered{task->id, false});
  } catch (const Error& problem) {
    log_warning("a checkpoint of task {} was not brought home: {}", task->id, problem.what());
  }
}

}  // namespace scavenger::campaign
