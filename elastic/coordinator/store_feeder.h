// Brings what a job measures to a store of measurements, beside the job: a store that is slow,
// locked or gone holds up nothing.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "perfmodel/store/model_store.h"

namespace scavenger::elastic {

// Thread: all calls from one thread; the store is opened and used on the feeder's.
class StoreFeeder final {
 public:
  using OpenStore = std::function<std::unique_ptr<perfmodel::ModelStore>()>;

  explicit StoreFeeder(OpenStore open);
  ~StoreFeeder();  // waits for the record that is being written, no longer
  StoreFeeder(const StoreFeeder&) = delete;
  StoreFeeder& operator=(const StoreFeeder&) = delete;

  // Replaces one that still waits: each record has everything that the job has measured.
  void offer(perfmodel::ModelRecord record);
  // Waits until nothing waits any more, but not for ever: whether that came to pass.
  bool finish(double patience_seconds);
  // Why the last record was not taken; once for each reason.
  std::optional<std::string> take_problem();

 private:
  void run();

  const OpenStore open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // State below is protected by mutex_.
  std::optional<perfmodel::ModelRecord> waiting_;
  bool busy_ = false;
  bool stopping_ = false;
  std::string problem_;
  std::string told_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace scavenger::elastic
