#include "runtime/provider/emulated/cpu_share.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

const fs::path kVersion1 = "/sys/fs/cgroup/cpu";
const fs::path kVersion2 = "/sys/fs/cgroup";
// The smallest quota that the kernel accepts.
constexpr double kLeastQuotaSeconds = 0.001;

bool is_version2() {
  return fs::exists(kVersion2 / "cgroup.controllers");
}

void write_setting(const fs::path& file, const std::string& value) {
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (opened.get() >= 0 && ::write(opened.get(), value.data(), value.size()) >= 0) return;
  throw SystemError(errno, {.what = fmt::format("cannot write \"{}\"", value),
                            .where = file.string(),
                            .remedy = "emulated machines need root, and control groups that may be "
                                      "changed (in a container: run it privileged)"});
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    throw SystemError(error.value(), {.what = "cannot make a control group",
                                      .where = folder.string(),
                                      .remedy = "emulated machines need root"});
}

}  // namespace

fs::path cpu_share_root() {
  if (is_version2()) return kVersion2;
  if (fs::exists(kVersion1 / "cpu.cfs_quota_us")) return kVersion1;
  return {};
}

fs::path make_cpu_share(const std::string& name, double cores, double period_seconds) {
  const fs::path root = cpu_share_root();
  if (root.empty())
    throw SystemError({.what = "this machine has no control groups with CPU quotas",
                       .where = kVersion2.string(),
                       .remedy = "mount cgroup version 2, or the cpu controller of version 1"});
  const double period = std::max(period_seconds, kLeastQuotaSeconds / cores);
  const auto period_us = std::lround(period * 1e6);
  const auto quota_us = std::lround(period * cores * 1e6);
  // Version 2: a group's children have only the controllers that the group enables for them.
  if (is_version2()) write_setting(root / "cgroup.subtree_control", "+cpu");
  fs::path group = root;
  const fs::path relative = name;
  for (const fs::path& part : relative) {
    if (is_version2() && group != root) write_setting(group / "cgroup.subtree_control", "+cpu");
    group /= part;
    make_folder(group);
  }
  if (is_version2()) {
    write_setting(group / "cpu.max", fmt::format("{} {}", quota_us, period_us));
  } else {
    write_setting(group / "cpu.cfs_period_us", std::to_string(period_us));
    write_setting(group / "cpu.cfs_quota_us", std::to_string(quota_us));
  }
  return group;
}

std::vector<pid_t> processes_in(const fs::path& group) {
  std::vector<pid_t> processes;
  std::ifstream file(group / "cgroup.procs");
  for (pid_t process = 0; file >> process;) processes.push_back(process);
  return processes;
}

void kill_all_in(const fs::path& group) {
  for (const pid_t process : processes_in(group)) ::kill(process, SIGKILL);
}

bool remove_cpu_share(const fs::path& group) {
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

}  // namespace scavenger
