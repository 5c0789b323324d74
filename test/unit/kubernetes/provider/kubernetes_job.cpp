// A job of pod_job.h as a process, which a test can kill: KUBECONFIG FOLDER SECONDS. Begins when
// there is a line on standard input. Exit code 0: all was given back.
#include <iostream>
#include <string>

#include "runtime/process/child_process.h"
#include "test/unit/kubernetes/fake_cluster.h"
#include "test/unit/kubernetes/provider/pod_job.h"

int main(int argc, char** argv) {
  using namespace scavenger;
  if (argc != 4) return 2;
  die_with_parent();
  std::string line;
  std::getline(std::cin, line);
  kubernetes::PodJobPlan plan;
  plan.name = "killed";
  plan.workers = 2;
  plan.seconds = std::stod(argv[3]);
  asio::io_context io;
  kubernetes::PodJob job(io, kubernetes::quick_settings(argv[1]), plan, argv[2]);
  kubernetes::run_to_end(io, job);
  const bool is_clean = !job.was_refused() && job.left().empty() && job.breaches().empty();
  if (!is_clean) std::cerr << job.message() << "\n";
  return is_clean ? 0 : 1;
}
