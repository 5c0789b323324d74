#include "elastic/decisions/decision_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "elastic/decisions/controller_json.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/version.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInputsPerLine = 64;

std::string text_of(const json& document) {
  return json_text(document, {.broken_utf8 = BrokenUtf8::kReplace});
}

// A pipe would take what is written, keep nothing, and stop the job once it is full.
FileDescriptor open_for_writing(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored))
    throw SystemError({.what = "is a pipe and not a regular file, so no decision would stay in it",
                       .where = path.string(),
                       .remedy = "remove it"});
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0)
    throw SystemError({.what = std::string("cannot open: ") + std::strerror(errno),
                       .where = path.string(),
                       .remedy = "make the run folder writable"});
  return file;
}

bool ends_in_mid_line(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::filesystem::path decision_file(const std::filesystem::path& run_folder) {
  return run_folder / "decisions.jsonl";
}

DecisionLog::DecisionLog(const std::filesystem::path& run_folder)
    : file_(open_for_writing(decision_file(run_folder))) {
  if (ends_in_mid_line(file_.get())) write_line("");  // an earlier process was killed there
}

DecisionLog::~DecisionLog() {
  try {
    if (!inputs_.empty()) flush({});
  } catch (const std::exception&) {  // no memory: training is worth more than its record
  }
}

void DecisionLog::begin(const std::string& config_json, const ControllerPlan& plan,
                        double now_seconds) {
  write_line(text_of({{"begin",
                       {{"seconds", now_seconds},
                        {"version", version()},
                        {"commit", commit()},
                        {"plan", to_json(plan)},
                        {"config_digest", sha256_hex(config_json)},
                        {"config", parse_json(config_json)}}}}));
}

void DecisionLog::add(const ControllerEvent& event, double now_seconds,
                      std::span<const ControllerAction> actions) {
  if (!extends_last(event, now_seconds)) {
    json input = to_json(event);
    input.insert(input.begin(), now_seconds);
    inputs_.push_back(std::move(input));
  }
  budget_.spend(std::exchange(unbudgeted_, 0.0), now_seconds);
  if (budget_.available(now_seconds) < 0.0 && problem_.empty())
    problem_ = fmt::format("they take more than {:g} MB an hour", LogBudget::kBytesPerHour / 1e6);
  if (!actions.empty() || inputs_.size() >= kMostInputsPerLine) flush(actions);
}

// That one rank after the other has done the same is one input.
bool DecisionLog::extends_last(const ControllerEvent& event, double now_seconds) {
  const auto* done = std::get_if<IterationsDone>(&event);
  if (done == nullptr || inputs_.empty()) return false;
  json& last = inputs_.back();
  const bool is_one = last.at(1) == "iterations_done";
  if ((!is_one && last.at(1) != kIterationsDoneBy) || last.at(0) != now_seconds) return false;
  const json& last_rank = is_one ? last.at(2) : last.at(3);
  if (last.back() != done->count || last_rank.get<std::uint32_t>() + 1 != done->rank) return false;
  const json first_rank = last.at(2);
  last = {now_seconds, kIterationsDoneBy, first_rank, done->rank, done->count};
  return true;
}

void DecisionLog::flush(std::span<const ControllerAction> actions) {
  json decided = json::array();
  for (const ControllerAction& action : actions) decided.push_back(to_json(action));
  write_line(text_of({{"inputs", std::exchange(inputs_, json::array())}, {"actions", decided}}));
}

// Training is worth more than its record: after a failure there is no more of it.
void DecisionLog::write_line(std::string line) {
  if (!problem_.empty()) return;
  line += '\n';
  unbudgeted_ += static_cast<double>(line.size());
  const ssize_t count = ::write(file_.get(), line.data(), line.size());
  if (count == static_cast<ssize_t>(line.size())) return;
  problem_ = count < 0 ? std::strerror(errno) : "the disk is full";
}

}  // namespace scavenger::elastic
