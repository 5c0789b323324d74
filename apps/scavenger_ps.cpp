// scavenger-ps: one shard of the parameter server. Started by scavenger-train.
#include "apps/command_line/job_process.h"
#include "ps/process/shard_process.h"

int main(int argc, char** argv) {
  return scavenger::run_job_process("scavenger-ps", argc, argv, scavenger::ps::run_shard_process);
}
