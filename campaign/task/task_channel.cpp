#include "campaign/task/task_channel.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/net/spawn.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kQueuedBytes = 4 * kPieceBytes;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void post_message(FrameConnection& connection, const TaskMessage& message) {
  FrameHeader header;
  header.type = FrameType::kControl;
  connection.post_owned(header, bytes_of(encode(message)));
}

awaitable<TaskArrival> receive_task_arrival(FrameConnection& connection) {
  const FrameHeader header = co_await connection.receive_header(kPieceBytes);
  std::string text(header.payload_bytes, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  co_await connection.receive_payload(bytes);
  if (header.type == FrameType::kState) {
    Piece piece;
    piece.task = header.iteration;
    piece.bytes = std::move(text);
    TaskArrival arrival = std::move(piece);
    co_return arrival;
  }
  if (header.type != FrameType::kControl)
    throw ProtocolError({.what = "a frame came that is none of a task", .where = {}, .remedy = {}});
  TaskArrival arrival = decode_task_message(text);
  co_return arrival;
}

void DeliveryQueue::send(TaskId task, std::vector<TaskFile> files, TaskMessage after) {
  auto delivery = std::make_shared<Delivery>();
  delivery->task = task;
  delivery->files = std::move(files);
  delivery->after = std::move(after);
  waiting_.push_back(std::move(delivery));
  if (std::exchange(is_working_, true)) return;
  awaitable<void> task_of_queue = work();
  spawn(io_, unless_disconnected(std::move(task_of_queue)));
}

void DeliveryQueue::drop(TaskId task) {
  for (const auto& delivery : waiting_)
    if (delivery->task == task) delivery->is_dropped = true;
}

awaitable<void> DeliveryQueue::work() {
  const auto self = shared_from_this();
  while (!waiting_.empty()) {
    const std::shared_ptr<Delivery> delivery = waiting_.front();
    for (std::size_t i = 0; i < delivery->files.size() && !delivery->is_dropped; ++i)
      co_await send_file(delivery, i);
    if (!delivery->is_dropped) post_message(*connection_, delivery->after);
    waiting_.pop_front();
  }
  is_working_ = false;
}

awaitable<void> DeliveryQueue::send_file(std::shared_ptr<Delivery> delivery, std::size_t index) {
  const TaskFile& file = delivery->files[index];
  message::PutFile put;
  put.task = delivery->task;
  put.name = file.name;
  put.bytes = file.content.size();
  put.sha256 = sha256_hex(file.content);
  put.is_checkpoint = file.is_checkpoint;
  put.is_executable = file.is_executable;
  post_message(*connection_, put);
  for (std::size_t begin = 0; begin < file.content.size(); begin += kPieceBytes) {
    if (delivery->is_dropped) co_return;  // its task is gone on the other side
    FrameHeader header;
    header.type = FrameType::kState;
    header.iteration = delivery->task;
    connection_->post_owned(header,
                            bytes_of(std::string_view(file.content).substr(begin, kPieceBytes)));
    co_await connection_->wait_until_queued_at_most(kQueuedBytes);
  }
}

}  // namespace scavenger::campaign
