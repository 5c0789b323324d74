// Files: whole reads, writes that survive a crash, and read-only memory maps. All throw
// SystemError. What is read is a regular file: a pipe may never end, and a device neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace scavenger {

// Far above any text that is read as a whole: settings, states, tables, logs of processes.
inline constexpr std::uint64_t kLargestText = std::uint64_t{256} << 20;

// The whole file; throws as soon as it is seen to have more than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes = kLargestText);

// Writes `content` beside `path`, forces it to disk, and renames it over `path`: a reader sees the
// old or the new content, never a part, also after a power cut.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Forces a file's content, or a folder's list of names, to disk.
void sync_to_disk(const std::filesystem::path& path);

// An open file descriptor, closed at the end of its life.
class FileDescriptor final {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  int get() const { return fd_; }
  int release();
  void close();

 private:
  int fd_ = -1;
};

// Opens a file for reading, without waiting for anybody; throws where it is not a regular one.
FileDescriptor open_regular_file(const std::filesystem::path& path);

// A whole file mapped read-only; pages are shared by all processes of the host. The mapping does
// not move.
class MappedFile final {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace scavenger
