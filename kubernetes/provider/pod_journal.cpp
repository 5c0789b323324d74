#include "kubernetes/provider/pod_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kubernetes/api/json_access.h"
#include "kubernetes/api/names.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::kubernetes {

std::filesystem::path PodJournal::file_in(const std::filesystem::path& folder) {
  return folder / "kubernetes_pods.jsonl";
}

PodJournal::PodJournal(const std::filesystem::path& folder, const std::string& job_name)
    : path_(file_in(folder)) {
  std::filesystem::create_directories(folder);
  const bool is_new = !std::filesystem::exists(path_);
  if (!is_new) read(read_file(path_));
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file_.get() < 0)
    throw SystemError(errno, {.what = "cannot write", .where = path_, .remedy = {}});
  if (!is_new) append("");  // ends a line that a crash has cut off
  if (!job_id_.empty()) return;
  job_id_ = cluster_job_id(job_name, static_cast<std::uint32_t>(random_seed()));
  append(json_text(json{{"job", job_id_}}));
  sync_to_disk(folder);
}

void PodJournal::read(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = parse_object(text.substr(begin, end - begin));
    begin = end + 1;
    if (!line) continue;
    if (const std::string job = text_at(*line, {"job"}); !job.empty()) job_id_ = job;
    const std::string pod = text_at(*line, {"pod"});
    if (pod.empty()) continue;
    if (text_at(*line, {"step"}) == "gone")
      open_.erase(pod);
    else
      open_.insert(pod);
  }
}

void PodJournal::note_creation(const std::string& pod) {
  append(json_text(json{{"pod", pod}, {"step", "create"}}));
  open_.insert(pod);
}

void PodJournal::note_end(const std::string& pod) {
  append(json_text(json{{"pod", pod}, {"step", "gone"}}));
  open_.erase(pod);
}

void PodJournal::append(const std::string& line) {
  const std::string text = line + "\n";
  const auto written = ::write(file_.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fdatasync(file_.get()) != 0)
    throw SystemError(errno, {.what = "cannot write which Pods are asked for",
                              .where = path_,
                              .remedy = "nothing was asked; make room on this disk"});
}

}  // namespace scavenger::kubernetes
