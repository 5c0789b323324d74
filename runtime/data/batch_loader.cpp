#include "runtime/data/batch_loader.h"

#include <utility>

#include "runtime/base/check.h"

namespace scavenger {

BatchLoader::BatchLoader(AssembleBatch assemble, const Clock& clock, std::size_t buffers)
    : assemble_(std::move(assemble)), clock_(clock), buffers_(buffers), consumed_(buffers) {
  SCAVENGER_CHECK(buffers >= 2);
  ready_.reserve(buffers);
  for (std::size_t i = 0; i < buffers; ++i) free_.push_back(i);
  thread_ = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_changed_.notify_one();
  thread_.join();
}

void BatchLoader::start(const LoadPlan& plan) {
  SCAVENGER_CHECK(plan.batch_size > 0);
  SCAVENGER_CHECK(std::uint64_t{plan.offset} + plan.share <= plan.batch_size);
  {
    const std::lock_guard lock(mutex_);
    release_consumed();
    free_.insert(free_.end(), ready_.begin(), ready_.end());
    ready_.clear();
    plan_ = plan;
    ++plan_number_;
    batches_taken_ = 0;
    batches_passed_ = 0;
    failure_ = nullptr;
  }
  work_changed_.notify_one();
}

LoadedBatch BatchLoader::next() {
  std::unique_lock lock(mutex_);
  SCAVENGER_CHECK(plan_number_ > 0);
  release_consumed();
  work_changed_.notify_one();
  double wait_seconds = 0.0;
  if (ready_.empty() && !failure_) {
    const double start_seconds = clock_.now_seconds();
    ready_changed_.wait(lock, [this] { return !ready_.empty() || failure_; });
    wait_seconds = clock_.now_seconds() - start_seconds;
  }
  if (ready_.empty()) std::rethrow_exception(failure_);
  consumed_ = ready_.front();
  ready_.erase(ready_.begin());
  return {.batch = buffers_[consumed_],
          .iteration = plan_.first_iteration + batches_passed_++,
          .wait_seconds = wait_seconds};
}

void BatchLoader::release_consumed() {
  if (consumed_ == buffers_.size()) return;
  free_.push_back(std::exchange(consumed_, buffers_.size()));
}

void BatchLoader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_changed_.wait(
        lock, [this] { return stopping_ || (plan_number_ > 0 && !failure_ && !free_.empty()); });
    if (stopping_) return;
    const Task task = take_task();
    lock.unlock();
    std::exception_ptr failure = assemble(task);
    lock.lock();
    give_result(task, std::move(failure));
  }
}

BatchLoader::Task BatchLoader::take_task() {
  const std::size_t buffer = free_.back();
  free_.pop_back();
  const std::uint64_t batch_position = plan_.first_position + batches_taken_++ * plan_.batch_size;
  return {.buffer = buffer,
          .plan_number = plan_number_,
          .place = {.first = batch_position + plan_.offset,
                    .size = plan_.share,
                    .global_first = batch_position,
                    .global_size = plan_.batch_size}};
}

std::exception_ptr BatchLoader::assemble(const Task& task) {
  try {
    assemble_(task.place, buffers_[task.buffer]);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void BatchLoader::give_result(const Task& task, std::exception_ptr failure) {
  const bool is_current = task.plan_number == plan_number_;
  (is_current && !failure ? ready_ : free_).push_back(task.buffer);
  if (!is_current) return;
  failure_ = std::move(failure);
  ready_changed_.notify_one();
}

}  // namespace scavenger
