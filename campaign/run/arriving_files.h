// The files of a segment, as they come from its machine piece by piece.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "campaign/task/task_channel.h"
#include "campaign/task/task_message.h"

namespace scavenger::campaign {

// In memory, since they are kept on disk together or not at all. All throw ProtocolError if the
// machine sends something else than it announced.
class ArrivingFiles final {
 public:
  // A file begins. The one before must be whole.
  void begin(const message::PutFile& file);
  void add(std::string_view piece);
  // Returns all files that have come, and begins anew.
  std::vector<TaskFile> take();

 private:
  void finish_if_whole();

  std::vector<TaskFile> files_;
  std::optional<message::PutFile> arriving_;  // the last of the files is not whole
};

}  // namespace scavenger::campaign
