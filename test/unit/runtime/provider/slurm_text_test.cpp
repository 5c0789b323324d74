#include "runtime/provider/slurm/slurm_text.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

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
      "squeue: warning: slow\n12 RUNNING 1:05 node7\n  13 PENDING UNLIMITED \n"
      "14 OUT_OF_MEMORY 0:00\n15 is no state\nx RUNNING 1:00 n\n");
  REQUIRE(jobs.size() == 3);
  CHECK(jobs.at("12").seconds_left == 65.0);
  CHECK_FALSE(jobs.at("13").seconds_left);
  CHECK(jobs.at("12").state == "RUNNING");
  CHECK(jobs.at("12").node == "node7");
  CHECK(jobs.at("13").node.empty());
  CHECK(jobs.at("14").state == "OUT_OF_MEMORY");
  CHECK(slurm_job_states("slurm_load_jobs error: Invalid job id specified\n").empty());
}

TEST_CASE("A job that is being signalled or suspended still has its nodes") {
  for (const char* state : {"RUNNING", "SIGNALING", "SUSPENDED", "STOPPED", "RESIZING"}) {
    CHECK(is_running_in_slurm(state));
    CHECK_FALSE(is_queued_in_slurm(state));
  }
  for (const char* state : {"PENDING", "CONFIGURING", "REQUEUED"}) {
    CHECK_FALSE(is_running_in_slurm(state));
    CHECK(is_queued_in_slurm(state));
  }
  for (const char* state : {"", "COMPLETING", "COMPLETED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}) {
    CHECK_FALSE(is_running_in_slurm(state));
    CHECK_FALSE(is_queued_in_slurm(state));
  }
}

TEST_CASE("Spans of time are read as Slurm prints them") {
  CHECK(slurm_seconds("0:42") == 42.0);
  CHECK(slurm_seconds("2:03:04") == 7384.0);
  CHECK(slurm_seconds("1-00:00:01") == 86401.0);
  for (const char* text : {"", "UNLIMITED", "NOT_SET", "INVALID", "42", "1:2:3:4", "-1:00", "1:x"})
    CHECK_FALSE(slurm_seconds(text));
}

TEST_CASE("The memory of a job is divided among its processors") {
  const auto of = [](const std::string& list) {
    return slurm_memory_gib_per_core("JobId=7 JobName=x TRES=" + list + " Socks/Node=*\n");
  };
  CHECK(of("cpu=4,mem=2G,node=1,billing=4") == 0.5);
  CHECK(of("cpu=2,mem=512M,node=1") == 0.25);
  for (const char* list : {"cpu=4,node=1", "mem=2G", "cpu=0,mem=2G", "cpu=4,mem=x", "cpu=4,mem="})
    CHECK_FALSE(of(list));
  CHECK_FALSE(slurm_memory_gib_per_core("slurm_load_jobs error: Invalid job id specified\n"));
}

TEST_CASE("The processors of an allocation's nodes are read from Slurm's variable") {
  CHECK(slurm_cores_per_node("8(x2),4") == std::vector<std::uint32_t>{8, 8, 4});
  CHECK(slurm_cores_per_node("16") == std::vector<std::uint32_t>{16});
  for (const char* text : {"", "x", "8(x0)", "8(2)", "8(x99999999)", "8,,4", "-1"})
    CHECK(slurm_cores_per_node(text).empty());
}

TEST_CASE("An interface has the address that others reach, of IPv4 first") {
  const std::string link = "2: ib0    inet6 fe80::1/64 scope link \\       valid_lft forever\n";
  const std::string v6 = "2: ib0    inet6 2001:db8::7/64 scope global \\    valid_lft forever\n";
  const std::string v4 = "2: ib0    inet 10.1.0.7/16 brd 10.1.255.255 scope global ib0\n";
  CHECK(interface_address(link + v6 + v4) == "10.1.0.7");
  CHECK(interface_address("srun: warning: x\n" + link + v6) == "2001:db8::7");
  CHECK_FALSE(interface_address(link));
  CHECK_FALSE(interface_address("Device \"ib0\" does not exist.\n"));
}

TEST_CASE("What a step's command printed is told apart from how srun says that it ended") {
  const std::string own = "Device \"ib0\" does not exist.\n";
  const std::string end = "srun: error: w1: task 0: Exited with exit code 1\n";
  CHECK(step_output(own + end) == own);
  CHECK(step_output(end + own) == own);
  CHECK(step_output("srun: error: Unable to create step\n") ==
        "srun: error: Unable to create step\n");
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
