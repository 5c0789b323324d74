// The machine's disk without waiting for it: for tests that write many checkpoints. What it
// leaves out matters to power cuts only, not to crashes of a process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "runtime/checkpoint/disk.h"

namespace scavenger {

class QuickDisk : public LocalDisk {
 public:
  std::unique_ptr<FileOutput> create_file(const std::filesystem::path& path) override {
    return std::make_unique<Output>(LocalDisk::create_file(path));
  }
  void sync_folder(const std::filesystem::path&) override {}

 private:
  class Output final : public FileOutput {
   public:
    explicit Output(std::unique_ptr<FileOutput> real) : real_(std::move(real)) {}
    void write(std::span<const std::byte> bytes) override { real_->write(bytes); }
    void sync() override {}

   private:
    std::unique_ptr<FileOutput> real_;
  };
};

}  // namespace scavenger
