// How work is divided among the threads that compute.
#pragma once

#include <cstdint>
#include <functional>

namespace scavenger {

// Does the work on each of the worker's computing threads at once, on this one too, and returns
// when all have done it. The work must be right on any number of threads.
using InParallel = std::function<void(const std::function<void()>& work)>;

// GOMP_parallel of an OpenMP library: calls work(data) on that many threads, on this one too.
using ParallelCall = void (*)(void (*work)(void* data), void* data, unsigned threads,
                              unsigned flags);

inline void call_in_parallel(ParallelCall parallel, std::uint32_t threads,
                             const std::function<void()>& work) {
  const auto call = [](void* data) { (*static_cast<const std::function<void()>*>(data))(); };
  parallel(call, const_cast<std::function<void()>*>(&work), threads, 0);
}

}  // namespace scavenger
