#include "runtime/collective/nccl_plan.h"

#include <sstream>

namespace scavenger {

std::string text_of(const std::optional<KeptCommunicator>& kept) {
  if (!kept) return "-";
  std::ostringstream text;
  text << kept->name << ' ' << kept->completed << ' ' << kept->rank << ' ' << kept->size;
  return text.str();
}

std::optional<KeptCommunicator> kept_from_text(const std::string& text) {
  std::istringstream words(text);
  KeptCommunicator kept;
  words >> kept.name >> kept.completed >> kept.rank >> kept.size;
  if (!words || kept.rank >= kept.size) return std::nullopt;
  return kept;
}

NcclPlan plan_communicator(const std::vector<std::optional<KeptCommunicator>>& answers) {
  if (answers.empty() || !answers[0]) return {};  // made anew
  const KeptCommunicator& first = *answers[0];
  NcclPlan plan;
  std::uint32_t next = 0;  // the least old rank that may follow
  for (const auto& answer : answers) {
    if (!answer || answer->name != first.name || answer->completed != first.completed ||
        answer->size != first.size || answer->rank < next)
      return {};  // made anew
    for (; next < answer->rank; ++next) plan.left.push_back(static_cast<int>(next));
    ++next;
  }
  for (; next < first.size; ++next) plan.left.push_back(static_cast<int>(next));
  plan.way = plan.left.empty() ? NcclPlan::Way::kKeep : NcclPlan::Way::kShrink;
  return plan;
}

}  // namespace scavenger
