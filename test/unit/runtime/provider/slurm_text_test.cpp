#include "runtime/provider/slurm/slurm_text.h"

#include <catch2/catch.hpp>

using namespace scavenger;

TEST_CASE("A submitted job has its number, whatever a cluster's plugins say before it") {
  CHECK(submitted_slurm_job("4711\n") == "4711");
  CHECK(submitted_slurm_job("4711;cluster\n") == "4711");
  CHECK(submitted_slurm_job("sbatch: INFO: 3 hours left\nsbatch: warning: x\n4711\n") == "4711");
  CHECK_FALSE(submitted_slurm_job("sbatch: INFO: nothing was said\n"));
  CHECK_FALSE(submitted_slurm_job(""));
}

TEST_CASE("States and nodes of all jobs are read from one list, without what plugins say") {
  const auto jobs = slurm_job_states(
      "squeue: warning: slow\n12 RUNNING node7\n  13 PENDING \n14 OUT_OF_MEMORY\n"
      "15 is no state\nx RUNNING n\n");
  REQUIRE(jobs.size() == 3);
  CHECK(jobs.at("12").state == "RUNNING");
  CHECK(jobs.at("12").node == "node7");
  CHECK(jobs.at("13").node.empty());
  CHECK(jobs.at("14").state == "OUT_OF_MEMORY");
  CHECK(slurm_job_states("slurm_load_jobs error: Invalid job id specified\n").empty());
}

TEST_CASE("The address of a node is one of its fields") {
  CHECK(slurm_node_address("NodeName=n7 NodeAddr=10.0.0.7 NodeHostName=n7\n") == "10.0.0.7");
  CHECK_FALSE(slurm_node_address("NodeName=n7 NodeAddr= NodeHostName=n7\n"));
  CHECK_FALSE(slurm_node_address("Node n7 not found\n"));
}

TEST_CASE("Another job's name with blanks hides none of ours") {
  const auto jobs = named_slurm_jobs("12 my job 7\n13 scavenger-host-99\n\n14_2 x\n");
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].name == "my job 7");
  CHECK(jobs[1].job == "13");
  CHECK(jobs[1].name == "scavenger-host-99");
  CHECK(jobs[2].job == "14_2");
}

TEST_CASE("A job's owner is a process") {
  CHECK(owner_of_slurm_job("scavenger-host-99", "scavenger-host-") == 99);
  for (const char* name : {"scavenger-host-", "scavenger-host-0", "scavenger-host--5",
                           "scavenger-host-9 9", "scavenger-host-99999999999", "other-99"})
    CHECK_FALSE(owner_of_slurm_job(name, "scavenger-host-"));
}
