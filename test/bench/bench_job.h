// What the processes of a synchronisation benchmark agree on: a model that is nothing but its size.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include "ps/shm/segment.h"
#include "runtime/base/error.h"
#include "runtime/config/job_config.h"
#include "runtime/net/handshake.h"
#include "runtime/training/membership.h"

namespace scavenger::bench {

inline constexpr std::uint64_t kSamplesPerEpoch = 1'000'000;

struct JobOptions {
  std::uint64_t floats = 0;
  std::uint32_t workers = 1;
  std::uint64_t chunk_bytes = PsConfig().chunk_bytes;

  OptimizerConfig optimizer() const {
    OptimizerConfig config;
    config.learning_rate = 1e-3;
    config.momentum = 0.9;
    return config;
  }
};

inline void declare(CLI::App& app, JobOptions& job) {
  app.add_option("--floats", job.floats)->required();
  app.add_option("--workers", job.workers)->required();
  app.add_option("--chunk-bytes", job.chunk_bytes);
}

inline Membership membership_of(const JobOptions& job) {
  Membership membership;
  membership.epoch = 1;
  membership.batch_size = job.workers;
  membership.shares.assign(job.workers, 1);
  return membership;
}

inline ps::SegmentShape shape_of(const JobOptions& job) {
  return {job.floats, job.chunk_bytes, 1};  // of state: the momentum
}

// The first line of standard input: the job's id and secret in hexadecimal digits.
inline JobCredentials read_credentials() {
  std::string line;
  std::getline(std::cin, line);
  JobCredentials credentials;
  if (line.size() != 2 * (credentials.job_id.size() + credentials.secret.size()))
    throw InputError({.what = "standard input does not begin with the job's credentials",
                      .where = "standard input",
                      .remedy = "start this program through sync_bench.py"});
  const auto byte = [&line](std::size_t i) {
    return static_cast<std::byte>(std::stoi(line.substr(2 * i, 2), nullptr, 16));
  };
  for (std::size_t i = 0; i < credentials.job_id.size(); ++i) credentials.job_id[i] = byte(i);
  for (std::size_t i = 0; i < credentials.secret.size(); ++i)
    credentials.secret[i] = byte(credentials.job_id.size() + i);
  return credentials;
}

}  // namespace scavenger::bench
