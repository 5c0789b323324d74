// A disk that asks before each step, and before each byte count that is written: for tests that
// fail or end the process at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "test/unit/runtime/checkpoint/quick_disk.h"

namespace scavenger {

class StepwiseDisk final : public QuickDisk {
 public:
  // `before_step` is called before each change that is not a write. `room_for` is called with the
  // size of each write, and says how much of it gets to disk; `when_full` is called where that is
  // not all.
  struct Hooks {
    std::function<void()> before_step = [] {};
    std::function<std::size_t(std::size_t)> room_for = [](std::size_t bytes) { return bytes; };
    std::function<void()> when_full = [] {};
  };

  explicit StepwiseDisk(Hooks hooks) : hooks_(std::move(hooks)) {}

  std::unique_ptr<FileOutput> create_file(const std::filesystem::path& path) override {
    hooks_.before_step();
    return std::make_unique<Output>(QuickDisk::create_file(path), hooks_);
  }
  void create_folder(const std::filesystem::path& path) override {
    hooks_.before_step();
    QuickDisk::create_folder(path);
  }
  void create_link(const std::filesystem::path& target,
                   const std::filesystem::path& path) override {
    hooks_.before_step();
    QuickDisk::create_link(target, path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    hooks_.before_step();
    QuickDisk::rename(from, to);
  }
  bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) override {
    hooks_.before_step();
    return QuickDisk::exchange(a, b);
  }
  void sync_folder(const std::filesystem::path&) override { hooks_.before_step(); }
  void remove_all(const std::filesystem::path& path) override {
    hooks_.before_step();
    QuickDisk::remove_all(path);
  }
  // As on a file system that does not say: so that writes are tried.
  std::optional<std::uint64_t> free_bytes(const std::filesystem::path&) override { return {}; }

 private:
  class Output final : public FileOutput {
   public:
    Output(std::unique_ptr<FileOutput> real, const Hooks& hooks)
        : real_(std::move(real)), hooks_(hooks) {}
    void write(std::span<const std::byte> bytes) override {
      const std::size_t room = hooks_.room_for(bytes.size());
      real_->write(bytes.first(room));
      if (room < bytes.size()) hooks_.when_full();
    }
    void sync() override { hooks_.before_step(); }

   private:
    std::unique_ptr<FileOutput> real_;
    const Hooks& hooks_;
  };

  Hooks hooks_;
};

}  // namespace scavenger
