#include "runtime/provider/slurm/slurm_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace scavenger {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kStateLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

std::string_view trimmed(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (const auto line = trimmed(text.substr(0, end)); !line.empty()) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_of(std::string_view word, std::string_view letters) {
  return !word.empty() && word.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

std::optional<std::string> submitted_slurm_job(std::string_view printed) {
  for (const std::string_view line : lines_of(printed)) {
    const auto number = line.substr(0, line.find(';'));  // the cluster's name follows
    if (is_of(number, kDigits)) return std::string(number);
  }
  return std::nullopt;
}

std::map<std::string, SlurmJobState> slurm_job_states(std::string_view printed) {
  std::map<std::string, SlurmJobState> jobs;
  for (std::string_view line : lines_of(printed)) {
    std::vector<std::string_view> fields;
    while (!line.empty()) {
      fields.push_back(line.substr(0, line.find_first_of(kBlanks)));
      line = trimmed(line.substr(fields.back().size()));
    }
    if (fields.size() < 2 || fields.size() > 3 || !is_of(fields[0], kDigits) ||
        !is_of(fields[1], kStateLetters))
      continue;
    jobs[std::string(fields[0])] = {std::string(fields[1]),
                                    fields.size() > 2 ? std::string(fields[2]) : std::string()};
  }
  return jobs;
}

std::optional<std::string> slurm_node_address(std::string_view printed) {
  constexpr std::string_view kField = "NodeAddr=";
  for (std::string_view line : lines_of(printed))
    while (!line.empty()) {
      const auto word = line.substr(0, line.find_first_of(kBlanks));
      if (word.starts_with(kField) && word.size() > kField.size())
        return std::string(word.substr(kField.size()));
      line = trimmed(line.substr(word.size()));
    }
  return std::nullopt;
}

std::vector<NamedSlurmJob> named_slurm_jobs(std::string_view printed) {
  std::vector<NamedSlurmJob> jobs;
  for (const std::string_view line : lines_of(printed)) {
    const auto job = line.substr(0, line.find_first_of(kBlanks));
    if (std::isdigit(static_cast<unsigned char>(job.front())) == 0) continue;
    jobs.push_back({std::string(job), std::string(trimmed(line.substr(job.size())))});
  }
  return jobs;
}

std::optional<pid_t> owner_of_slurm_job(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  pid_t owner = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, owner);
  const bool is_process = error == std::errc() && stop == end && owner > 0;
  return is_process ? std::optional(owner) : std::nullopt;
}

}  // namespace scavenger
