// A job of rented_job.h as a process, which a test can kill: ENDPOINT FOLDER SECONDS TIME_SCALE.
// Begins when there is a line on standard input. Exit code 0: all was given back.
#include <cstdlib>
#include <iostream>
#include <string>

#include "runtime/process/child_process.h"
#include "test/unit/cloud_gcp/provider/rented_job.h"

int main(int argc, char** argv) {
  using namespace scavenger;
  if (argc != 5) return 2;
  die_with_parent();
  std::string line;
  std::getline(std::cin, line);
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  const double time_scale = std::stod(argv[4]);
  gcp::RentedJobPlan plan;
  plan.name = "killed";
  plan.workers = 2;
  plan.seconds = std::stod(argv[3]);
  plan.time_scale = time_scale;
  asio::io_context io;
  gcp::RentedJob job(io, gcp::quick_settings(argv[1], time_scale), plan, argv[2]);
  bool is_clean = false;
  job.start([&] {
    is_clean =
        job.end() == gcp::RentedJob::End::kTarget && job.left().empty() && job.breaches().empty();
    io.stop();
  });
  io.run();
  return is_clean ? 0 : 1;
}
