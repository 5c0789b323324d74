#include "elastic/coordinator/work/evaluation_round.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

std::vector<std::uint32_t> even(std::size_t workers) {
  return std::vector<std::uint32_t>(workers, 16);
}

}  // namespace

TEST_CASE("parts follow the workers' shares of the batch") {
  const std::vector<std::uint32_t> shares = {2, 17, 20};
  const EvaluationRound round(Split::kTest, 10000, 500, shares, 0.0);
  CHECK(round.request_for(0).last == 512);
  CHECK(round.request_for(1).first == 512);
  CHECK(round.request_for(1).last == 4871);
  CHECK(round.request_for(2).last == 10000);
}

TEST_CASE("the parts of an evaluation cover the split, each sample once") {
  const EvaluationRound round(Split::kTest, 10, 4, even(3), 0.0);

  std::uint64_t next = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const Evaluate request = round.request_for(rank);
    CHECK(request.first == next);
    CHECK(request.split == Split::kTest);
    CHECK(request.batch_size == 4);
    next = request.last;
  }
  CHECK(next == 10);
}

Evaluated part(std::uint64_t samples, std::uint64_t correct, double loss) {
  EvaluationSums sums;
  sums.samples = sums.predictions = samples;
  sums.correct = correct;
  sums.loss = loss;
  return {sums};
}

TEST_CASE("an evaluation is over with its last part, and adds all of them up") {
  EvaluationRound round(Split::kTrain, 10, 4, even(2), 0.0);

  CHECK_FALSE(round.add(1, part(5, 3, 2.0)));
  CHECK(round.add(0, part(5, 5, 1.5)));

  CHECK(round.total() == part(10, 8, 3.5).sums);
}

TEST_CASE("a part that comes twice is refused, and does not stand for another") {
  EvaluationRound round(Split::kTrain, 10, 4, even(2), 0.0);
  round.add(1, part(5, 3, 2.0));

  CHECK_THROWS_AS(round.add(1, part(5, 3, 2.0)), ProtocolError);
}

TEST_CASE("a part of no samples, or of others than were asked for, is refused and does not count") {
  EvaluationRound round(Split::kTest, 10, 4, even(2), 0.0);

  for (const std::uint64_t samples : {0U, 4U, 6U})
    CHECK_THROWS_AS(round.add(0, part(samples, 0, 0.0)), ProtocolError);
  CHECK_FALSE(round.add(0, part(5, 0, 0.0)));
  CHECK(round.add(1, part(5, 0, 0.0)));
}
