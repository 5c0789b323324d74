// The memory limit beside a synchronisation in shared memory: how long all cores take to move as
// many bytes as the sum of K gradients and an SGD-momentum step move, in a triad a = b + s c. A
// process of a crew (crew.py).
//
//   memory_limit FLOATS WORKERS START_LINE

#include <algorithm>
#include <barrier>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "ps/core/float_buffer.h"
#include "test/bench/timed_turn.h"

namespace scavenger::bench {
namespace {

void triad(float* a, const float* b, const float* c, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 0.5F * c[i];
}

// One core's part of the triad.
struct Part {
  explicit Part(std::size_t floats) : a(floats), b(floats), c(floats) {
    for (auto* buffer : {&a, &b, &c})
      for (float& value : buffer->span()) value = 1e-3F;
  }
  ps::FloatBuffer a, b, c;
};

void work(std::uint64_t floats, std::uint64_t workers, const std::string& start_line_path) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  // The step reads K gradients, weights and momentum, and writes weights and momentum; a triad
  // reads two and writes one.
  const std::size_t floats_of_part = (workers + 4) * floats / 3 / cores;
  std::vector<Part> parts;
  for (unsigned core = 0; core < cores; ++core) parts.emplace_back(floats_of_part);
  const auto run = [&](unsigned core) {
    triad(parts[core].a.span().data(), parts[core].b.span().data(), parts[core].c.span().data(),
          floats_of_part);
  };
  std::barrier begin(cores), end(cores);
  bool stopping = false;
  std::vector<std::jthread> threads;
  for (unsigned core = 1; core < cores; ++core)
    threads.emplace_back([&, core] {
      for (;;) {
        begin.arrive_and_wait();
        if (stopping) return;
        run(core);
        end.arrive_and_wait();
      }
    });
  StartLine start_line(start_line_path, 0, 1);
  std::cout << "ready" << std::endl;
  serve_turns(
      start_line, [](std::uint64_t) {},
      [&](std::uint64_t) {
        begin.arrive_and_wait();
        run(0);
        end.arrive_and_wait();
      });
  stopping = true;
  begin.arrive_and_wait();
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: memory_limit FLOATS WORKERS START_LINE\n";
    return 2;
  }
  scavenger::bench::work(std::stoull(argv[1]), std::stoull(argv[2]), argv[3]);
  return 0;
}
