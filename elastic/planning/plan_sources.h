// Where scavenger-plan gets its observations from: run folders, tables, exports, a store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/planning/plan_simulation.h"
#include "perfmodel/plan.h"
#include "perfmodel/store/model_store.h"
#include "perfmodel/store/observations.h"
#include "perfmodel/store/sqlite_store.h"

namespace scavenger {

struct PlanArguments {
  std::vector<std::string> sources;
  std::string store;       // a file, or the URL of a service
  std::string token_file;  // of the service
  std::string model;       // an id in the store, or its beginning
  std::string mode = "measured";
  std::string policy = "knee";
  std::string workers, batch_sizes;  // "1-8", "64,128,256"
  double max_cost = 0.0;             // 0: no limit
  std::string max_time;              // "90s", "45m", "3h"
  double max_local_batch = 0.0;
  std::string machines;  // "small:2:0.5:0.04,large:4"; empty: all alike
  std::string shares = "dynamic";
  double price = -1.0;  // below 0: as recorded
  double fixed_price = 0.0;
  bool exact_billing = false;
  double samples = 0.0;
  double noise_scale = 0.0;
  std::vector<std::string> columns, rows;  // "epochs=epochs_to_target"
  perfmodel::RowFilter filter;
  int phase = 0;
  bool json = false;
  std::string html;
  bool simulate = false;
  SimulationOptions simulation;
};

// What is known of one model, and from where.
struct KnownModel {
  perfmodel::ModelRecord record;
  std::string title;
  std::vector<std::string> notes;
  std::optional<std::uint64_t> room_samples = {};  // of one pass, as the runs' workers measured it
};

// All sources together, which must be of one model; with the store's rows of it where one is named.
// Mode "none": the model of the store that is most similar to the sources'.
KnownModel gather_model(const PlanArguments& arguments);

// Mode "universal": every model of the store that has observations enough.
std::vector<KnownModel> gather_all(const PlanArguments& arguments);

perfmodel::PlanRequest make_request(const PlanArguments& arguments, const KnownModel& model,
                                    std::string& details);

// A file, or the URL of a service. Throws as their constructors do.
std::unique_ptr<perfmodel::ModelStore> open_named_store(const std::string& name,
                                                        const std::string& token_file,
                                                        perfmodel::StoreAccess access);

// "1-8" or "64,128,256". Throws InputError that names the option.
std::vector<double> parse_numbers(const std::string& text, const char* option);
// The only model whose id begins so. Throws InputError where there is none, or more than one.
std::string full_id(perfmodel::ModelStore& store, const std::string& beginning);

}  // namespace scavenger
