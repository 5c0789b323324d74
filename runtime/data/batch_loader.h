// Assembles a worker's batches ahead of their use, on a separate thread.
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

// The batches that a worker needs from some iteration until the next reshape.
struct LoadPlan {
  std::uint64_t first_iteration = 0;
  std::uint64_t first_position = 0;  // where the first iteration's global batch starts
  std::uint32_t batch_size = 0;      // B: the positions that each iteration takes
  std::uint32_t offset = 0;          // start of this worker's slice in the global batch
  std::uint32_t share = 0;           // b_k; offset + share <= B
};

struct LoadedBatch {
  const Batch& batch;  // valid until the next call of next() or start()
  std::uint64_t iteration = 0;
  double wait_seconds = 0.0;  // how long next() waited for the loader
};

// Fills `batch` with the samples of `place`.
using AssembleBatch = std::function<void(const BatchPlace& place, Batch& batch)>;

// Thread: all calls from one thread; `assemble` is called on the loader's thread. The destructor
// waits at most for the batch that is being assembled.
class BatchLoader final {
 public:
  // The consumer holds one of the buffers, so `buffers` - 1 batches are assembled ahead. Requires
  // at least 2 buffers. `clock` must outlive the loader.
  BatchLoader(AssembleBatch assemble, const Clock& clock, std::size_t buffers = 3);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Starts to load, at the start of the job and at each reshape. Batches of an earlier plan are
  // dropped. Returns at once.
  void start(const LoadPlan& plan);

  // Returns the batch of the plan's next iteration, and blocks until it is ready. Requires start().
  // If `assemble` threw, this throws the same exception, and does so until the next start().
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
  std::uint64_t plan_number_ = 0;  // 0 before start()
  // Batches of the current plan that the loader's thread has taken.
  std::uint64_t batches_taken_ = 0;
  std::uint64_t batches_passed_ = 0;  // of the current plan, by the consumer
  std::size_t consumed_;              // the consumer's buffer, or buffers_.size()
  std::exception_ptr failure_;        // ends the current plan
  bool stopping_ = false;

  std::thread thread_;  // last, since it uses all of the above
};

}  // namespace scavenger
