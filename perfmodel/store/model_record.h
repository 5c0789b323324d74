// What was measured of one model on all its jobs: the content of a store, of its exports, and of
// what a running job tells it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace scavenger::perfmodel {

// Measurements carry over between jobs with one signature.
struct ModelSignature {
  std::string architecture;  // a digest of the layers
  std::uint64_t parameters = 0;
  std::string data_set;
  std::uint64_t samples_per_epoch = 0;
  std::string optimizer;  // with its schedule of the learning rate

  // 16 hexadecimal digits.
  std::string id() const;
  bool operator==(const ModelSignature&) const = default;
};

// Seconds per iteration of one job at one configuration. A job that goes on replaces its own row.
struct TimeRow {
  std::string job;
  std::string machine;  // type of the workers' machines
  double workers = 0.0;
  double batch_size = 0.0;
  double seconds = 0.0;
  double standard_error = 0.0;  // 0: not known
  double iterations = 0.0;      // that were measured
  bool operator==(const TimeRow&) const = default;
};

// Noise in one phase of the learning rate.
struct NoiseRow {
  std::string job;
  std::uint32_t phase = 1;
  double workers = 0.0;
  double batch_size = 0.0;
  double noise_scale = 0.0;  // B_s; its interval's upper end is 0 where it is open
  double noise_scale_low = 0.0;
  double noise_scale_high = 0.0;
  double normalised_noise = 0.0;  // gamma / K as it was measured; 0: not known
  double iterations = 0.0;
  bool operator==(const NoiseRow&) const = default;
};

// A run that reached its target at one configuration.
struct EpochRow {
  std::string job;
  std::string target;  // "test accuracy 0.88"
  double workers = 0.0;
  double batch_size = 0.0;
  double epochs = 0.0;
  double seconds = 0.0;  // 0: not known
  bool operator==(const EpochRow&) const = default;
};

struct ModelRecord {
  ModelSignature signature;
  std::string name;  // of the latest job
  double price_per_worker_hour = 0.0;
  std::vector<TimeRow> times;
  std::vector<NoiseRow> noise;
  std::vector<EpochRow> epochs;
  // Compute alone: of one worker (`workers` is 1) with a share of `batch_size` samples.
  std::vector<TimeRow> compute = {};
  bool operator==(const ModelRecord&) const = default;
};

// Throws DataError that names the row: numbers that are not finite and positive, K < 1, B < K.
void check_record(const ModelRecord& record);

std::string to_json_text(const ModelRecord& record);
// Throws DataError, with `where`, for what is not such a document, to the field.
ModelRecord parse_model_record(const std::string& text, const std::string& where);

// 0 (nothing in common) to 1 (the same): how much two jobs may be expected to share. The
// architecture counts half, the size of the model (by ratio) a quarter, the data and the optimizer
// an eighth each.
double similarity(const ModelSignature& a, const ModelSignature& b);

}  // namespace scavenger::perfmodel
