// Runs Slurm's programs: submits and cancels jobs, and finds those that a killed process has left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/process/command.h"
#include "runtime/provider/slurm/slurm_words.h"

namespace scavenger {

// Runs a program of Slurm, whether this process is within a Slurm job or not. Throws SystemError if
// it cannot be started.
awaitable<CommandResult> run_slurm(Words words);

// Submits a job and returns its number. Throws MachineRefused.
awaitable<std::string> submit_slurm_job(SlurmKind kind, double notice_seconds, std::string name);

// Cancels a job; one that has already ended is cancelled. Returns whether that is so.
awaitable<bool> cancel_slurm_job(std::string job);

// Returns how much memory a job that runs has for each of its processors; 0: this Slurm hands out
// none, or does not tell.
awaitable<double> slurm_gib_per_core(std::string job);

// Returns the name of a job of process `owner` on this machine: "scavenger-myhost-1234".
std::string slurm_job_name(std::int64_t owner);

// Cancels the jobs of processes of this machine that have ended, and returns which. Returns nothing
// if there is no Slurm.
awaitable<std::vector<std::string>> cancel_abandoned_slurm_jobs();

// Cancels the Slurm jobs that earlier processes of the same training job have left, on whichever
// machine these were, and returns which. `state_folder` holds the names of such jobs: that of this
// process is added before anything is submitted. Nobody else may train the job meanwhile.
awaitable<std::vector<std::string>> take_over_slurm_jobs(std::filesystem::path state_folder,
                                                         std::string own_name);

}  // namespace scavenger
