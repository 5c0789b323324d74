// What scavenger-campaign and scavenger-task say to each other over an authenticated connection.
//
// A message is a JSON object in a frame of type kControl. The content of a file follows its
// PutFile in frames of type kState, whose `iteration` is the task: docs/design/protocol.md.
// Pure; frames are sent and received by task_channel.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "campaign/core/campaign_events.h"

namespace scavenger::campaign {

inline constexpr std::size_t kTaskMessageLimitBytes = std::size_t{1} << 20;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

namespace message {

// scavenger-task -> controller: the first message.
struct Hello {
  static constexpr std::string_view kName = "hello";
  std::uint32_t machine = 0;  // the index of its launch ticket
  std::int64_t pid = 0;
  std::string version_line;
};
// scavenger-task -> controller: about once a second.
struct Alive {
  static constexpr std::string_view kName = "alive";
};
// scavenger-task -> controller: it was told that its machine is about to be taken away.
struct Leaving {
  static constexpr std::string_view kName = "leaving";
};
// Both ways: a file begins, relative to the simulation's folder; its pieces follow. Files of one
// task come one after the other.
struct PutFile {
  static constexpr std::string_view kName = "put_file";
  TaskId task = 0;
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // hexadecimal
  bool is_checkpoint = false;
  bool is_executable = false;
};
// controller -> scavenger-task: run this command in the task's folder.
struct Run {
  static constexpr std::string_view kName = "run";
  TaskId task = 0;
  std::vector<std::string> words;
  std::vector<std::string> checkpoint_files;  // patterns
  std::vector<std::string> result_files;      // patterns
  bool takes_checkpoints = false;             // by itself
  std::string stop_file;
  int stop_signal = 0;
};
// controller -> scavenger-task
struct Stop {
  static constexpr std::string_view kName = "stop";
  TaskId task = 0;
};
// controller -> scavenger-task: kill what runs and remove the folder.
struct End {
  static constexpr std::string_view kName = "end";
  TaskId task = 0;
};
// controller -> scavenger-task: kill everything and end.
struct Leave {
  static constexpr std::string_view kName = "leave";
};
// scavenger-task -> controller
struct Began {
  static constexpr std::string_view kName = "began";
  TaskId task = 0;
};
// scavenger-task -> controller: the command has ended. `how`: "kept" (its files follow),
// "diverged", "failed" or "stopped".
struct Ended {
  static constexpr std::string_view kName = "ended";
  TaskId task = 0;
  std::string how;
  std::string reason;
  std::string log_tail;
};
// scavenger-task -> controller: all files have been sent. `is_final`: of a segment that has ended;
// else of a checkpoint that was taken meanwhile.
struct Delivered {
  static constexpr std::string_view kName = "delivered";
  TaskId task = 0;
  bool is_final = true;
};

}  // namespace message

using TaskMessage = std::variant<message::Hello, message::Alive, message::Leaving, message::PutFile,
                                 message::Run, message::Stop, message::End, message::Leave,
                                 message::Began, message::Ended, message::Delivered>;

std::string encode(const TaskMessage& message);
// Throws ProtocolError if `text` is no message, or names a file outside of its folder.
TaskMessage decode_task_message(std::string_view text);

// Whether a name stays inside of the folder that it is relative to.
bool is_inside(const std::string& name);

}  // namespace scavenger::campaign
