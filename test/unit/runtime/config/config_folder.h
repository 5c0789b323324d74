// Configurations for tests: a valid one, spoiled at one place, in a folder of its own.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/config/config_file.h"
#include "test/support/temporary_folder.h"

namespace scavenger {

// Each of the tests' line numbers is one of these.
inline const std::string kValidConfig = R"({
  "name": "job",
  "data": {
    "train": { "format": "synthetic", "samples": 1000, "feature_count": 12 },
    "test": { "format": "synthetic", "samples": 100, "feature_count": 12, "first_sample": 1000 },
    "classes": 4
  },
  "model": { "type": "mlp", "hidden": [16] },
  "optimizer": { "type": "sgd", "learning_rate": 0.1 },
  "batch_size": 32,
  "cluster": { "workers": 2 },
  "stop": { "max_epochs": 3 }
}
)";

// `text` with its only `from` replaced by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t position = text.find(from);
  REQUIRE(position != std::string::npos);
  return text.replace(position, from.size(), to);
}

// What `action`, which must throw a ConfigError, complains about.
inline Problem config_problem(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.problem();
  }
  FAIL("no ConfigError was thrown");
  return {};
}

class ConfigFolder final {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path file() const { return folder_.path() / "job.json"; }

  JobConfig load(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    write_file_atomically(file(), text);
    return load_job_config(file(), overrides);
  }

  Problem problem(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    return config_problem([&] { load(text, overrides); });
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace scavenger
