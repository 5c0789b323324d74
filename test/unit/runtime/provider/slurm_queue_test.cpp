#include "runtime/provider/slurm/slurm_queue.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;

namespace {

// Stands in for squeue: prints what is in a file, and writes down that it was called.
class StandInSqueue final {
 public:
  StandInSqueue() : path_(std::getenv("PATH")) {
    const auto program = folder_.path() / "squeue";
    std::ofstream(program) << "#!/bin/sh\necho \"$*\" >>" << (folder_.path() / "calls").string()
                           << "\ncat " << (folder_.path() / "jobs").string() << "; ! grep -q error "
                           << (folder_.path() / "jobs").string() << "\n";
    ::chmod(program.c_str(), 0755);
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~StandInSqueue() { ::setenv("PATH", path_.c_str(), 1); }
  void says(const std::string& text) { std::ofstream(folder_.path() / "jobs") << text; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

void run_until(asio::io_context& io, const std::function<bool()>& is_reached) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_reached()) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    io.restart();
    io.run_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

TEST_CASE("Slurm is asked for all jobs at once, and rarely") {
  StandInSqueue squeue;
  std::string running;
  asio::io_context io;
  ManualClock clock;
  SlurmQueue queue(io, clock);
  for (int job = 1; job <= 16; ++job) {
    queue.follow(std::to_string(job));
    running += std::to_string(job) + " RUNNING 1:00 node" + std::to_string(job) + "\n";
  }
  squeue.says(running);
  CHECK(queue.state("7") == "?");
  run_until(io, [&] { return queue.state("16") == "RUNNING"; });
  CHECK(queue.node("7") == "node7");
  CHECK(queue.seconds_left("7") == 60.0);
  clock.seconds += 20.0;
  CHECK(queue.seconds_left("7") == 40.0);
  CHECK(queue.looks() == 1);  // one for each job would be 16
  squeue.says("slurm_load_jobs error: Unable to contact slurm controller\n");
  queue.follow("17");
  run_until(io, [&] { return queue.looks() == 2; });
  CHECK(queue.state("7") == "RUNNING");  // no answer is no news
  squeue.says("1 COMPLETED 0:00 \n17 PENDING 10:00 \n");
  run_until(io, [&] { return queue.state("17") == "PENDING"; });
  CHECK_FALSE(queue.seconds_left("17"));  // it does not run
  CHECK(queue.state("1") == "COMPLETED");
  CHECK(queue.state("2").empty());
  for (int job = 1; job <= 17; ++job) queue.forget(std::to_string(job));
  io.restart();
  io.run();  // it ends if nothing is followed
}

TEST_CASE("Who has waited for long in the queue is looked at less often") {
  CHECK(slurm_look_seconds(0.0) == 0.5);
  CHECK(slurm_look_seconds(60.0) == 6.0);
  CHECK(slurm_look_seconds(3600.0) == 15.0);
  CHECK(slurm_look_seconds(-1.0) == 5.0);
}
