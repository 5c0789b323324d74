#include "elastic/coordinator/store_feeder.h"

#include <chrono>
#include <exception>
#include <utility>

namespace scavenger::elastic {

StoreFeeder::StoreFeeder(OpenStore open) : open_(std::move(open)), thread_([this] { run(); }) {}

StoreFeeder::~StoreFeeder() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StoreFeeder::offer(perfmodel::ModelRecord record) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(record);
  }
  changed_.notify_all();
}

bool StoreFeeder::finish(double patience_seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(patience_seconds),
                           [this] { return !waiting_ && !busy_; });
}

std::optional<std::string> StoreFeeder::take_problem() {
  const std::lock_guard lock(mutex_);
  if (problem_ == told_) return std::nullopt;
  told_ = problem_;
  return problem_.empty() ? std::nullopt : std::optional(problem_);
}

void StoreFeeder::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || waiting_; });
    if (stopping_) return;
    const perfmodel::ModelRecord record = *std::exchange(waiting_, std::nullopt);
    busy_ = true;
    lock.unlock();
    std::string problem;
    try {
      open_()->record(record);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    lock.lock();
    busy_ = false;
    problem_ = std::move(problem);
    changed_.notify_all();
  }
}

}  // namespace scavenger::elastic
