// What a shard and its keeper are sent: gradients, state, and the memory that workers share.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ps/shm/segment_keeper.h"
#include "ps/tcp/near_vectors.h"
#include "ps/tcp/shard_server.h"
#include "test/fuzz/fuzz.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint64_t kFlatSize = 100;  // in chunks of 32 floats: the last has 4
constexpr std::uint64_t kChunkBytes = 128;
const OptimizerConfig kOptimizer = {.momentum = 0.9, .schedule = {}};

// A frame as it comes off the wire: its header, then the payload that it announces.
struct Frame {
  FrameHeader header;
  std::vector<std::byte> payload;
};

std::string text_of(const FrameHeader& header) {
  const auto bytes = encode(header);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Throws ProtocolError, as a connection would, for what is no frame.
Frame read_frame(std::string input) {
  input.resize(std::max(input.size(), kFrameHeaderBytes));
  const auto bytes = bytes_of(input).first<kFrameHeaderBytes>();
  Frame frame{decode_frame_header(bytes, kChunkBytes), {}};
  frame.payload.resize(frame.header.payload_bytes);
  const std::size_t there = std::min(frame.payload.size(), input.size() - kFrameHeaderBytes);
  std::ranges::copy(bytes_of(input).subspan(kFrameHeaderBytes, there), frame.payload.begin());
  return frame;
}

// Frames that may well be right: fields near those that are, with the right size for their chunk;
// half of them damaged.
class NearFrames final {
 public:
  NearFrames(std::uint64_t seed, FrameType type) : type_(type), mutations_(seed, {""}) {}

  std::uint32_t epoch = 1;
  std::uint64_t iteration = 0;

  std::string next() {
    RandomStream& random = mutations_.random();
    FrameHeader header{.type = type_, .membership_epoch = epoch, .iteration = iteration};
    header.chunk = static_cast<std::uint32_t>(random.below(4));
    header.rank = static_cast<std::uint32_t>(random.below(2));
    header.payload_bytes = header.chunk == 3 ? 16 : kChunkBytes;
    if (random.below(8) == 0)
      header.membership_epoch += static_cast<std::uint32_t>(random.below(3)) - 1;
    if (random.below(8) == 0) header.iteration += random.below(3) - 1;
    std::string frame = text_of(header) + std::string(header.payload_bytes, '\0');
    for (std::size_t i = kFrameHeaderBytes; i + 4 <= frame.size(); i += 4) {
      const auto value = static_cast<float>(random.normal());
      std::memcpy(frame.data() + i, &value, sizeof value);
    }
    if (random.below(2) == 0) mutations_.change(frame);
    return frame;
  }
  RandomStream& random() { return mutations_.random(); }

 private:
  const FrameType type_;
  Mutations mutations_;
};

// A shard with two ranks, and all that a frame could change of it.
class WatchedShard final {
 public:
  WatchedShard() : gradients_(2 * kFlatSize) {
    shard_.start({});
    const std::vector<float> zeros(kFlatSize);
    for (const std::uint32_t chunk : shard_.chunks())
      shard_.load_weights(chunk, std::span(zeros).first(layout_.range(chunk).size));
    begin(1);
  }

  void begin(std::uint64_t epoch) {
    const std::span<float> all(gradients_);
    shard_.reconfigure({epoch, {3, 5}, {all.first(kFlatSize), all.subspan(kFlatSize)}},
                       shard_.iteration());
  }
  ParameterShard& shard() { return shard_; }

  std::vector<float> state() const {
    std::vector<float> all;
    for (const std::uint32_t chunk : shard_.chunks()) {
      const auto weights = shard_.weights(chunk), momentum = shard_.state(0, chunk);
      all.insert(all.end(), weights.begin(), weights.end());
      all.insert(all.end(), momentum.begin(), momentum.end());
    }
    return all;
  }

  // As ShardServer does it. Throws ProtocolError, also where the frame is stale.
  void take(const Frame& frame) {
    const FrameHeader& header = frame.header;
    const ChunkStamp stamp{header.membership_epoch, header.iteration, header.chunk, header.rank};
    if (frame.payload.size() % sizeof(float) != 0 ||
        shard_.admit(stamp, frame.payload.size() / sizeof(float)) == Admission::kStale)
      throw ProtocolError({.what = "stale", .where = {}, .remedy = {}});
    const std::span<float> place = shard_.gradient(header.rank, header.chunk);
    require_consistent(std::as_bytes(place).size() == frame.payload.size());
    std::ranges::copy(frame.payload, std::as_writable_bytes(place).begin());
    require_consistent(shard_.contribute(stamp, 0.1) != Outcome::kStale);
  }

 private:
  const ChunkLayout layout_{kFlatSize, kChunkBytes, 1};
  ParameterShard shard_{layout_, 0, kOptimizer};
  std::vector<float> gradients_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

ConfigureShard restoring(std::uint32_t epoch) {
  ConfigureShard message;
  message.flat_size = kFlatSize;
  message.samples_per_epoch = 1000;
  message.optimizer_steps = 5;
  message.has_state = true;
  message.membership = {epoch, 8, {8}, 5, 40};
  return message;
}

// Brings random state frames to a shard that is being restored, again and again.
template <typename Service>
Verdicts fuzz_state(Service& service, std::uint64_t seed) {
  NearFrames frames(seed, FrameType::kState);
  service.configure(restoring(frames.epoch));
  int restored = 0;
  const Verdicts verdicts = fuzz<ProtocolError>(
      [&] {
        if (frames.random().below(500) == 0) service.configure(restoring(++frames.epoch));
        return frames.next();
      },
      [&](const std::string& input) {
        const Frame frame = read_frame(input);
        service.state_payload() = frame.payload;
        if (!service.load_state(frame.header)) return;
        ++restored;
        require_consistent(service.progress() == ShardProgress{5, 5});
        service.configure(restoring(++frames.epoch));
      },
      {.bytes = 1 << 18});
  CHECK(verdicts.accepted > 0);
  CHECK(restored > 0);
  return verdicts;
}

}  // namespace

TEST_CASE("fuzz: of random gradient frames only those that are due change a shard") {
  WatchedShard watched;
  ParameterShard& shard = watched.shard();
  NearFrames frames(89, FrameType::kGradient);
  std::vector<float> before = watched.state();
  std::uint64_t iterations = 0;

  const Verdicts verdicts = fuzz<ProtocolError>(
      [&] {
        if (frames.random().below(100) == 0) watched.begin(++frames.epoch);
        frames.iteration = shard.iteration();
        before = watched.state();
        iterations = shard.iteration();
        return frames.next();
      },
      [&](const std::string& input) {
        const Frame frame = read_frame(input);
        try {
          watched.take(frame);
        } catch (const ProtocolError&) {
          require_consistent(shard.iteration() == iterations && same_bits(watched.state(), before));
          throw;
        }
        require_consistent(frame.header.membership_epoch == frames.epoch &&
                           frame.header.iteration == iterations &&
                           shard.iteration() - iterations <= 1);
      });

  CHECK(verdicts.accepted > 0);
  CHECK(shard.iteration() > 0);
}

TEST_CASE("fuzz: of random state frames a shard takes those that it lacks") {
  asio::io_context io;
  ShardServer server(io, {"127.0.0.1", 0}, JobCredentials::generate(), kOptimizer, kChunkBytes);

  fuzz_state(server, 97);
}

TEST_CASE("fuzz: of random state frames the keeper of shared memory takes those that it lacks") {
  asio::io_context io;
  SegmentKeeper keeper(io, make_shared_file(), kOptimizer, kChunkBytes);

  fuzz_state(keeper, 101);
}

TEST_CASE("fuzz: a damaged place in memory is refused, or it is another that could be said") {
  const auto bytes = encode(NearPlace{4711, 100, 0, 1 << 20});
  const std::string place(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Mutations mutations(107, {place});

  const Verdicts verdicts = fuzz<ProtocolError>(
      [&] {
        std::string damaged = mutations.next();
        damaged.resize(kNearPlaceBytes);
        return damaged;
      },
      [](const std::string& input) {
        const auto damaged = bytes_of(input).first<kNearPlaceBytes>();
        const NearPlace read = decode_near_place(damaged);
        require_consistent(read.pid > 0 && read.file >= 0);
        require_consistent(std::ranges::equal(encode(read), damaged));
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a file whose head is damaged is no segment, or is one of the shape asked for") {
  const SegmentShape shape{kFlatSize, kChunkBytes, 1};
  const FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC));  // one that can be cut short
  std::string head(sizeof(SegmentHeader), '\0');
  {
    const auto segment = Segment::create(file.get(), shape);
    segment->board().begin_membership(7, 2);
    std::memcpy(head.data(), &segment->header(), head.size());
  }
  struct stat whole {};
  REQUIRE(::fstat(file.get(), &whole) == 0);
  Mutations mutations(103, {head});

  const Verdicts verdicts = fuzz<ProtocolError>(
      [&] {
        const bool is_cut = mutations.random().below(10) == 0;
        const auto size = static_cast<off_t>(
            is_cut ? mutations.random().below(static_cast<std::uint64_t>(whole.st_size))
                   : static_cast<std::uint64_t>(whole.st_size));
        REQUIRE(::ftruncate(file.get(), size) == 0);
        std::string damaged = mutations.random().below(4) == 0 ? head : mutations.next();
        damaged.resize(head.size());
        return damaged;
      },
      [&](const std::string& damaged) {
        REQUIRE(::pwrite(file.get(), damaged.data(), damaged.size(), 0) ==
                static_cast<ssize_t>(damaged.size()));
        const auto segment = Segment::attach(file.get(), shape);
        require_consistent(segment->header().shape == shape);
        for (const std::uint64_t iteration : {0U, 1U})  // all of it is there
          for (const std::span<float> vector :
               {segment->version(iteration).weights, segment->version(iteration).state[0]})
            vector.back() = 1.0F;
        segment->sqr_norm(3) = 1.0;
        segment->rank_sqr_norms(3).back() = 1.0;
        if (const auto chunk = segment->board().take(segment->board().iteration()))
          require_consistent(*chunk < segment->layout().chunk_count());
      });

  CHECK(verdicts.accepted > 0);
}
