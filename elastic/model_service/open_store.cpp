#include "elastic/model_service/open_store.h"

#include "elastic/model_service/model_service.h"
#include "elastic/model_service/remote_store.h"
#include "perfmodel/store/sqlite_store.h"

namespace scavenger::elastic {

std::unique_ptr<perfmodel::ModelStore> open_model_store(const ModelStoreConfig& config) {
  if (!config.url.empty())
    return std::make_unique<RemoteStore>(config.url, token_from(config.token_file.string(), false));
  return std::make_unique<perfmodel::SqliteStore>(config.path);
}

}  // namespace scavenger::elastic
