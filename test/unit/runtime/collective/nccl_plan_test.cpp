#include "runtime/collective/nccl_plan.h"

#include <catch2/catch.hpp>

using namespace scavenger;

namespace {

KeptCommunicator kept(std::uint32_t rank, std::uint32_t size = 4, std::uint64_t completed = 7) {
  return {"epoch-3", completed, rank, size};
}

NcclPlan plan(const std::vector<std::optional<KeptCommunicator>>& answers) {
  return plan_communicator(answers);
}

}  // namespace

TEST_CASE("a communicator of the same workers is kept") {
  CHECK(plan({kept(0, 3), kept(1, 3), kept(2, 3)}) == NcclPlan{NcclPlan::Way::kKeep, {}});
}

TEST_CASE("workers that left are named by their old ranks") {
  CHECK(plan({kept(0), kept(2)}) == NcclPlan{NcclPlan::Way::kShrink, {1, 3}});
  CHECK(plan({kept(1), kept(2), kept(3)}) == NcclPlan{NcclPlan::Way::kShrink, {0}});
}

TEST_CASE("anything else needs a new communicator") {
  const NcclPlan anew;
  CHECK(plan({}) == anew);
  CHECK(plan({kept(0, 2), kept(1, 2), std::nullopt}) == anew);  // a newcomer
  CHECK(plan({std::nullopt, kept(1, 2)}) == anew);              // rank 0 was aborted
  CHECK(plan({kept(1, 2), kept(0, 2)}) == anew);                // another order
  CHECK(plan({kept(0, 2), kept(0, 2)}) == anew);                // which cannot be
  CHECK(plan({kept(0, 2), kept(1, 2, 8)}) == anew);             // one is an operation ahead
  CHECK(plan({kept(0, 2), KeptCommunicator{"epoch-4", 7, 1, 2}}) == anew);
  CHECK(plan({kept(0, 2), kept(1, 3)}) == anew);
}

TEST_CASE("answers survive the meeting place, and nonsense is no answer") {
  CHECK(kept_from_text(text_of(kept(2))) == kept(2));
  CHECK(kept_from_text(text_of(std::nullopt)) == std::nullopt);
  for (const char* text : {"", "epoch-1", "epoch-1 1 2", "epoch-1 1 2 2", "epoch-1 x 0 2"})
    CHECK(kept_from_text(text) == std::nullopt);
}
