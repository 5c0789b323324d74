// The message that announces a file.
#pragma once

#include <string>

#include "campaign/task/task_message.h"
#include "runtime/base/digest.h"

namespace scavenger::campaign {

inline message::PutFile announced(const std::string& name, const std::string& content) {
  message::PutFile file;
  file.name = name;
  file.bytes = content.size();
  file.sha256 = sha256_hex(content);
  return file;
}

}  // namespace scavenger::campaign
