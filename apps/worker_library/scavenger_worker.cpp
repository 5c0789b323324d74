// The functions of the C interface: a worker process whose trainer is the host program.
#include "apps/worker_library/scavenger_worker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/command_line/job_process.h"
#include "apps/worker_library/host_trainer.h"
#include "apps/worker_process/worker_process.h"
#include "runtime/base/memory.h"
#include "runtime/base/version.h"

namespace scavenger {
namespace {

// A process is one worker.
HostTrainer* the_trainer = nullptr;
std::function<void(ScriptValues)> the_log;

Computation make_computation(const scavenger_worker_host& host, const ComputationSite& site) {
  HostJob job;
  job.config = site.ticket.config;
  job.data = site.train.shape();
  job.train_samples = site.train.size();
  job.index = site.ticket.index;
  job.threads = site.ticket.threads;
  auto trainer = std::make_unique<HostTrainer>(host, job);
  the_trainer = trainer.get();
  Computation computation;
  computation.use_threads = [trainer = the_trainer](std::uint32_t threads) {
    trainer->use_threads(threads);
  };
  if (trainer->wants_announcements())
    computation.expect = [trainer = the_trainer](const Batch& batch) { trainer->expect(batch); };
  the_log = site.log;
  computation.batches_ahead = trainer->batches_ahead();
  computation.begins_iteration = [trainer = the_trainer](const WorkerIteration& begun) {
    trainer->begin_iteration(begun);
  };
  computation.at_end = [trainer = the_trainer](const std::optional<WorkerIteration>& next) {
    trainer->end(next);
  };
  computation.in_parallel = trainer->in_parallel();
  if (trainer->can_step())
    computation.step = [trainer = the_trainer](const ps::WholeStep& step) { trainer->step(step); };
  computation.place = trainer->place();
  computation.trainer = std::move(trainer);
  return computation;
}

// The functions of a host that may have been made for an older library of this version.
std::optional<scavenger_worker_host> known_functions(const scavenger_worker_host* host) {
  constexpr std::size_t kFirstSize = offsetof(scavenger_worker_host, end);
  if (host->interface_version != SCAVENGER_WORKER_INTERFACE || host->struct_bytes < kFirstSize)
    return std::nullopt;
  scavenger_worker_host known{};
  std::memcpy(&known, host, std::min<std::size_t>(host->struct_bytes, sizeof(known)));
  return known;
}

}  // namespace
}  // namespace scavenger

using scavenger::the_log;
using scavenger::the_trainer;

extern "C" {

uint32_t scavenger_worker_interface(void) {
  return SCAVENGER_WORKER_INTERFACE;
}

const char* scavenger_worker_version(void) {
  static const std::string version = scavenger::version_line("scavenger");
  return version.c_str();
}

int scavenger_worker_run(const scavenger_worker_host* host) {
  const auto functions = scavenger::known_functions(host);
  if (!functions) {
    std::cerr << "libscavenger_worker.so has interface " << SCAVENGER_WORKER_INTERFACE
              << ", and the host program was made for " << host->interface_version << "\n";
    return 2;
  }
  scavenger::keep_freed_memory();
  std::string name = "scavenger-worker";
  char* words[] = {name.data(), nullptr};
  const int code = scavenger::run_job_process(
      name, 1, words, [&functions](const scavenger::LaunchTicket& ticket) {
        return scavenger::run_worker_process(
            ticket,
            [&functions](const scavenger::ComputationSite& site) {
              return scavenger::make_computation(*functions, site);
            },
            scavenger::take_host_traceback);
      });
  the_trainer = nullptr;
  the_log = nullptr;
  return code;
}

const uint64_t* scavenger_worker_parameter_offsets(void) {
  return the_trainer == nullptr ? nullptr : the_trainer->parameter_offsets().data();
}

uint64_t scavenger_worker_flat_size(void) {
  return the_trainer == nullptr ? 0 : the_trainer->parameters().flat_size();
}

void scavenger_worker_gradient_ready(scavenger_worker* worker, uint32_t parameter) {
  reinterpret_cast<scavenger::HostTrainer*>(worker)->gradient_ready(parameter);
}

int scavenger_worker_work_ahead(scavenger_worker* worker) {
  return reinterpret_cast<scavenger::HostTrainer*>(worker)->work_ahead() ? 1 : 0;
}

void scavenger_worker_show_traceback(const char* traceback) {
  scavenger::keep_host_traceback(traceback);
}

void scavenger_worker_log(uint64_t iteration, const char* const* names, const double* values,
                          uint32_t count) {
  if (!the_log) return;
  the_log({iteration, {names, names + count}, {values, values + count}});
}

void scavenger_worker_explain(const char* what, const char* where, const char* remedy) {
  scavenger::explain_host_error(what, where, remedy);
}

}  // extern "C"
