// From a JSON document to a checked JobConfig, and back.
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

// kMustExist: a data file that is missing or cannot be read is a ConfigError. kNotChecked is for
// looking at a configuration on a machine that does not have the data.
enum class DataFiles { kMustExist, kNotChecked };

// Reads the configuration at `path`. Each override, "a.b=c", as after --set, replaces the value at
// a.b (list elements by index: "a.0") by c, which is JSON where it parses as JSON, and text
// otherwise; null removes the key, so that its default holds. Data paths in the file count from the
// file's folder, those in overrides from the current one; all are absolute in the result.
JobConfig load_job_config(const std::filesystem::path& path,
                          std::span<const std::string> overrides = {},
                          DataFiles data_files = DataFiles::kMustExist);

// The complete document of `config`: every value that means something for this job, defaults
// included. It fits the schema, and parse_resolved_config() makes the same JobConfig of it.
nlohmann::ordered_json to_json(const JobConfig& config);

// The JobConfig of a document made by to_json(), received or read by a process of the job. `where`
// names the text in errors: "runs/mlp/config.json". Looks at no data file.
JobConfig parse_resolved_config(const std::string& text, const std::string& where);
// The same of a file.
JobConfig read_resolved_config(const std::filesystem::path& path);

}  // namespace scavenger
