// Converts a JSON document to a checked JobConfig, and back.
//
// The document's structure (keys, types, ranges, defaults) is configs/scavenger.schema.json, which
// is built into this library; config_checks.h holds the rules between values. Every fault is one
// ConfigError that names the file, the line and the key ("configs/mlp.json:12:
// optimizer.momentum"), or the override ("--set optimizer.momentum=2"), and the remedy.
// Thread-safe.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger {

// kMustExist: throws ConfigError if a data file is missing or unreadable. kNotChecked: for reading
// a configuration on a machine that does not have the data.
enum class DataFiles { kMustExist, kNotChecked };

// Reads the configuration at `path`. Each override "a.b=c" (the argument of --set) replaces the
// value at a.b by c; list elements are named by index: "a.0". c is JSON if it parses as JSON, and
// text otherwise; null removes the key, so that its default applies. Data paths in the file are
// relative to the file's folder, those in overrides to the current folder; the result has absolute
// paths.
JobConfig load_job_config(const std::filesystem::path& path,
                          std::span<const std::string> overrides = {},
                          DataFiles data_files = DataFiles::kMustExist);

// The same for a configuration that is not in a file. `name` stands for it in errors; its relative
// paths count from `folder`.
JobConfig job_config_from_text(const std::string& text, const std::string& name,
                               const std::filesystem::path& folder,
                               std::span<const std::string> overrides = {},
                               DataFiles data_files = DataFiles::kMustExist);

// Returns the complete document of `config`: every value that applies to this job, including
// defaults. It satisfies the schema, and parse_resolved_config() returns the same JobConfig for it.
nlohmann::ordered_json to_json(const JobConfig& config);

// Returns the JobConfig of a document that to_json() has made. `where` names the text in errors:
// "runs/mlp/config.json". Does not check data files.
JobConfig parse_resolved_config(const std::string& text, const std::string& where);
// The same for the content of a file.
JobConfig read_resolved_config(const std::filesystem::path& path);

// The file that has the configuration: `config.json` if this is a run folder, or else this file.
std::filesystem::path config_file_of(const std::filesystem::path& run_or_config);
// The configuration in that file. Does not check data files.
JobConfig config_of(const std::filesystem::path& run_or_config);

// Whether a job seeks its machine type: provider.vms.mode is "auto".
bool seeks_machine_type(const ProviderConfig& provider);

// Whether a job searches for K and B by themselves. A search for the machine type finds those, too.
bool searches_size(const JobConfig& config);

}  // namespace scavenger
