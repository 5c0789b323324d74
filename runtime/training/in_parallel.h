// How work is divided among the threads that compute.
#pragma once

#include <functional>

namespace scavenger {

// Does the work on each of the worker's computing threads at once, on this one too, and returns
// when all have done it. The work must be right on any number of threads.
using InParallel = std::function<void(const std::function<void()>& work)>;

}  // namespace scavenger
