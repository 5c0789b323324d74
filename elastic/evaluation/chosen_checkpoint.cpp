#include "elastic/evaluation/chosen_checkpoint.h"

#include <filesystem>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/checkpoint/checkpoint_folder.h"

namespace scavenger::elastic {

LoadedCheckpoint read_chosen_checkpoint(const RunFolder& run, const std::string& choice,
                                        const OnDamaged& on_damaged) {
  const std::filesystem::path folder = run.checkpoints();
  LocalDisk disk;
  CheckpointStore store(disk, folder, {});
  if (store.list().empty())
    throw InputError({.what = "the job has written no checkpoint yet",
                      .where = folder.string(),
                      .remedy = "wait for one, or ask for one: scavenger-ctl RUN checkpoint"});
  if (choice == "best")
    if (const auto best = store.best()) return {best->folder, read_checkpoint(best->folder)};
  if (choice == "best" || choice == "last") {
    auto loaded = store.load_latest_good(on_damaged);
    if (loaded) return std::move(*loaded);
  } else {
    for (const StoredCheckpoint& stored : store.list())
      if (std::to_string(stored.iteration) == choice)
        return {stored.folder, read_checkpoint(stored.folder)};
  }
  throw InputError({.what = "there is no checkpoint \"" + choice + "\"",
                    .where = folder.string(),
                    .remedy = "name best, last, or the iteration of one that is there"});
}

}  // namespace scavenger::elastic
