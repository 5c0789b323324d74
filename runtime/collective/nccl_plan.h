// How the workers of a new group come to a communicator of NCCL. All of them must do the same, so
// they tell each other what they have kept from the last group, and decide from all answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scavenger {

// An idle communicator that a worker still has.
struct KeptCommunicator {
  std::string name;             // the same at all of its workers
  std::uint64_t completed = 0;  // operations
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  bool operator==(const KeptCommunicator&) const = default;
};

// For the meeting place. The answer of a worker that has kept nothing is "-".
std::string text_of(const std::optional<KeptCommunicator>& kept);
// Returns nothing for "-", and for what is no answer.
std::optional<KeptCommunicator> kept_from_text(const std::string& text);

struct NcclPlan {
  enum class Way {
    kKeep,    // the same workers in the same order: the communicator stays as it is
    kShrink,  // some workers have left: NCCL makes a smaller one from the present one
    kNew,     // from a new unique id
  };
  Way way = Way::kNew;
  std::vector<int> left;  // for kShrink: the old ranks of those who are no longer there
  bool operator==(const NcclPlan&) const = default;
};

// `answers`: by the new rank. A communicator is used again only if all have it, have completed the
// same operations with it, and are in the same order.
NcclPlan plan_communicator(const std::vector<std::optional<KeptCommunicator>>& answers);

}  // namespace scavenger
