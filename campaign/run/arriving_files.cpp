#include "campaign/run/arriving_files.h"

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"

namespace scavenger::campaign {
namespace {

[[noreturn]] void refuse_delivery(const char* what, const std::string& file) {
  throw ProtocolError({.what = what, .where = file, .remedy = {}});
}

}  // namespace

void ArrivingFiles::begin(const message::PutFile& file) {
  std::uint64_t bytes = file.bytes;
  for (const TaskFile& other : files_) bytes += other.content.size();
  if (arriving_ || bytes > 2 * kMostFileBytes)
    refuse_delivery("more files came than a segment has", file.name);
  TaskFile begun;
  begun.name = file.name;
  begun.is_checkpoint = file.is_checkpoint;
  files_.push_back(std::move(begun));
  arriving_ = file;
  finish_if_whole();
}

void ArrivingFiles::add(std::string_view piece) {
  if (!arriving_) refuse_delivery("a piece belongs to no file", {});
  std::string& content = files_.back().content;
  content += piece;
  if (content.size() > arriving_->bytes)
    refuse_delivery("a file is longer than was said", arriving_->name);
  finish_if_whole();
}

void ArrivingFiles::finish_if_whole() {
  if (files_.back().content.size() < arriving_->bytes) return;
  if (sha256_hex(files_.back().content) != arriving_->sha256)
    refuse_delivery("a file has another hash than was said", arriving_->name);
  arriving_.reset();
}

std::vector<TaskFile> ArrivingFiles::take() {
  if (arriving_) refuse_delivery("a delivery ended within a file", arriving_->name);
  return std::exchange(files_, {});
}

}  // namespace scavenger::campaign
