// A user's data file, read from front to back and unpacked on the way where its content is gzip,
// whatever its name is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace scavenger {

// Thread: one thread at a time. Everything throws DataError, naming the file.
class DataFile final {
 public:
  explicit DataFile(std::filesystem::path path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Fills `bytes` and returns how many were left to fill it with: fewer only at the file's end.
  std::size_t read(std::span<std::uint8_t> bytes);
  // All that follows, as text.
  std::string read_rest();

 private:
  struct Handle;
  std::filesystem::path path_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace scavenger
