#include "campaign/run/simulation_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKeptCheckpoints = 2;
constexpr const char* kManifest = "manifest.json";

[[noreturn]] void fail(const std::error_code& error, const fs::path& where) {
  throw SystemError({.what = "cannot keep a simulation's files: " + error.message(),
                     .where = where.string(),
                     .remedy = "make room on the disk, and resume the campaign"});
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(error, path);
}

const char* part_of(bool is_checkpoint) {
  return is_checkpoint ? "checkpoint" : "result";
}

[[noreturn]] void refuse(const std::string& what, const fs::path& where) {
  throw CheckpointError({.what = what, .where = where.string(), .remedy = {}});
}

}  // namespace

fs::path SimulationStore::folder_of(PointIndex point) const {
  return run_ / "simulations" / fmt::format("{:04}", point);
}

fs::path SimulationStore::segment_of(PointIndex point, std::uint64_t number) const {
  return folder_of(point) / fmt::format("segment-{}", number);
}

void SimulationStore::keep(PointIndex point, std::uint64_t number,
                           const std::vector<TaskFile>& files) const {
  const fs::path segment = segment_of(point, number);
  const fs::path incoming = segment.string() + ".incoming";
  std::error_code error;
  fs::remove_all(incoming, error);
  nlohmann::json manifest = nlohmann::json::array();
  for (const TaskFile& file : files) {
    const fs::path path = incoming / part_of(file.is_checkpoint) / file.name;
    make_folder(path.parent_path());
    write_file_atomically(path, file.content);
    manifest.push_back({{"name", file.name},
                        {"is_checkpoint", file.is_checkpoint},
                        {"bytes", file.content.size()},
                        {"sha256", sha256_hex(file.content)}});
  }
  make_folder(incoming);
  write_file_atomically(incoming / kManifest, json_text(manifest, {.indent = 1}) + "\n");
  fs::remove_all(segment, error);
  fs::rename(incoming, segment, error);
  if (error) fail(error, segment);
  sync_to_disk(segment.parent_path());
  if (number > kKeptCheckpoints)
    fs::remove_all(segment_of(point, number - kKeptCheckpoints) / part_of(true), error);
}

std::vector<TaskFile> SimulationStore::read_segment(PointIndex point, std::uint64_t number,
                                                    bool checkpoint) const {
  const fs::path segment = segment_of(point, number);
  std::vector<TaskFile> files;
  try {
    const auto manifest = parse_json(read_file(segment / kManifest));
    for (const auto& entry : manifest) {
      if (entry.at("is_checkpoint").get<bool>() != checkpoint) continue;
      TaskFile file;
      file.name = entry.at("name").get<std::string>();
      file.is_checkpoint = checkpoint;
      if (!is_inside(file.name)) refuse("it names a file outside of its folder", segment);
      file.content = read_file(segment / part_of(checkpoint) / file.name);
      if (sha256_hex(file.content) != entry.at("sha256").get<std::string>())
        refuse("a file has another content than was kept", segment / file.name);
      files.push_back(std::move(file));
    }
  } catch (const nlohmann::json::exception&) {
    refuse("its list of files cannot be read", segment / kManifest);
  } catch (const SystemError& error) {
    refuse(error.problem().what, error.problem().where);
  }
  return files;
}

std::vector<TaskFile> SimulationStore::read_checkpoint(PointIndex point,
                                                       std::uint64_t number) const {
  std::vector<TaskFile> files = read_segment(point, number, true);
  if (files.empty()) refuse("it has no checkpoint", segment_of(point, number));
  return files;
}

std::uint64_t SimulationStore::newest_intact(PointIndex point, std::uint64_t number) const {
  for (; number > 0; --number) {
    try {
      read_checkpoint(point, number);
      return number;
    } catch (const CheckpointError&) {  // the one before
    }
  }
  return 0;
}

std::vector<ResultFile> SimulationStore::read_results(PointIndex point,
                                                      std::uint64_t number) const {
  std::vector<ResultFile> results;
  for (TaskFile& file : read_segment(point, number, false))
    results.push_back({std::move(file.name), std::move(file.content)});
  return results;
}

namespace {

// The result of so many times the steps, after a longer one has taken its place.
std::string earlier_result(std::uint32_t multiple) {
  return fmt::format("result-x{}", multiple);
}

std::vector<ResultFile> files_of(const fs::path& folder) {
  std::vector<ResultFile> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->is_regular_file())
      files.push_back(
          {entry->path().lexically_relative(folder).string(), read_file(entry->path())});
  std::ranges::sort(files, {}, &ResultFile::name);
  return files;
}

}  // namespace

void SimulationStore::keep_result(PointIndex point, std::uint32_t multiple,
                                  const std::vector<ResultFile>& files) const {
  const fs::path folder = folder_of(point) / "result";
  const fs::path earlier = folder_of(point) / earlier_result(multiple / 2);
  std::error_code error;
  // After a kill the result that is there may be the longer one already.
  if (multiple > 1 && !fs::exists(earlier, error)) {
    fs::rename(folder, earlier, error);
    if (error) fail(error, earlier);
  }
  for (const ResultFile& file : files) {
    make_folder((folder / file.name).parent_path());
    write_file_atomically(folder / file.name, file.content);
  }
}

std::vector<ResultFile> SimulationStore::result_of(PointIndex point) const {
  return files_of(folder_of(point) / "result");
}

std::vector<ResultFile> SimulationStore::result_of(PointIndex point, std::uint32_t multiple) const {
  const fs::path earlier = folder_of(point) / earlier_result(multiple);
  std::error_code error;
  return fs::exists(earlier, error) ? files_of(earlier) : result_of(point);
}

std::vector<TaskFile> read_input_files(const fs::path& folder) {
  std::vector<TaskFile> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file()) continue;
    TaskFile file;
    file.name = entry->path().lexically_relative(folder).string();
    file.content = read_file(entry->path());
    struct stat status {};
    file.is_executable =
        ::stat(entry->path().c_str(), &status) == 0 && (status.st_mode & S_IXUSR) != 0;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &TaskFile::name);
  return files;
}

}  // namespace scavenger::campaign
