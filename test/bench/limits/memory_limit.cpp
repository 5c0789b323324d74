// The memory limit beside a synchronisation in shared memory: how long all cores take to move as
// many bytes as the sum of K gradients and an SGD-momentum step move, in a triad a = b + s c. One
// core's process of a crew (crew.py).
//
//   memory_limit FLOATS WORKERS CORE CORES START_LINE

#include <iostream>
#include <string>
#include <vector>

#include "ps/core/float_buffer.h"
#include "test/bench/timed_turn.h"

namespace scavenger::bench {
namespace {

void triad(float* a, const float* b, const float* c, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 0.5F * c[i];
}

void work(std::uint64_t floats, std::uint32_t workers, std::uint32_t core, std::uint32_t cores,
          const std::string& start_line_path) {
  // The step reads K gradients, weights and momentum, and writes weights and momentum; a triad
  // reads two and writes one.
  const std::size_t size = (workers + 4) * floats / 3 / cores;
  ps::FloatBuffer a(size), b(size), c(size);
  for (auto* buffer : {&a, &b, &c})
    for (float& value : buffer->span()) value = 1e-3F;
  StartLine start_line(start_line_path, core, cores);
  std::cout << "ready" << std::endl;
  serve_turns(
      start_line, [](std::uint64_t) {},
      [&](std::uint64_t) { triad(a.span().data(), b.span().data(), c.span().data(), size); });
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: memory_limit FLOATS WORKERS CORE CORES START_LINE\n";
    return 2;
  }
  const auto number = [argv](int i) { return static_cast<std::uint32_t>(std::stoul(argv[i])); };
  scavenger::bench::work(std::stoull(argv[1]), number(2), number(3), number(4), argv[5]);
  return 0;
}
