#include "elastic/coordinator/job/job_registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "runtime/base/log.h"

namespace scavenger::elastic {
namespace fs = std::filesystem;
namespace {

fs::path folder_from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// In ticks since the boot: the 22nd field, counted from behind the name, which may hold anything.
std::optional<std::uint64_t> start_ticks(std::int64_t pid) {
  const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  constexpr int kFieldsAfterName = 20;
  for (int i = 0; i < kFieldsAfterName; ++i) fields >> field;
  std::uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), ticks);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return ticks;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string text(name.data());
  std::ranges::replace(text, '/', '_');
  return text;
}

// Of this machine, its boot, and the processes that can be seen from here.
std::string this_machine() {
  std::error_code ignored;
  const std::string name_space = fs::read_symlink("/proc/self/ns/pid", ignored).string();
  std::string digits;
  std::ranges::copy_if(name_space, std::back_inserter(digits),
                       [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("{}+{}+{}+", host_name(),
                     first_line("/proc/sys/kernel/random/boot_id").substr(0, 8), digits);
}

// "HOST+BOOT+NAMESPACE+" of another boot of this machine: all its processes are gone.
bool is_of_earlier_boot(std::string_view name, std::string_view here) {
  const auto host_end = here.rfind('+', here.rfind('+', here.size() - 2) - 1) + 1;
  const auto boot_end = here.find('+', host_end) + 1;
  return name.starts_with(here.substr(0, host_end)) && !name.starts_with(here.substr(0, boot_end));
}

}  // namespace

std::optional<fs::path> job_registry_folder() {
  fs::path state = folder_from_environment("XDG_STATE_HOME");
  if (state.empty()) {
    const fs::path home = folder_from_environment("HOME");
    if (home.empty()) return std::nullopt;
    state = home / ".local" / "state";
  }
  return state / "scavenger" / "jobs";
}

std::optional<std::string> job_entry_name(std::int64_t pid) {
  const auto ticks = start_ticks(pid);
  if (!ticks) return std::nullopt;
  return fmt::format("{}{}-{}", this_machine(), pid, *ticks);
}

JobRegistration::JobRegistration(const fs::path& run_folder) {
  const auto folder = job_registry_folder();
  const auto name = job_entry_name(::getpid());
  if (!folder || !name) return;
  std::error_code error;
  fs::create_directories(*folder, error);
  if (!error) fs::permissions(*folder, fs::perms::owner_all, error);
  if (!error) fs::create_directory_symlink(fs::absolute(run_folder), *folder / *name, error);
  if (error)
    log_warning("scavenger-ctl list will not find this job: {}: {}", folder->string(),
                error.message());
  else
    entry_ = *folder / *name;
}

JobRegistration::~JobRegistration() {
  std::error_code ignored;
  if (!entry_.empty()) fs::remove(entry_, ignored);
}

std::vector<RegisteredJob> registered_jobs(const fs::path& registry) {
  std::vector<RegisteredJob> jobs;
  const std::string here = this_machine();
  std::error_code error;
  for (fs::directory_iterator entry(registry, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(here)) {
      if (is_of_earlier_boot(name, here)) fs::remove(entry->path(), ignored);
      continue;
    }
    std::int64_t pid = 0;
    std::from_chars(name.data() + here.size(), name.data() + name.size(), pid);
    const fs::path run_folder = fs::read_symlink(entry->path(), ignored);
    if (job_entry_name(pid) == name && !run_folder.empty())
      jobs.push_back({run_folder, pid});
    else
      fs::remove(entry->path(), ignored);
  }
  std::ranges::sort(jobs, {}, &RegisteredJob::pid);
  return jobs;
}

}  // namespace scavenger::elastic
