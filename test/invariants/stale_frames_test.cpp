// Invariant 4 on the wire: frames of an earlier epoch or iteration, at any time, change no bit.
#include <catch2/catch.hpp>

#include "test/unit/ps/tcp/raw_member.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

// The second rank of a job, which computes what it should, and says stale things in between.
class Straggler final {
 public:
  Straggler(TcpJob& job, std::uint64_t seed)
      : job_(job), random_(seed, "stale"), weights_(job.options().flat_size), member_(job) {
    member_.pull(1);
    take_weights();
  }

  void iterate(std::uint64_t iteration) {
    std::vector<float> gradient(weights_.size());
    write_gradient(weights_, iteration, 1, gradient);
    for (const std::uint32_t chunk : permutation(random_, job_.layout().chunk_count())) {
      while (random_.below(3) > 0) say_something_stale(iteration, chunk);
      const ChunkRange range = job_.layout().range(chunk);
      member_.say({.type = FrameType::kGradient,
                   .membership_epoch = 1,
                   .chunk = chunk,
                   .iteration = iteration,
                   .rank = 1},
                  std::as_bytes(std::span(gradient).subspan(range.first, range.size)));
    }
    take_weights();
  }

 private:
  void say_something_stale(std::uint64_t iteration, std::uint32_t chunk) {
    FrameHeader header{.type = FrameType::kGradient,
                       .membership_epoch = 1,
                       .chunk = chunk,
                       .iteration = iteration,
                       .rank = 1};
    if (iteration > 0 && random_.below(2) == 0)
      header.iteration = random_.below(iteration);
    else
      header.membership_epoch = 0;
    member_.say(header, job_.layout().range(chunk).size * sizeof(float));
  }

  void take_weights() {
    for (std::uint32_t i = 0; i < job_.layout().chunk_count(); ++i) {
      const auto [header, payload] = member_.next_frame();
      const auto place = std::span(weights_).subspan(job_.layout().range(header.chunk).first);
      std::ranges::copy(payload, std::as_writable_bytes(place).begin());
    }
  }

  TcpJob& job_;
  RandomStream random_;
  std::vector<float> weights_;
  RawMember member_;
};

}  // namespace

TEST_CASE("stale frames between the right ones change no bit of what is trained") {
  constexpr std::uint64_t kIterations = 5;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    TcpJob job({.shares = {3, 5}, .flat_size = 1003, .chunk_bytes = 512});
    TcpWorker worker(job, 0);
    Straggler straggler(job, seed);
    for (std::uint64_t iteration = 0; iteration < kIterations; ++iteration) {
      worker.begin(iteration);
      straggler.iterate(iteration);
      worker.synchroniser().finish();
    }

    CHECK(worker.weights() == reference(job.options(), kIterations).weights);
  }
}
