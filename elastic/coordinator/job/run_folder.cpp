#include "elastic/coordinator/job/run_folder.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/config/config_file.h"
#include "runtime/process/new_run_folder.h"
#include "runtime/process/run_lock.h"

namespace scavenger::elastic {
namespace fs = std::filesystem;
namespace {

bool is_empty_or_missing(const fs::path& path) {
  std::error_code error;
  return !fs::exists(path, error) || fs::is_empty(path, error);
}

[[noreturn]] void refuse_taken_folder(const JobConfig& config, const fs::path& path) {
  const fs::path config_file = path / "config.json";
  std::error_code error;
  if (!fs::exists(config_file, error))
    throw InputError({.what = "the folder is not empty, and holds no job",
                      .where = path.string(),
                      .remedy = "give --run another folder"});
  const JobConfig other = read_resolved_config(config_file);
  const bool same = to_json(other) == to_json(config);
  throw InputError(
      {.what = same ? "the folder already holds this job" : "the folder belongs to another job",
       .where = path.string(),
       .remedy = same ? "go on with it by --resume " + shell_quoted(path.string()) +
                            ", or give --run another folder"
                      : "give --run another folder, or go on with that job by --resume " +
                            shell_quoted(path.string())});
}

}  // namespace

RunFolder make_run_folder(const JobConfig& config, const fs::path& wanted) {
  if (!wanted.empty() && !is_empty_or_missing(wanted)) refuse_taken_folder(config, wanted);
  RunFolder folder{
      fs::absolute(wanted.empty() ? make_free_run_folder(config.name) : wanted).lexically_normal()};
  std::error_code error;
  fs::create_directories(folder.logs(), error);
  if (!error) fs::create_directories(folder.checkpoints(), error);
  if (error) refuse_run_folder(folder.path, error.message());
  return folder;
}

NewRunFolder::NewRunFolder(const JobConfig& config, const fs::path& wanted) {
  std::error_code error;
  was_there_ = !wanted.empty() && fs::exists(wanted, error);
  folder_ = make_run_folder(config, wanted);
}

NewRunFolder::~NewRunFolder() {
  if (is_kept_) return;
  std::error_code ignored;
  try {
    const RunLock lock(folder_.path);
    for (const auto& entry : fs::directory_iterator(folder_.path, ignored))
      fs::remove_all(entry.path(), ignored);
    if (!was_there_) fs::remove(folder_.path, ignored);
  } catch (const Error&) {  // another process was given the same folder, and works on it
  }
}

RunFolder open_run_folder(const fs::path& path) {
  RunFolder folder{fs::absolute(path).lexically_normal()};
  std::error_code error;
  if (!fs::exists(folder.config(), error))
    throw InputError(
        {.what = "there is no job here: config.json is missing",
         .where = folder.path.string(),
         .remedy = "name the run folder that scavenger-train printed when the job started"});
  fs::create_directories(folder.logs(), error);
  fs::create_directories(folder.checkpoints(), error);
  return folder;
}

void write_vocabularies(const RunFolder& folder, const std::string& vocabulary,
                        const std::string& target_vocabulary) {
  write_file_atomically(folder.path / "vocabulary.txt", vocabulary);
  write_file_atomically(folder.path / "target_vocabulary.txt", target_vocabulary);
}

void write_config(const RunFolder& folder, const JobConfig& config) {
  write_file_atomically(folder.config(), json_text(to_json(config), {.indent = 2}) + "\n");
}

}  // namespace scavenger::elastic
