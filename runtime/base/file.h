// Files: whole reads, writes that survive a crash, and read-only memory maps. All functions throw
// SystemError if they fail. Only regular files are read, since a pipe or a device may never end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace scavenger {

// Far more bytes than any text has that is read as a whole: settings, states, tables, process logs.
inline constexpr std::uint64_t kLargestText = std::uint64_t{256} << 20;

// Returns the content of the whole file. Throws if it has more than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes = kLargestText);

// Writes `content` beside `path`, forces it to disk, and renames it over `path`. A reader sees
// either the old or the new content, even after a power cut.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Writes what a user asked for to the file that the user named. A link stays a link: the file that
// it points to is written. A device or a pipe is written to, and not replaced by a file.
void write_output_file(const std::filesystem::path& path, std::string_view content);

// Forces the content of a file, or the list of names of a folder, to disk.
void sync_to_disk(const std::filesystem::path& path);

// Owns an open file descriptor, which the destructor closes.
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

// Opens a file for reading without blocking. Throws if it is not a regular file.
FileDescriptor open_regular_file(const std::filesystem::path& path);

// A whole file, mapped read-only. All processes of the host share its pages. A move of this object
// leaves the bytes at their address.
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
