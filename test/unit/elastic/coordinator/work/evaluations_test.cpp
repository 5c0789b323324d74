#include "elastic/coordinator/work/evaluations.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

const ProcessName kFirst{Role::kWorker, 3}, kSecond{Role::kWorker, 5};

// Two workers with equal shares, and ten samples.
class EvaluationsTest {
 protected:
  void begin(bool has_buffers) {
    const std::vector<std::uint32_t> shares = {4, 4};
    evaluations.begin(EvaluationRound(Split::kTest, 10, 5, shares, 0.0), {kFirst, kSecond},
                      has_buffers);
  }
  Evaluated part() const {
    Evaluated evaluated;
    evaluated.sums.samples = 5;
    return evaluated;
  }
  template <typename Message>
  std::vector<std::uint32_t> receivers() const {
    std::vector<std::uint32_t> workers;
    for (const auto& [process, message] : sent)
      if (std::holds_alternative<Message>(message)) workers.push_back(process.index);
    return workers;
  }

  std::vector<std::pair<ProcessName, ControlMessage>> sent;
  Evaluations evaluations{[this](const ProcessName& process, const ControlMessage& message) {
    sent.emplace_back(process, message);
  }};
};

using Workers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE_METHOD(EvaluationsTest, "Each worker evaluates its part, and the last completes it") {
  begin(false);

  CHECK(receivers<Evaluate>() == Workers{3, 5});
  CHECK_FALSE(evaluations.add(0, part()));
  const auto round = evaluations.add(1, part());
  REQUIRE(round);
  CHECK(round->total().samples == 10);
}

TEST_CASE_METHOD(EvaluationsTest, "A model with buffers is evaluated with those of one worker") {
  begin(true);

  CHECK(receivers<SendBuffers>() == Workers{3});
  CHECK(receivers<Evaluate>().empty());
  CHECK(evaluations.awaits_buffers_of(kFirst));
  evaluations.lend(kFirst, Buffers{{1.0F}});

  CHECK(receivers<Buffers>() == Workers{5});
  CHECK(receivers<Evaluate>() == Workers{3, 5});
  CHECK_FALSE(evaluations.awaits_buffers_of(kFirst));
}

TEST_CASE_METHOD(EvaluationsTest, "What comes of an evaluation that was given up does not count") {
  begin(true);
  evaluations.give_up();

  evaluations.lend(kFirst, Buffers{{1.0F}});

  CHECK(receivers<Evaluate>().empty());
  CHECK_FALSE(evaluations.add(0, part()));
}

TEST_CASE_METHOD(EvaluationsTest, "Buffers of a worker that is lost are not awaited any more") {
  begin(true);
  evaluations.lose(kSecond);
  CHECK(evaluations.awaits_buffers_of(kFirst));
  evaluations.lose(kFirst);
  CHECK_FALSE(evaluations.awaits_buffers_of(kFirst));
}
