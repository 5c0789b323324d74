#include "perfmodel/store/model_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::perfmodel {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelSignature, architecture, parameters, data_set,
                                   samples_per_epoch, optimizer)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimeRow, job, machine, workers, batch_size, seconds,
                                   standard_error, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NoiseRow, job, phase, workers, batch_size, noise_scale,
                                   noise_scale_low, noise_scale_high, normalised_noise, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpochRow, job, target, workers, batch_size, epochs, seconds)

// Documents of older versions have no compute, and those of jobs on one machine type need none.
void to_json(nlohmann::json& json, const ModelRecord& record) {
  json = {{"signature", record.signature},
          {"name", record.name},
          {"price_per_worker_hour", record.price_per_worker_hour},
          {"times", record.times},
          {"noise", record.noise},
          {"epochs", record.epochs}};
  if (!record.compute.empty()) json["compute"] = record.compute;
}

void from_json(const nlohmann::json& json, ModelRecord& record) {
  json.at("signature").get_to(record.signature);
  json.at("name").get_to(record.name);
  json.at("price_per_worker_hour").get_to(record.price_per_worker_hour);
  json.at("times").get_to(record.times);
  json.at("noise").get_to(record.noise);
  json.at("epochs").get_to(record.epochs);
  if (json.contains("compute")) json.at("compute").get_to(record.compute);
}

namespace {

class RecordCheck final {
 public:
  RecordCheck(std::string kind, std::size_t row) : row_(fmt::format("{} {}", kind, row)) {}

  void configuration(double workers, double batch_size) const {
    positive("workers", workers);
    positive("batch_size", batch_size);
    if (workers != std::floor(workers) || batch_size != std::floor(batch_size))
      fail("workers and batch_size must be whole numbers");
    if (batch_size < workers)
      fail(fmt::format("{} workers cannot share a batch of {}", workers, batch_size));
  }
  void positive(const char* name, double value) const {
    if (!std::isfinite(value) || value <= 0.0)
      fail(fmt::format("{} is {}, and must be positive", name, value));
  }
  void not_negative(const char* name, double value) const {
    if (!std::isfinite(value) || value < 0.0)
      fail(fmt::format("{} is {}, and must not be negative", name, value));
  }
  void at_most(const char* name, double value, const char* of, double most) const {
    if (value > most) fail(fmt::format("{} is {}, more than {}, {}", name, value, of, most));
  }

 private:
  [[noreturn]] void fail(std::string what) const {
    throw DataError({.what = std::move(what),
                     .where = row_,
                     .remedy = "correct the measurement, or leave its row out"});
  }
  std::string row_;
};

void check_times(const char* kind, const std::vector<TimeRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RecordCheck check(kind, i);
    const TimeRow& row = rows[i];
    check.configuration(row.workers, row.batch_size);
    check.positive("seconds", row.seconds);
    check.not_negative("standard_error", row.standard_error);
    check.at_most("standard_error", row.standard_error, "seconds", row.seconds);
    check.not_negative("iterations", row.iterations);
  }
}

}  // namespace

std::string ModelSignature::id() const {
  return sha256_hex(json_text(nlohmann::json(*this))).substr(0, 16);
}

void check_record(const ModelRecord& record) {
  check_times("times", record.times);
  check_times("compute", record.compute);
  for (std::size_t i = 0; i < record.noise.size(); ++i) {
    const RecordCheck check("noise", i);
    const NoiseRow& row = record.noise[i];
    check.configuration(row.workers, row.batch_size);
    check.not_negative("noise_scale", row.noise_scale);
    check.not_negative("normalised_noise", row.normalised_noise);
    check.not_negative("iterations", row.iterations);
  }
  for (std::size_t i = 0; i < record.epochs.size(); ++i) {
    const RecordCheck check("epochs", i);
    const EpochRow& row = record.epochs[i];
    check.configuration(row.workers, row.batch_size);
    check.positive("epochs", row.epochs);
    check.not_negative("seconds", row.seconds);
  }
}

std::string to_json_text(const ModelRecord& record) {
  return json_text(nlohmann::json(record), {.indent = 1}) + "\n";
}

ModelRecord parse_model_record(const std::string& text, const std::string& where) {
  try {
    const auto json = parse_json(text);
    auto record = json.get<ModelRecord>();
    check_record(record);
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw DataError({.what = fmt::format("this is no exported model ({})", error.what()),
                     .where = where,
                     .remedy = "give what scavenger-plan export writes (docs/store.md)"});
  } catch (const DataError& error) {
    throw DataError({.what = error.problem().what,
                     .where = where + ": " + error.problem().where,
                     .remedy = error.problem().remedy});
  }
}

double similarity(const ModelSignature& a, const ModelSignature& b) {
  const auto smaller = static_cast<double>(std::min(a.parameters, b.parameters));
  const auto larger = static_cast<double>(std::max(a.parameters, b.parameters));
  return (a.architecture == b.architecture ? 0.5 : 0.0) +
         (larger > 0.0 ? 0.25 * smaller / larger : 0.0) + (a.data_set == b.data_set ? 0.125 : 0.0) +
         (a.optimizer == b.optimizer ? 0.125 : 0.0);
}

}  // namespace scavenger::perfmodel
