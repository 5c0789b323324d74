// One worker of the synchronisation benchmarks: the product's synchroniser with gradients that cost
// nothing. A process of a crew (crew.py); what is measured is what a worker's loop does from the
// end of backward until it has new weights.
//
//   sync_worker --floats N --rank R --workers K --start-line FILE HOST:PORT...      over TCP;
//     with --near I, shard I works in the worker's memory
//   sync_worker --floats N --rank R --workers K --start-line FILE --shared-file FD  in shared
//   memory

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/shm/shm_synchroniser.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/error.h"
#include "runtime/net/io_thread.h"
#include "test/bench/bench_job.h"
#include "test/bench/timed_turn.h"

namespace scavenger::bench {
namespace {

// Backward hands gradients over layer by layer, from the last to the first.
constexpr std::uint64_t kFloatsPerLayer = 1 << 18;

struct WorkerOptions {
  JobOptions job;
  std::uint32_t rank = 0;
  std::string start_line;
  int shared_file = -1;
  int near = -1;
  std::vector<std::string> shards;
};

SyncGroup group_of(const WorkerOptions& options) {
  SyncGroup group;
  group.rank = options.rank;
  group.membership = membership_of(options.job);
  for (std::uint32_t k = 0; k < options.job.workers; ++k) group.slots.push_back(k);
  for (const std::string& shard : options.shards) {
    const std::size_t colon = shard.rfind(':');
    group.shards.push_back({shard.substr(0, colon),
                            static_cast<std::uint16_t>(std::stoi(shard.substr(colon + 1))),
                            static_cast<int>(group.shards.size()) == options.near});
  }
  group.writes_initial_weights = options.rank == 0;
  return group;
}

void iterate(Synchroniser& synchroniser, std::uint64_t iteration) {
  synchroniser.begin(iteration);
  for (std::uint64_t last = synchroniser.gradients().size(); last > 0;) {
    const std::uint64_t first = last > kFloatsPerLayer ? last - kFloatsPerLayer : 0;
    synchroniser.gradient_ready(first, last);
    last = first;
  }
  if (!synchroniser.finish())
    throw ConnectionError({.what = synchroniser.problem(), .where = "sync_worker", .remedy = {}});
}

std::unique_ptr<Synchroniser> make_synchroniser(const WorkerOptions& options, IoThread& io,
                                                const Clock& clock) {
  const JobOptions& job = options.job;
  if (options.shared_file < 0) {
    const ps::ChunkLayout layout(job.floats, job.chunk_bytes,
                                 static_cast<std::uint32_t>(options.shards.size()));
    return std::make_unique<ps::TcpSynchroniser>(io.context(), clock, layout, read_credentials());
  }
  return std::make_unique<ps::ShmSynchroniser>(
      ps::Segment::attach(options.shared_file, shape_of(job)), clock,
      ps::ShmSynchroniser::Options{job.optimizer(), kSamplesPerEpoch,
                                   std::thread::hardware_concurrency()});
}

void work(const WorkerOptions& options) {
  IoThread io;
  const SteadyClock clock;
  const auto synchroniser = make_synchroniser(options, io, clock);
  if (!synchroniser->join(group_of(options),
                          [](std::span<float> weights) { std::ranges::fill(weights, 0.0F); }))
    throw ConnectionError({.what = synchroniser->problem(), .where = "sync_worker", .remedy = {}});
  StartLine start_line(options.start_line, options.rank, options.job.workers);
  std::cout << "ready" << std::endl;
  serve_turns(
      start_line,
      [&](std::uint64_t i) {
        std::ranges::fill(synchroniser->gradients(), i % 2 == 0 ? 1e-3F : -1e-3F);
      },
      [&](std::uint64_t i) { iterate(*synchroniser, i); });
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  using namespace scavenger::bench;
  CLI::App app("One worker of the synchronisation benchmarks.");
  WorkerOptions options;
  declare(app, options.job);
  app.add_option("--rank", options.rank)->required();
  app.add_option("--start-line", options.start_line)->required();
  app.add_option("--shared-file", options.shared_file, "an inherited file descriptor");
  app.add_option("--near", options.near, "the index of the shard on this worker's host");
  app.add_option("shards", options.shards, "HOST:PORT of each");
  CLI11_PARSE(app, argc, argv);
  try {
    work(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
