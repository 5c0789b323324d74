#include "runtime/provider/slurm/slurm_job.h"

#include <catch2/catch.hpp>

using namespace scavenger;

namespace {

class Queue final {
 public:
  Queue() : kinds_(2) {
    settings.notice_seconds = 60.0;
    settings.replace_seconds = 300.0;
  }

  std::shared_ptr<SlurmJob> add(std::size_t kind, bool runs, std::set<MachineId> workers) {
    auto job = std::make_shared<SlurmJob>();
    job->kind = &kinds_.at(kind);
    job->places = 2;
    job->runs = runs;
    job->whole_seconds = 3600.0;
    job->workers = std::move(workers);
    jobs.push_back(job);
    return job;
  }
  std::shared_ptr<SlurmJob> add_spare(std::size_t kind, const std::shared_ptr<SlurmJob>& of) {
    const auto spare = add(kind, false, {});
    spare->is_spare = true;
    of->replacement = spare;
    return spare;
  }
  const SlurmKind& kind(std::size_t index) const { return kinds_.at(index); }
  SlurmKind& kind(std::size_t index) { return kinds_.at(index); }
  std::size_t first_kind() const {
    const SlurmKinds order = slurm_kinds_in_order({&kinds_[0], &kinds_[1]}, jobs);
    return static_cast<std::size_t>(order.front() - kinds_.data());
  }

  SlurmSettings settings;
  SlurmJobs jobs;

 private:
  std::vector<SlurmKind> kinds_;
};

using Step = std::pair<bool, bool>;

Step step_of(const Queue& queue, const SlurmJob& job, double seconds_left) {
  const SlurmEndStep step = slurm_end_step(job, seconds_left, queue.settings);
  return {step.submits_replacement, step.tells_workers};
}

}  // namespace

TEST_CASE("slurm_job: first the replacement, and notice when it runs or the end is near") {
  Queue queue;
  const auto job = queue.add(0, true, {1, 2});
  CHECK(step_of(queue, *job, 301.0) == Step{false, false});
  CHECK(step_of(queue, *job, 300.0) == Step{true, false});
  const auto spare = queue.add_spare(0, job);
  CHECK(step_of(queue, *job, 200.0) == Step{false, false});
  CHECK(step_of(queue, *job, 60.0) == Step{false, true});
  spare->runs = true;
  CHECK(step_of(queue, *job, 200.0) == Step{false, true});
  spare->runs = false;
  spare->is_dropped = true;  // whoever took it first has left it
  CHECK(step_of(queue, *job, 200.0) == Step{true, false});
  job->has_notice = true;
  CHECK(step_of(queue, *job, 30.0) == Step{false, false});
}

TEST_CASE("slurm_job: who leaves already has a replacement") {
  Queue queue;
  const auto job = queue.add(0, true, {1, 2});
  job->leaving = {1};
  CHECK(step_of(queue, *job, 100.0) == Step{true, false});  // for the other one
  job->leaving = {1, 2};
  CHECK(step_of(queue, *job, 100.0) == Step{false, false});
  CHECK(step_of(queue, *job, 10.0) == Step{false, false});
  CHECK_FALSE(job->has_room());
  job->workers = {};
  CHECK(step_of(queue, *job, 10.0) == Step{false, false});
}

TEST_CASE("slurm_job: the job of a worker that left a moment before serves the others, too") {
  Queue queue;
  const auto job = queue.add(0, true, {1, 2});
  const auto instead = [&](double now_seconds) {
    return slurm_job_instead_of(*job, queue.jobs, now_seconds, queue.settings);
  };
  CHECK(instead(3300.0) == nullptr);
  job->leaving = {1};
  const auto further = queue.add(0, false, {3});
  CHECK(instead(3300.0) == further);
  job->leaving = {};
  CHECK(instead(3300.0) == nullptr);  // it has one place for two
  further->workers = {};
  CHECK(instead(3300.0) == further);
  further->runs = true;  // since the same time as the job
  CHECK(instead(3300.0) == nullptr);
  further->runs_since = 3299.0;
  CHECK(instead(3300.0) == further);
  further->kind = &queue.kind(1);
  CHECK(instead(3300.0) == nullptr);
}

TEST_CASE("slurm_job: a short job is replaced before its workers are told, and not at once") {
  Queue queue;
  const auto job = queue.add(0, true, {1});
  job->whole_seconds = 60.0;
  CHECK(step_of(queue, *job, 59.0) == Step{false, false});
  CHECK(step_of(queue, *job, 30.0) == Step{true, false});
  CHECK(step_of(queue, *job, 15.0) == Step{true, true});
  job->whole_seconds = -1.0;  // the limit came later
  CHECK(step_of(queue, *job, 300.0) == Step{true, false});
}

TEST_CASE("slurm_job: a replacement is taken before another job is submitted, of whatever kind") {
  Queue queue;
  const auto old = queue.add(1, true, {1, 2});
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(1)) == nullptr);
  CHECK(queue.first_kind() == 0);
  const auto spare = queue.add_spare(1, old);
  CHECK(queue.first_kind() == 1);
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(1)) == spare);
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(0)) == nullptr);
  // Its places are the first that are taken among those that run, too.
  const auto partly_used = queue.add(1, true, {3});
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(1)) == partly_used);
  spare->runs = true;
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(1)) == spare);
  spare->workers = {4, 5};
  partly_used->leaving = {3};  // it was told to go: its job ends
  CHECK(slurm_job_with_room(queue.jobs, queue.kind(1)) == nullptr);
}

TEST_CASE("slurm_job: the number of workers of a kind has room for replacements") {
  Queue queue;
  queue.kind(0).machine.count = 2;
  const auto job = queue.add(0, true, {1, 2});
  CHECK(slurm_kind_is_used_up(queue.kind(0), queue.jobs));
  CHECK_FALSE(slurm_kind_is_used_up(queue.kind(1), queue.jobs));
  job->leaving = {1};
  CHECK_FALSE(slurm_kind_is_used_up(queue.kind(0), queue.jobs));
  job->leaving = {};
  job->has_notice = true;
  CHECK_FALSE(slurm_kind_is_used_up(queue.kind(0), queue.jobs));
  queue.add(0, false, {3, 4});
  CHECK(slurm_kind_is_used_up(queue.kind(0), queue.jobs));
}
