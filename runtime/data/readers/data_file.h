// A user's data file, which is read from front to back. It is unpacked while reading if its content
// is gzip, whatever its name is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace scavenger {

// Thread: one thread at a time. All functions throw DataError, which names the file.
class DataFile final {
 public:
  explicit DataFile(std::filesystem::path path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Fills `bytes` and returns the number of bytes read, which is smaller than the span only at the
  // end of the file.
  std::size_t read(std::span<std::uint8_t> bytes);
  // Returns the rest of the file as text.
  std::string read_rest();

 private:
  struct Handle;
  std::filesystem::path path_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace scavenger
