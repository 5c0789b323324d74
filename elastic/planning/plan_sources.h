// Where a plan gets its observations from: run folders, tables, exports, a store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/plan/known_model.h"
#include "perfmodel/store/model_store.h"
#include "perfmodel/store/sqlite_store.h"

namespace scavenger::elastic {

struct StoreAddress {
  std::string name;        // a file, or the URL of a service; empty: none
  std::string token_file;  // of the service
};

// What is named on the command line.
struct PlanSources {
  std::vector<std::string> paths;          // run folders, tables, exports; all of one model
  std::vector<std::string> columns, rows;  // of a table: "epochs=epochs_to_target"
  double samples_per_epoch = 0.0;          // of a table; 0: as it says
  StoreAddress store;
  std::string model;  // an id in the store, or its beginning
};

// Which measurements count.
enum class Knowledge {
  kMeasured,   // the sources', with the store's of the same model
  kSimilar,    // those of the store's model that is most similar to the sources'
  kUniversal,  // every model of the store that has observations enough
};
// Of --mode: "measured", "none", "universal". Throws InputError for another word.
Knowledge parse_knowledge(const std::string& mode);

// All sources together, which must be of one model; with the store's rows of it if one is named.
// With kSimilar: the model of the store that is most similar to the sources'. Throws InputError.
KnownModel gather_model(const PlanSources& sources, Knowledge knowledge = Knowledge::kMeasured);

// Of every model of the store that has observations enough. Throws InputError.
std::vector<KnownModel> gather_all(const StoreAddress& store);

// Throws as the constructors of the stores do, and InputError for a service without a token.
std::unique_ptr<perfmodel::ModelStore> open_store(const StoreAddress& address,
                                                  perfmodel::StoreAccess access);

// The only model whose id begins so. Throws InputError if there is none, or more than one.
std::string full_id(perfmodel::ModelStore& store, const std::string& beginning);

}  // namespace scavenger::elastic
