#include "apps/command_line/python_export.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "apps/command_line/python_program.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/checkpoint/weights_export.h"
#include "runtime/config/config_file.h"

namespace scavenger {
namespace {

// A file for the weights, which the destructor removes.
class TemporaryFile final {
 public:
  TemporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "scavenger-XXXXXX").string();
    const int file = ::mkstemp(name.data());
    if (file < 0)
      throw SystemError(errno, {.what = "cannot make a temporary file",
                                .where = name,
                                .remedy = "set TMPDIR to a folder that you can write"});
    ::close(file);
    path_ = name;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

void export_from_python(const std::filesystem::path& program_folder, const JobConfig& config,
                        const Checkpoint& checkpoint, const std::string& form,
                        const std::filesystem::path& destination) {
  const TemporaryFile weights;
  export_safetensors(checkpoint, {}, weights.path());
  nlohmann::ordered_json question;
  question["config"] = to_json(config);
  question["weights"] = weights.path().string();
  question["to"] = form;
  question["file"] = std::filesystem::absolute(destination).string();
  question["data_shape"] = checkpoint.history.value("data_shape", nlohmann::json::object());
  const CommandResult result = ask_python(
      program_folder,
      {"export", json_text(question), config.model.path.string() + " has not made its model yet"});
  if (!result.succeeded())
    throw_python_failure(result, config.model.path, try_by_hand(config.model.path));
}

}  // namespace scavenger
