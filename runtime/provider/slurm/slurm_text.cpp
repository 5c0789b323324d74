#include "runtime/provider/slurm/slurm_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

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

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(parts.back().size() + 1, text.size()));
  }
  return parts;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    words.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
  return words;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty() ? std::optional<std::uint64_t>(number)
                                                              : std::nullopt;
}

// The value of a key that ends with "=" in a list with commas; empty if it is missing.
std::string_view value_in(std::string_view list, std::string_view key) {
  for (const std::string_view part : split(list, ','))
    if (part.starts_with(key)) return part.substr(key.size());
  return {};
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
  for (const std::string_view line : lines_of(printed)) {
    const std::vector<std::string_view> fields = words_of(line);
    if (fields.size() < 3 || fields.size() > 4 || !is_of(fields[0], kDigits) ||
        !is_of(fields[1], kStateLetters))
      continue;
    const auto node = fields.size() > 3 ? std::string(fields[3]) : std::string();
    jobs[std::string(fields[0])] = {std::string(fields[1]), node, slurm_seconds(fields[2])};
  }
  return jobs;
}

bool is_running_in_slurm(std::string_view state) {
  constexpr std::array<std::string_view, 5> kStates = {"RUNNING", "SIGNALING", "RESIZING",
                                                       "STOPPED", "SUSPENDED"};
  return std::ranges::count(kStates, state) > 0;
}

bool is_queued_in_slurm(std::string_view state) {
  constexpr std::array<std::string_view, 4> kStates = {"PENDING", "CONFIGURING", "REQUEUED",
                                                       "REQUEUE_FED"};
  return std::ranges::count(kStates, state) > 0;
}

std::optional<double> slurm_seconds(std::string_view text) {
  constexpr std::size_t kMostParts = 3;
  std::uint64_t days = 0;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = number_in(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::uint64_t seconds = 0;
  std::size_t parts = 0;
  for (bool is_last = false; !is_last; ++parts) {
    const auto end = std::min(text.find(':'), text.size());
    const auto number = number_in(text.substr(0, end));
    if (!number || parts == kMostParts) return std::nullopt;
    seconds = seconds * 60 + *number;
    is_last = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (parts == 1) return std::nullopt;  // Slurm always prints minutes
  return static_cast<double>(days) * 86400.0 + static_cast<double>(seconds);
}

std::optional<double> slurm_memory_gib_per_core(std::string_view printed) {
  constexpr std::string_view kUnits = "KMGT";
  for (const std::string_view line : lines_of(printed))
    for (const std::string_view word : words_of(line)) {
      if (!word.starts_with("TRES=")) continue;
      const std::string_view list = word.substr(5);
      const std::string_view memory = value_in(list, "mem=");
      const auto cores = number_in(value_in(list, "cpu="));
      if (memory.empty() || !cores || *cores == 0) return std::nullopt;
      const auto unit = kUnits.find(memory.back());
      double number = 0.0;
      const char* const end = memory.data() + memory.size() - 1;
      const auto [stop, error] = std::from_chars(memory.data(), end, number);
      if (unit == std::string_view::npos || error != std::errc() || stop != end || !(number > 0.0))
        return std::nullopt;
      return std::ldexp(number, 10 * (static_cast<int>(unit) - 2)) / static_cast<double>(*cores);
    }
  return std::nullopt;
}

std::vector<std::uint32_t> slurm_cores_per_node(std::string_view text) {
  constexpr std::size_t kMostNodes = 65536;
  std::vector<std::uint32_t> cores;
  for (const std::string_view part : split(text, ',')) {
    const auto bracket = std::min(part.find('('), part.size());
    const auto number = number_in(part.substr(0, bracket));
    std::optional<std::uint64_t> times = 1;
    if (const auto rest = part.substr(bracket); !rest.empty())
      times = rest.starts_with("(x") && rest.ends_with(")")
                  ? number_in(rest.substr(2, rest.size() - 3))
                  : std::nullopt;
    if (!number || !times || *times == 0 || *times > kMostNodes - cores.size()) return {};
    cores.insert(cores.end(), *times, static_cast<std::uint32_t>(*number));
  }
  return cores;
}

std::vector<std::string> slurm_node_names(std::string_view printed) {
  std::vector<std::string> names;
  for (const std::string_view line : lines_of(printed))
    if (line.find_first_of(kBlanks) == std::string_view::npos) names.emplace_back(line);
  return names;
}

std::optional<std::string> interface_address(std::string_view printed) {
  std::optional<std::string> found;
  for (const std::string_view line : lines_of(printed)) {
    const std::vector<std::string_view> words = words_of(line);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool is_v4 = words[i] == "inet";
      if (!is_v4 && words[i] != "inet6") continue;
      const auto address = words[i + 1].substr(0, words[i + 1].find('/'));
      if (address.empty() || address.starts_with("fe80:")) continue;  // only of one link
      if (is_v4) return std::string(address);
      if (!found) found = std::string(address);
    }
  }
  return found;
}

std::string step_output(std::string_view printed) {
  std::string output;
  for (const std::string_view line : lines_of(printed)) {
    const bool is_end =
        line.starts_with("srun: error: ") && line.find("Exited with exit code") != line.npos;
    if (!is_end) output.append(line).append("\n");
  }
  return output;
}

std::optional<std::string> slurm_node_address(std::string_view printed) {
  constexpr std::string_view kField = "NodeAddr=";
  for (const std::string_view line : lines_of(printed))
    for (const std::string_view word : words_of(line))
      if (word.starts_with(kField) && word.size() > kField.size())
        return std::string(word.substr(kField.size()));
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
