// What the centre of a group is sent by its workers: parts of rounds.
#include <cmath>
#include <vector>

#include "ps/star/rank_sums.h"
#include "ps/star/round_frame.h"
#include "test/fuzz/fuzz.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::uint32_t kFloats = 5;

std::string frame_of(const FrameHeader& header) {
  const auto bytes = encode(header);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) +
         std::string(header.payload_bytes, '\x01');
}

// Rounds of three ranks, each of which is some rounds ahead of the others or not. A rank that has
// sent something wrong is out, as a lost connection is, and all begin anew.
class Rounds final {
 public:
  explicit Rounds(std::uint64_t seed) : mutations_(seed, {""}) {}

  // A frame of a rank whose turn it is, half of them damaged.
  std::string next() {
    RandomStream& random = mutations_.random();
    rank_ = static_cast<std::uint32_t>(random.below(kRanks));
    FrameHeader header{.type = FrameType::kGradient, .membership_epoch = epoch_};
    header.iteration = brought_[rank_];
    header.payload_bytes = kFloats * sizeof(float);
    if (random.below(4) == 0) header.payload_bytes = 0;
    std::string frame = frame_of(header);
    if (random.below(2) == 0) mutations_.change(frame);
    return frame;
  }

  // As StarHub does it. Throws ProtocolError.
  void take(std::string input) {
    input.resize(std::max(input.size(), kFrameHeaderBytes));
    const FrameHeader header =
        decode_frame_header(bytes_of(input).first<kFrameHeaderBytes>(), kRoundBytes);
    if (!is_of_round(header, FrameType::kGradient, epoch_, brought_[rank_]))
      throw ProtocolError({.what = "not due", .where = {}, .remedy = {}});
    require_consistent(header.payload_bytes <= kRoundBytes);
    if (header.payload_bytes > 4 * kFloats) return begin();  // it never comes: no such payload
    FloatBuffer part(header.payload_bytes / sizeof(float));
    std::ranges::fill(part.span(), 1.0F);
    try {
      const RankSums::Sum sum = sums_.bring(rank_, std::move(part));
      ++brought_[rank_];
      if (sum) check(*sum);
    } catch (const ProtocolError&) {
      begin();
      throw;
    }
  }
  std::uint64_t sums() const { return count_; }

 private:
  void begin() {
    sums_ = RankSums(kRanks);
    brought_.assign(kRanks, 0);
    ++epoch_;
  }
  void check(const FloatBuffer& sum) {
    ++count_;
    require_consistent(sum.size() <= kFloats);
    for (const float value : sum.span())
      require_consistent(value >= 1.0F && value <= static_cast<float>(kRanks) &&
                         std::floor(value) == value);
  }

  Mutations mutations_;
  RankSums sums_{kRanks};
  std::vector<std::uint64_t> brought_ = std::vector<std::uint64_t>(kRanks);
  std::uint32_t epoch_ = 1;
  std::uint32_t rank_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

TEST_CASE("fuzz: of random parts of rounds the centre adds up those that are due") {
  Rounds rounds(113);

  const Verdicts verdicts = fuzz<ProtocolError>(
      [&] { return rounds.next(); }, [&](const std::string& input) { rounds.take(input); },
      {.bytes = 1 << 20});

  CHECK(verdicts.accepted > 0);
  CHECK(rounds.sums() > 0);
}
