// Assembles a worker's batches ahead of their use, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/data/batch_place.h"
#include "runtime/training/batch.h"

namespace scavenger {

// Which batches a worker needs from some iteration on, until the next reshape.
struct LoadPlan {
  std::uint64_t first_iteration = 0;
  std::uint64_t first_position = 0;  // where the first iteration's global batch starts
  std::uint32_t batch_size = 0;      // B: how far each iteration moves on
  std::uint32_t offset = 0;          // of this worker's slice in the global batch
  std::uint32_t share = 0;           // b_k; offset + share <= B
};

struct LoadedBatch {
  const Batch& batch;  // until the next call of next() or start()
  std::uint64_t iteration = 0;
  double wait_seconds = 0.0;  // for how long next() had to wait for the loader
};

// Fills a batch with the samples of a place.
using AssembleBatch = std::function<void(const BatchPlace& place, Batch& batch)>;

// Thread: all calls from one thread; `assemble` is called on the loader's. The destructor waits for
// the batch that is being assembled, no longer.
class BatchLoader final {
 public:
  // One of the buffers is in the consumer's hands, so `buffers` - 1 batches are made ahead; at
  // least 2. `clock` must outlive the loader.
  BatchLoader(AssembleBatch assemble, const Clock& clock, std::size_t buffers = 3);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Begins to load, at the start and again at each reshape: what was made for an earlier plan is
  // dropped. Returns at once.
  void start(const LoadPlan& plan);

  // The batch of the plan's next iteration; blocks until it is there. Requires start(). Where
  // assembling it threw, so does this, and again until the next start().
  LoadedBatch next();

 private:
  struct Task {
    std::size_t buffer = 0;
    std::uint64_t plan_number = 0;
    BatchPlace place;
  };

  void run();
  Task take_task();
  void give_result(const Task& task, std::exception_ptr failure);
  std::exception_ptr assemble(const Task& task);
  void release_consumed();

  const AssembleBatch assemble_;
  const Clock& clock_;
  // A buffer belongs to the consumer, to the loader's thread, or to one of the two lists below.
  std::vector<Batch> buffers_;

  std::mutex mutex_;
  std::condition_variable work_changed_;   // for the loader's thread
  std::condition_variable ready_changed_;  // for the consumer
  // State below is protected by mutex_.
  std::vector<std::size_t> free_;   // buffers to be filled
  std::vector<std::size_t> ready_;  // filled for the current plan, oldest first
  LoadPlan plan_;
  std::uint64_t plan_number_ = 0;     // 0 before start()
  std::uint64_t batches_taken_ = 0;   // of the current plan, by the loader's thread
  std::uint64_t batches_passed_ = 0;  // of the current plan, to the consumer
  std::size_t consumed_;              // the consumer's buffer, or buffers_.size()
  std::exception_ptr failure_;        // ends the current plan
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace scavenger
