// The port for keeping measurements for later jobs: a file (sqlite_store.h), or a service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_record.h"

namespace scavenger::perfmodel {

struct ModelSummary {
  std::string id;
  std::string name;  // of its latest job
  std::uint64_t parameters = 0;
  std::string data_set;
  std::uint64_t jobs = 0;
  std::uint64_t configurations = 0;  // whose seconds per iteration are known
  std::uint64_t runs = 0;            // that reached a target
  std::string updated_utc;
};

class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Adds rows, in one step; a row of the same job, configuration (and machine, phase, target) is
  // replaced. Throws DataError for impossible numbers.
  virtual void record(const ModelRecord& record) = 0;
  virtual std::vector<ModelSummary> list() = 0;  // the latest first
  virtual std::optional<ModelRecord> find(const std::string& id) = 0;
  virtual bool forget(const std::string& id) = 0;  // false where it was not there
  // The latest fit of a model, as a JSON text that people and programs read.
  virtual void record_fit(const std::string& id, const std::string& json) = 0;
  virtual std::optional<std::string> find_fit(const std::string& id) = 0;
};

}  // namespace scavenger::perfmodel
