#include "runtime/checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_manifest.h"

namespace scavenger {
namespace {

constexpr std::string_view kNamePrefix = "iteration_";
constexpr const char* kBestLink = "best";

std::optional<std::uint64_t> iteration_of(const std::string& name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  std::uint64_t iteration = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kNamePrefix.size(), end, iteration);
  if (error != std::errc() || stop != end || checkpoint_name(iteration) != name) return {};
  return iteration;
}

// Includes hidden names. Returns none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
  } catch (const std::filesystem::filesystem_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return {};
    throw SystemError(error.code().value(),
                      {.what = "cannot list the checkpoints",
                       .where = folder.string(),
                       .remedy = "check that this is a folder that you may read"});
  }
  return names;
}

std::uint64_t tensor_bytes(const Checkpoint& checkpoint) {
  const std::uint64_t copies = 1 + checkpoint.optimizer.slots.size();
  return sizeof(float) *
         (copies * checkpoint.parameters.element_count() + checkpoint.buffers.element_count());
}

std::optional<CheckpointManifest> manifest_of(const StoredCheckpoint& stored) {
  try {
    return read_manifest(stored.folder);
  } catch (const CheckpointError&) {
    return std::nullopt;
  }
}

bool is_of_unknown_format(const StoredCheckpoint& stored) {
  const auto manifest = manifest_of(stored);
  return manifest && manifest->format_version != kCheckpointFormatVersion;
}

}  // namespace

std::string checkpoint_name(std::uint64_t iteration) {
  return fmt::format("{}{:09}", kNamePrefix, iteration);
}

CheckpointStore::CheckpointStore(Disk& disk, std::filesystem::path folder, Retention retention)
    : disk_(disk), folder_(std::move(folder)), retention_(retention) {
  SCAVENGER_CHECK(retention_.keep_last >= 1);
}

WrittenCheckpoint CheckpointStore::write(const Checkpoint& checkpoint, bool is_best) {
  WrittenCheckpoint written{.folder = folder_ / checkpoint_name(checkpoint.iteration), .bytes = 0};
  try {
    std::error_code unknown;
    if (!std::filesystem::exists(folder_, unknown)) disk_.create_folder(folder_);
    remove_leftovers();
    require_free_space(checkpoint);
    written.bytes = write_checkpoint(disk_, checkpoint, is_best, written.folder);
  } catch (const SystemError& error) {
    throw explain(error, checkpoint);
  }
  damaged_.erase(checkpoint.iteration);
  tidy(checkpoint.iteration);
  return written;
}

std::vector<StoredCheckpoint> CheckpointStore::list() const {
  std::vector<StoredCheckpoint> stored;
  for (const std::string& name : names_in(folder_)) {
    const auto iteration = iteration_of(name);
    if (iteration) stored.push_back({.iteration = *iteration, .folder = folder_ / name});
  }
  std::ranges::sort(stored, {}, &StoredCheckpoint::iteration);
  return stored;
}

std::optional<StoredCheckpoint> CheckpointStore::best() const {
  std::vector<StoredCheckpoint> stored = list();
  const auto newest = std::find_if(stored.rbegin(), stored.rend(), [this](const auto& candidate) {
    const auto manifest = manifest_of(candidate);
    return manifest && manifest->is_best && !damaged_.contains(candidate.iteration);
  });
  if (newest == stored.rend()) return std::nullopt;
  return std::move(*newest);
}

std::optional<LoadedCheckpoint> CheckpointStore::load_latest_good(const Warn& warn) {
  std::vector<StoredCheckpoint> stored = list();
  std::ranges::reverse(stored);
  for (const StoredCheckpoint& candidate : stored) {
    try {
      return LoadedCheckpoint{candidate.folder, read_checkpoint(candidate.folder)};
    } catch (const Error& error) {
      if (is_of_unknown_format(candidate)) throw;  // skipping it would lose good work
      damaged_.insert(candidate.iteration);
      warn(error);
    }
  }
  if (stored.empty()) return std::nullopt;
  throw CheckpointError({.what = fmt::format("none of the {} checkpoints is whole", stored.size()),
                         .where = folder_.string(),
                         .remedy = "restore one from a copy, or start a new run"});
}

