#include "elastic/coordinator/job/host.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

// The CPU quota of this process's cgroup in cores, or a large number: version 2, else version 1.
double cgroup_quota_cores() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0.0;
  if (v2 >> quota >> period && quota != "max" && period > 0.0) return std::stod(quota) / period;
  double quota_us = -1.0;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota_us;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  return quota_us > 0.0 && period > 0.0 ? quota_us / period : 1e9;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int by_affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double cores = std::min(static_cast<double>(by_affinity), std::ceil(cgroup_quota_cores()));
  return std::max(1U, static_cast<std::uint32_t>(cores));
}

fact::Host describe_host(std::uint32_t cores) {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  struct sysinfo info {};
  sysinfo(&info);
  return {name, cores, static_cast<std::uint64_t>(info.totalram) * info.mem_unit, cpu_model()};
}

std::uint32_t threads_of(const ClusterConfig& config, std::uint32_t worker, std::uint32_t cores) {
  if (config.threads_per_worker > 0) return config.threads_per_worker;
  return std::max(1U, cores / workers_beside(config, worker));
}

}  // namespace scavenger::elastic
