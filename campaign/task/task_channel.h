// Sends and receives the messages and files of tasks over a frame connection.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "campaign/task/task_message.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::campaign {

inline constexpr std::size_t kTaskQueueLimitBytes = std::size_t{256} << 20;

void post_message(FrameConnection& connection, const TaskMessage& message);

struct Piece {
  TaskId task = 0;
  std::string bytes;
};
using TaskArrival = std::variant<TaskMessage, Piece>;
// Throws ProtocolError, ConnectionError.
awaitable<TaskArrival> receive_task_arrival(FrameConnection& connection);

// A file in memory, on its way.
struct TaskFile {
  std::string name;
  std::string content;
  bool is_checkpoint = false;
  bool is_executable = false;
};

// Sends files and the message that comes after them, one delivery after the other, and no faster
// than the connection takes them. Thread: the connection's.
class DeliveryQueue final : public std::enable_shared_from_this<DeliveryQueue> {
 public:
  DeliveryQueue(asio::io_context& io, std::shared_ptr<FrameConnection> connection)
      : io_(io), connection_(std::move(connection)) {}

  void send(TaskId task, std::vector<TaskFile> files, TaskMessage after);
  // Drops what is not sent yet of this task.
  void drop(TaskId task);

 private:
  struct Delivery {
    TaskId task = 0;
    std::vector<TaskFile> files;
    TaskMessage after;
    bool is_dropped = false;
  };
  awaitable<void> work();
  awaitable<void> send_file(std::shared_ptr<Delivery> delivery, std::size_t index);

  asio::io_context& io_;
  const std::shared_ptr<FrameConnection> connection_;
  std::deque<std::shared_ptr<Delivery>> waiting_;
  bool is_working_ = false;
};

}  // namespace scavenger::campaign
