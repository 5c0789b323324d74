// One event of each kind with every field set, and small builders, for the tests of this folder.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/history/job_noise.h"

namespace scavenger::elastic {

inline fact::Start sample_start() {
  return {.utc = "2026-11-21T08:35:08Z",
          .job_id = "f00d",
          .name = "fashion_mlp",
          .version = "0.1.0",
          .commit = "0123456789ab",
          .config_digest = "abcdef",
          .host = {.name = "box", .cores = 2, .memory_bytes = 1ULL << 33, .cpu = "A CPU @ 3 GHz"},
          .resumed_from_iteration = std::nullopt,
          .time_before = 0.0,
          .workers = 2,
          .price_per_worker_hour = 3.6,
          .precision = Precision::kTf32,
          .samples_per_epoch = 1000,
          .parameter_count = 123456,
          .target = fact::Target{.metric = Metric::kAccuracy, .split = Split::kTest, .value = 0.9},
          .limits = {.max_epochs = 10.0, .max_iterations = 0, .max_seconds = 3600.0},
          .policy = Policy::kMinimumCost};
}

inline fact::Membership sample_membership(std::uint32_t epoch, std::vector<std::uint32_t> shares,
                                          std::uint64_t first_iteration = 0,
                                          std::uint64_t position = 0) {
  std::uint32_t batch_size = 0;
  for (const std::uint32_t share : shares) batch_size += share;
  const auto workers = static_cast<std::uint32_t>(shares.size());
  std::vector<std::uint32_t> indices(workers);
  std::iota(indices.begin(), indices.end(), 0U);
  return {.membership_epoch = epoch,
          .workers = workers,
          .batch_size = batch_size,
          .indices = std::move(indices),
          .shares = std::move(shares),
          .first_iteration = first_iteration,
          .position = position,
          .reason = "the job starts",
          .rate_factor = 1.0};
}

// `count` iterations that all look the same: 100 ms each, worker k computes for (k + 1) x 10 ms.
inline fact::Iterations sample_iterations(std::uint32_t epoch, std::uint64_t first,
                                          std::uint32_t count, std::uint32_t workers) {
  fact::Iterations iterations{.membership_epoch = epoch,
                              .first = first,
                              .count = count,
                              .learning_rate = 0.05,
                              .loss = std::vector<double>(count, 0.5),
                              .seconds = std::vector<double>(count, 0.1),
                              .global_sqr_norm = std::vector<double>(count, 2.5),
                              .workers = {},
                              .half_batches = {}};
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    iterations.workers.push_back({.rank = rank,
                                  .data_wait = std::vector<double>(count, 0.001),
                                  .forward = std::vector<double>(count, 4.0 * (rank + 1) / 1000.0),
                                  .backward = std::vector<double>(count, 6.0 * (rank + 1) / 1000.0),
                                  .sync_wait = std::vector<double>(count, 0.02),
                                  .local_sqr_norm = std::vector<double>(count, 3.5)});
  return iterations;
}

// One iteration of one worker, with its batch's halves in two groups.
inline fact::Iterations sample_half_batches(std::uint32_t epoch, std::uint64_t first) {
  fact::Iterations iterations = sample_iterations(epoch, first, 1, 1);
  iterations.half_batches.push_back({.iteration = first,
                                     .first_samples = 31,
                                     .second_samples = 32,
                                     .seconds = 0.005,
                                     .first_sqr_norm = {2.0, 1.5},
                                     .second_sqr_norm = {2.5, 1.25},
                                     .whole_sqr_norm = {1.5, 1.0}});
  return iterations;
}

inline fact::IterationBlock sample_block(std::uint32_t epoch, std::uint64_t first) {
  const fact::SeriesDigest digest{2, {0.25, 0.125, 0.0, 0.5}, {1, 4, -300, 1}};
  const fact::SeriesDigest moments{2, {0.25, 0.125, 0.0, 0.5}, {}};
  const std::vector<fact::Exact> state(NoiseMeter::kStateNumbers, {1.0 / 3.0});
  fact::IterationBlock block;
  block.membership_epoch = epoch;
  block.first = first;
  block.count = 3;
  block.discarded = 1;
  block.learning_rate = 0.05;
  block.loss = moments;
  for (auto* one : {&block.seconds, &block.data_wait, &block.forward, &block.backward,
                    &block.compute, &block.sync_wait, &block.transfer})
    *one = digest;
  block.straggler_skew = moments;
  block.workers = {{1, digest, digest, digest, digest, digest, digest}};
  block.pace = {{first, {0.25, 0.5}}};
  block.job_noise = block.membership_noise = state;
  block.half_batches = sample_half_batches(epoch, first).half_batches;
  block.half_batch_seconds = 0.01;
  return block;
}

inline fact::Evaluation sample_evaluation(std::uint64_t iteration, double epoch, double loss,
                                          double accuracy) {
  fact::MetricValues metrics;
  metrics[Metric::kAccuracy] = accuracy;
  return {.iteration = iteration,
          .epoch = epoch,
          .split = Split::kTest,
          .samples = 500,
          .loss = loss,
          .metrics = metrics,
          .seconds = 0.25};
}

inline fact::End sample_end(std::uint64_t iteration, std::uint64_t position) {
  return {.status = Status::kMaxEpochs,
          .reason = "10 epochs are done",
          .iteration = iteration,
          .position = position,
          .exit_code = 0};
}

inline std::vector<RunEvent> one_of_each() {
  fact::Start resumed = sample_start();
  resumed.resumed_from_iteration = 40;
  resumed.target.reset();
  return {
      sample_start(),
      resumed,
      fact::ProcessStarted{.role = Role::kShard, .index = 1, .pid = 4711, .log = "ps1.log"},
      fact::ProcessJoined{.role = Role::kWorker, .index = 3, .pid = 4712, .start_seconds = 0.75},
      fact::ProcessLost{.role = Role::kWorker,
                        .index = 3,
                        .pid = 4712,
                        .how = "killed by signal 9",
                        .log_tail = "a \"quoted\"\nline\t\x01 é"},
      fact::Recovery{.membership_epoch = 8,
                     .lost = {"worker 3", "shard 1"},
                     .iteration = 90,
                     .iterations_lost = 10,
                     .seconds = 0.125},
      fact::Pause{.paused = true, .iteration = 100},
      sample_membership(7, {40, 24}, 100, 6400),
      sample_iterations(7, 100, 3, 2),
      sample_half_batches(7, 103),
      sample_block(7, 104),
      fact::Model{.parameter_count = 123456,
                  .architecture = "0123456789abcdef",
                  .groups = {"layers.0", "layers.1"}},
      fact::NoiseStable{.iteration = 1500,
                        .noise_phase = 2,
                        .learning_rate = 0.05,
                        .noise_scale = 250.0,
                        .noise_scale_low = 220.0,
                        .noise_scale_high = 290.0},
      fact::RateDecision{
          .iteration = 1500, .batch_size = 256, .noise_scale = 250.0, .factor = 2.25},
      fact::SampleMemory{.worker = 1, .bytes_per_sample = 1 << 20, .room_samples = 4000},
      fact::DeviceUse{.worker = 1,
                      .device = "GPU 0",
                      .most_used_bytes = 3ULL << 30,
                      .most_reserved_bytes = 4ULL << 30,
                      .total_bytes = 80ULL << 30,
                      .graphs = 2},
      fact::ScriptValues{.iteration = 60, .names = {"loss", "tokens"}, .values = {0.5, 4096.0}},
      fact::UserError{.worker = 1,
                      .what = "failed: the loop failed in worker 1, on samples 3, 4",
                      .traceback = "Traceback (most recent call last):\n  ..."},
      sample_evaluation(100, 6.4, 0.25, 0.875),
      fact::Checkpoint{.iteration = 100,
                       .folder = "checkpoints/100",
                       .bytes = 1ULL << 40,
                       .stall_seconds = 0.002,
                       .write_seconds = 0.5,
                       .best = true},
      fact::CheckpointFailed{.iteration = 200, .reason = "no space left"},
      fact::CheckpointDamaged{.folder = "checkpoints/100", .reason = "wrong checksum"},
      fact::TargetReached{.metric = Metric::kAccuracy,
                          .split = Split::kTest,
                          .value = 0.91,
                          .iteration = 300,
                          .epoch = 19.2},
      fact::Machine{.name = "job-w0",
                    .change = fact::MachineChange::kNotice,
                    .worker = 1,
                    .machine_type = "e2-standard-4",
                    .zone = "us-central1-a",
                    .spot = true,
                    .price_per_hour = 0.04,
                    .on_demand_price_per_hour = 0.15,
                    .minimum_seconds = 60.0,
                    .charged_seconds = 12.5,
                    .reason = "preempted"},
      fact::SearchStep{.iteration = 300,
                       .phase = fact::SearchPhase::kSettled,
                       .workers = 2,
                       .batch_size = 64,
                       .reason = "the knee"},
      fact::VmStep{.iteration = 300,
                   .phase = fact::VmPhase::kProbing,
                   .machine_type = "e2-standard-4",
                   .workers = 3,
                   .batch_size = 64,
                   .worker = 2,
                   .share = 8,
                   .leaving = {0, 1},
                   .reason = "measures a second share",
                   .spot = false,
                   .seconds_low = 0.25,
                   .seconds_high = 0.5},
      fact::Prediction{.iteration = 300,
                       .policy = Policy::kKnee,
                       .relative = true,
                       .reference_batch = 64.0,
                       .time_form = "linear",
                       .statistical_form = "noise_scale",
                       .noise_scale = 120.0,
                       .noise_phase = 1,
                       .workers = 2,
                       .batch_size = 64,
                       .reason = "the knee",
                       .candidates = {{.workers = 2,
                                       .batch_size = 64,
                                       .iteration_seconds = 0.01,
                                       .iteration_seconds_low = 0.009,
                                       .iteration_seconds_high = 0.011,
                                       .epochs = 1.0,
                                       .seconds = 9.0,
                                       .seconds_low = 8.0,
                                       .seconds_high = 10.0,
                                       .cost = 0.1,
                                       .measured = true,
                                       .extrapolated = false,
                                       .pareto = true,
                                       .knee = true}}},
      fact::Warning{.text = "something odd"},
      sample_end(300, 19200)};
}

}  // namespace scavenger::elastic
