// The port for everything that a checkpoint does to a disk. A process uses the real disk; tests use
// one that is full or fails at any byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace scavenger {

// A new file. The destructor closes it. Its bytes are safe only after sync().
class FileOutput {
 public:
  virtual ~FileOutput() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void sync() = 0;
};

// All functions throw SystemError.
class Disk {
 public:
  virtual ~Disk() = default;
  // Fails if `path` exists.
  virtual std::unique_ptr<FileOutput> create_file(const std::filesystem::path& path) = 0;
  virtual void create_folder(const std::filesystem::path& path) = 0;
  virtual void create_link(const std::filesystem::path& target,
                           const std::filesystem::path& path) = 0;
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  // Swaps two names in one step. Returns false, and changes nothing, if the file system cannot do
  // that.
  virtual bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) = 0;
  // Forces the list of names of a folder to disk.
  virtual void sync_folder(const std::filesystem::path& path) = 0;
  virtual void remove_all(const std::filesystem::path& path) = 0;
  // Returns the free bytes of the file system of `path`; nothing if it does not report them.
  virtual std::optional<std::uint64_t> free_bytes(const std::filesystem::path& path) = 0;
};

// The machine's file systems. Thread-safe.
class LocalDisk : public Disk {
 public:
  std::unique_ptr<FileOutput> create_file(const std::filesystem::path& path) override;
  void create_folder(const std::filesystem::path& path) override;
  void create_link(const std::filesystem::path& target, const std::filesystem::path& path) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) override;
  void sync_folder(const std::filesystem::path& path) override;
  void remove_all(const std::filesystem::path& path) override;
  std::optional<std::uint64_t> free_bytes(const std::filesystem::path& path) override;
};

}  // namespace scavenger
