#include "ps/star/rank_sums.h"

#include <fmt/format.h>

#include <utility>

#include "ps/core/reduction.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

// A worker cannot be ahead by more than one iteration's sums.
constexpr std::size_t kMostRounds = 1 << 16;

[[noreturn]] void refuse(std::uint32_t rank, std::string what) {
  throw ProtocolError(
      {.what = std::move(what), .where = fmt::format("sum with rank {}", rank), .remedy = {}});
}

}  // namespace

RankSums::RankSums(std::uint32_t ranks) : ranks_(ranks), brought_(ranks, 0) {}

RankSums::Sum RankSums::bring(std::uint32_t rank, FloatBuffer part) {
  SCAVENGER_CHECK(rank < ranks_);
  const std::size_t index = brought_[rank]++ - first_;
  if (index >= kMostRounds) refuse(rank, "it is too far ahead of the others");
  while (rounds_.size() <= index) {
    rounds_.emplace_back();
    rounds_.back().parts.resize(ranks_);
    rounds_.back().missing = ranks_;
  }
  Round& round = rounds_[index];
  for (const FloatBuffer& other : round.parts)
    if (part.size() > 0 && other.size() > 0 && other.size() != part.size())
      refuse(rank, fmt::format("{} floats came, and {} from another", part.size(), other.size()));
  round.parts[rank] = std::move(part);
  if (--round.missing > 0) return nullptr;
  SCAVENGER_CHECK(index == 0);  // each rank has brought to earlier rounds before
  Sum sum = sum_of(round);
  rounds_.pop_front();
  ++first_;
  return sum;
}

RankSums::Sum RankSums::sum_of(Round& round) {
  std::vector<Contribution> parts;
  FloatBuffer* first = nullptr;
  for (FloatBuffer& part : round.parts) {
    if (part.size() == 0) continue;
    if (first == nullptr) first = &part;
    parts.push_back({.gradient = part.span().data(), .share = 1.0F});
  }
  if (first == nullptr) return std::make_shared<const FloatBuffer>();
  std::vector<double> sqr_norms(parts.size());  // nobody asks for them
  if (parts.size() > 1) ChunkReducer().sum(parts, first->span(), sqr_norms);
  return std::make_shared<const FloatBuffer>(std::move(*first));
}

}  // namespace scavenger::ps
