#include "campaign/task/hosted_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/pattern.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderPrefix = "scavenger-task-";
constexpr const char* kLockName = "lock";

[[noreturn]] void fail(const std::string& what, const fs::path& where) {
  throw SystemError(errno, {.what = what, .where = where.string(), .remedy = {}});
}

// Takes the lock of a folder; negative if another process has it, or there is none.
FileDescriptor try_lock(const fs::path& folder, int flags) {
  FileDescriptor file(
      ::open((folder / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  return FileDescriptor();
}

bool is_mine(const fs::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kFolderPrefix) || !is_mine(entry.path()))
      continue;
    const FileDescriptor lock = try_lock(entry.path(), 0);
    std::error_code ignored;
    if (lock.get() >= 0) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

// ---- Files that come. ----

ArrivingFile::ArrivingFile(const fs::path& folder, message::PutFile file)
    : path_(folder / file.name), file_(std::move(file)) {
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  output_ = std::make_shared<std::ofstream>(partial(), std::ios::binary | std::ios::trunc);
  if (!*output_) fail("cannot write", path_);
}

fs::path ArrivingFile::partial() const {
  return path_.string() + ".arriving";
}

void ArrivingFile::add(std::string_view piece) {
  if (piece.size() > file_.bytes - received_bytes_)
    throw ProtocolError(
        {.what = "a file is longer than was said", .where = file_.name, .remedy = {}});
  received_bytes_ += piece.size();
  digest_.update(std::as_bytes(std::span(piece.data(), piece.size())));
  output_->write(piece.data(), static_cast<std::streamsize>(piece.size()));
}

void ArrivingFile::finish() {
  output_->flush();
  if (!*output_) fail("cannot write", path_);
  output_.reset();
  if (to_hex(digest_.finish()) != file_.sha256)
    throw ProtocolError(
        {.what = "a file has another hash than was said", .where = file_.name, .remedy = {}});
  if (file_.is_executable) ::chmod(partial().c_str(), 0755);
  if (::rename(partial().c_str(), path_.c_str()) != 0) fail("cannot rename", path_);
}

// ---- Files that are there. ----

std::vector<TaskFile> read_fitting_files(const fs::path& folder,
                                         const std::vector<std::string>& patterns,
                                         bool are_checkpoint) {
  std::vector<TaskFile> files;
  std::uint64_t left_bytes = kMostFileBytes;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(folder).string();
    std::error_code gone;
    if (!entry->is_regular_file(gone) || !fits_any(name, patterns)) continue;
    const std::uint64_t bytes = entry->file_size(gone);
    if (gone) continue;
    if (bytes > left_bytes)
      throw DataError(
          {.what = fmt::format("the files are larger than {}", format_bytes(kMostFileBytes)),
           .where = fmt::format("{}", fmt::join(patterns, ", ")),
           .remedy = "write smaller ones; larger ones are not brought to the controller"});
    TaskFile file;
    file.name = name;
    file.content = read_file(entry->path(), left_bytes);
    file.is_checkpoint = are_checkpoint;
    left_bytes -= file.content.size();
    files.push_back(std::move(file));
  }
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(files,
                             [&](const auto& file) { return fits_pattern(file.name, pattern); }))
      throw DataError({.what = "the command left no such file", .where = pattern, .remedy = {}});
  std::ranges::sort(files, {}, &TaskFile::name);
  return files;
}

std::string stamp_of(const fs::path& folder, const std::vector<TaskFile>& files) {
  std::string text;
  for (const TaskFile& file : files) {
    struct stat status {};
    if (::stat((folder / file.name).c_str(), &status) != 0) continue;
    text += fmt::format("{} {} {} {}.{}\n", file.name, status.st_ino, status.st_size,
                        status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return text;
}

// ---- The folder. ----

WorkFolder::WorkFolder() {
  const fs::path parent = fs::temp_directory_path();
  remove_abandoned(parent);
  std::string name = (parent / (std::string(kFolderPrefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail("cannot make a folder", name);
  path_ = name;
  lock_ = try_lock(path_, O_CREAT);
  if (lock_.get() < 0) fail("cannot lock", path_);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace scavenger::campaign
