#include "kubernetes/provider/pod_journal.h"

#include "kubernetes/api/json_access.h"

namespace scavenger::kubernetes {

std::filesystem::path PodJournal::file_in(const std::filesystem::path& folder) {
  return folder / "kubernetes_pods.jsonl";
}

PodJournal::PodJournal(const std::filesystem::path& folder, const std::string& job_name)
    : journal_(file_in(folder), job_name) {
  for (const json& line : journal_.earlier()) {
    const std::string pod = text_at(line, {"pod"});
    if (pod.empty()) continue;
    if (text_at(line, {"step"}) == "gone")
      open_.erase(pod);
    else
      open_.insert(pod);
  }
}

void PodJournal::note_creation(const std::string& pod) {
  journal_.append(json{{"pod", pod}, {"step", "create"}});
  open_.insert(pod);
}

void PodJournal::note_end(const std::string& pod) {
  journal_.append(json{{"pod", pod}, {"step", "gone"}});
  open_.erase(pod);
}

}  // namespace scavenger::kubernetes
