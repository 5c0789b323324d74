// Keeps TensorBoard's event files up with the event log of a run, on a thread of its own.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace scavenger::elastic {

class TensorboardMirror final {
 public:
  // Of RUN/events.jsonl, into `folder`. Throws SystemError if the folder cannot be written.
  TensorboardMirror(const std::filesystem::path& run_folder, const std::filesystem::path& folder);
  // Takes in the rest first.
  ~TensorboardMirror();

 private:
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread runner_;
};

// The whole log at once. Throws InputError if it is damaged; SystemError.
void mirror_to_tensorboard(const std::filesystem::path& run_folder,
                           const std::filesystem::path& folder);

}  // namespace scavenger::elastic
