// The folder that holds everything about one job: config.json, events.jsonl, report.json,
// checkpoints/, logs/.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger::elastic {

struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path events() const { return path / "events.jsonl"; }
  std::filesystem::path report() const { return path / "report.json"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  std::filesystem::path logs() const { return path / "logs"; }
};

// Makes a folder for a new job. Without `wanted`: runs/NAME, or the first free one of runs/NAME-2,
// -3, ... Throws InputError where `wanted` already holds a job: this one, which can be resumed, or
// another.
RunFolder make_run_folder(const JobConfig& config, const std::filesystem::path& wanted);

// As make_run_folder(), for a job that may not even begin: unless it is kept, the folder's content
// goes again, and the folder with it if it was not there before.
class NewRunFolder final {
 public:
  NewRunFolder(const JobConfig& config, const std::filesystem::path& wanted);
  ~NewRunFolder();
  NewRunFolder(const NewRunFolder&) = delete;
  NewRunFolder& operator=(const NewRunFolder&) = delete;

  const RunFolder& folder() const { return folder_; }
  void keep() { is_kept_ = true; }

 private:
  RunFolder folder_;
  bool was_there_ = false;
  bool is_kept_ = false;
};

// Throws InputError if there is no job to resume.
RunFolder open_run_folder(const std::filesystem::path& path);

void write_config(const RunFolder& folder, const JobConfig& config);
// vocabulary.txt and target_vocabulary.txt: one word a line, in the order of their tokens.
void write_vocabularies(const RunFolder& folder, const std::string& vocabulary,
                        const std::string& target_vocabulary);

}  // namespace scavenger::elastic
