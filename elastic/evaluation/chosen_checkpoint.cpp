#include "elastic/evaluation/chosen_checkpoint.h"

#include <filesystem>
#include <iostream>

#include "runtime/base/error.h"
#include "runtime/checkpoint/checkpoint_folder.h"

namespace scavenger {

void declare_checkpoint_choice(CLI::App& app, std::string& choice) {
  app.add_option("--checkpoint", choice,
                 "Which one: best (the last one where there is no best), last, or its iteration")
      ->capture_default_str();
}

LoadedCheckpoint read_chosen_checkpoint(const elastic::RunFolder& run, const std::string& choice,
                                        const char* program) {
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
    auto loaded = store.load_latest_good(
        [&](const Error& error) { std::cerr << program << ": " << error.what() << "\n"; });
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

}  // namespace scavenger