void CheckpointStore::require_free_space(const Checkpoint& checkpoint) {
  const auto free = disk_.free_bytes(folder_);
  if (!free || *free >= tensor_bytes(checkpoint)) return;
  throw SystemError({.what = "the disk is full", .where = folder_.string(), .remedy = {}});
}

void CheckpointStore::remove_leftovers() {
  for (const std::string& name : names_in(folder_)) {
    if (name.starts_with(kWritingPrefix) || name.starts_with(kRemovingPrefix)) {
      disk_.remove_all(folder_ / name);
    }
  }
}

void CheckpointStore::tidy(std::uint64_t written) {
  try {
    prune(written);
    link_best();
  } catch (const SystemError& error) {
    throw SystemError({.what = fmt::format("the checkpoint of iteration {} is written, but older "
                                           "ones could not be tidied up: {}",
                                           written, error.problem().what),
                       .where = error.problem().where,
                       .remedy = "check the owner and the permissions of this folder"});
  }
}

// Checkpoints of later iterations than the one just written are left over from before the job went
// back past a damaged one; they are removed when training has passed them. Damaged ones do not
// count as kept.
void CheckpointStore::prune(std::uint64_t written) {
  std::vector<StoredCheckpoint> stored = list();
  std::ranges::reverse(stored);
  const auto best_one = retention_.keep_best ? best() : std::nullopt;
  std::uint32_t kept = 0;
  for (const StoredCheckpoint& candidate : stored) {
    if (candidate.iteration > written) continue;
    if (kept < retention_.keep_last) {
      if (!damaged_.contains(candidate.iteration)) ++kept;
    } else if (!best_one || best_one->iteration != candidate.iteration) {
      remove(candidate.folder);
    }
  }
}

// Renames the folder first, so that a crash does not leave half a checkpoint under its name.
void CheckpointStore::remove(const std::filesystem::path& checkpoint) {
  const auto doomed = folder_ / (kRemovingPrefix + checkpoint.filename().string());
  disk_.rename(checkpoint, doomed);
  disk_.remove_all(doomed);
}

void CheckpointStore::link_best() {
  const std::filesystem::path link = folder_ / kBestLink;
  const auto best_one = retention_.keep_best ? best() : std::nullopt;
  if (!best_one) return disk_.remove_all(link);
  const std::filesystem::path target = best_one->folder.filename();
  std::error_code missing;
  if (std::filesystem::read_symlink(link, missing) == target) return;
  const std::filesystem::path temporary = folder_ / (std::string(kWritingPrefix) + kBestLink);
  disk_.create_link(target, temporary);
  disk_.rename(temporary, link);
  disk_.sync_folder(folder_);
}

SystemError CheckpointStore::explain(const SystemError& error, const Checkpoint& checkpoint) {
  const auto free = disk_.free_bytes(folder_);
  const auto last = last_name();
  return SystemError(
      {.what = fmt::format(
           "the checkpoint of iteration {} is not written: {} ({} needed, {} free); {}",
           checkpoint.iteration, error.problem().what, format_bytes(tensor_bytes(checkpoint)),
           free ? format_bytes(*free) : "unknown",
           last ? "the last one stays: " + *last : "there is none from before"),
       .where = error.problem().where,
       .remedy = "free space on this disk or lower checkpoint.keep_last; training can go on, and "
                 "the next checkpoint is tried in its turn"});
}

// For error messages. Returns nothing if the folder cannot be read either.
std::optional<std::string> CheckpointStore::last_name() const {
  try {
    const std::vector<StoredCheckpoint> stored = list();
    if (!stored.empty()) return stored.back().folder.filename().string();
  } catch (const SystemError&) {
  }
  return std::nullopt;
}

}  // namespace scavenger
