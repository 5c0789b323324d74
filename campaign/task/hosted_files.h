// The files of a simulation in its folder on a machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "campaign/task/task_channel.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"

namespace scavenger::campaign {

// A file that comes in pieces. It has its name only when it is whole and its hash is right.
class ArrivingFile final {
 public:
  // Throws SystemError.
  ArrivingFile(const std::filesystem::path& folder, message::PutFile file);
  // Throws ProtocolError if there is more than was announced, SystemError.
  void add(std::string_view piece);
  bool is_whole() const { return received_bytes_ == file_.bytes; }
  // Throws ProtocolError if the hash is not what was announced.
  void finish();
  const message::PutFile& file() const { return file_; }

 private:
  std::filesystem::path partial() const;

  const std::filesystem::path path_;
  const message::PutFile file_;
  std::uint64_t received_bytes_ = 0;
  DigestStream digest_;
  std::shared_ptr<std::ostream> output_;
};

// The files that fit the patterns, by their names relative to the folder; folders in it count.
// Throws DataError if one of the patterns has no file, or together they are too large; SystemError.
std::vector<TaskFile> read_fitting_files(const std::filesystem::path& folder,
                                         const std::vector<std::string>& patterns,
                                         bool are_checkpoint);

// Their sizes and times: whether they have changed while they were read.
std::string stamp_of(const std::filesystem::path& folder, const std::vector<TaskFile>& files);

// A folder for the tasks of this process, that only its user may enter. Folders that killed
// processes of this user have left are removed. The destructor removes it.
class WorkFolder final {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace scavenger::campaign
