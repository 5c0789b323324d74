#include "runtime/config/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/text.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

// Calls `visit(path, place, format)` for each path that is set; `format` is the data format.
template <typename Config, typename Visit>
void for_each_path(Config& config, const Visit& visit) {
  const auto visit_one = [&](auto& path, const JsonPointer& place,
                             std::optional<DataFormat> format) {
    if (!path.empty()) visit(path, place, format);
  };
  const auto visit_source = [&](auto& source, const JsonPointer& place) {
    visit_one(source.features, place / "features", source.format);
    visit_one(source.labels, place / "labels", source.format);
    visit_one(source.source, place / "source", source.format);
    visit_one(source.target, place / "target", source.format);
    for (std::size_t i = 0; i < source.files.size(); ++i)
      visit_one(source.files[i], place / "files" / i, source.format);
  };
  visit_source(config.data.train, JsonPointer("/data/train"));
  visit_source(config.data.test, JsonPointer("/data/test"));
  const bool is_python = config.model.type == ModelType::kPython;
  visit_one(config.model.path, JsonPointer(is_python ? "/model/file" : "/model/path"),
            std::nullopt);
  if (config.data.tokenizer)
    visit_one(config.data.tokenizer->file, JsonPointer("/data/tokenizer/file"), std::nullopt);
  visit_one(config.model.start.weights, JsonPointer("/model/start/weights"), std::nullopt);
}

// Returns a file in the same folder with almost the same name: a typing error, or a missing or
// superfluous ".gz".
std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), no_folder))
    names.push_back(entry.path().filename().string());
  return nearest_word(path.filename().string(), names);
}

// Returns whether scripts/fetch_data.sh can fetch the file, which it puts into data/NAME/.
bool is_fetched(const fs::path& path) {
  constexpr std::string_view kNames[] = {"mnist",  "cifar10",  "cifar100",
                                         "digits", "multi30k", "tinyshakespeare"};
  const fs::path folder = path.parent_path();
  return folder.parent_path().filename() == "data" &&
         std::ranges::find(kNames, folder.filename().string()) != std::end(kNames);
}

std::string where_to_get(std::optional<DataFormat> format, const fs::path& path) {
  const std::string similar = similar_file(path);
  if (!similar.empty()) return fmt::format("did you mean {}?", similar);
  if (is_fetched(path))
    return fmt::format("run scripts/fetch_data.sh {}, which gets it",
                       path.parent_path().filename().string());
  if (path.parent_path().filename() == "fashion-mnist")
    return "install Debian's package: apt-get install dataset-fashion-mnist";
  if (format == DataFormat::kIdx)
    return "correct the path, or get the files (MNIST: "
           "https://ossci-datasets.s3.amazonaws.com/mnist)";
  if (format && is_cifar(*format))
    return "correct the path, or get the binary version from "
           "https://www.cs.toronto.edu/~kriz/cifar.html";
  return "correct the path";
}

std::optional<Violation> find_fault(const fs::path& path, const JsonPointer& place,
                                    std::optional<DataFormat> format) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return Violation{place, fmt::format("there is no file {}", path.string()),
                     where_to_get(format, path)};
  if (fs::is_directory(status) && !(format && is_python(*format)))
    return Violation{place, fmt::format("{} is a folder", path.string()), "name a file in it"};
  if (::access(path.c_str(), R_OK) != 0)
    return Violation{place, fmt::format("{} may not be read", path.string()),
                     fmt::format("allow it: chmod +r {}", path.string())};
  return std::nullopt;
}

}  // namespace

void make_paths_absolute(JobConfig& config, const ValuePlaces& places,
                         const fs::path& document_folder, const fs::path& current_folder) {
  for_each_path(config, [&](fs::path& path, const JsonPointer& place, auto) {
    const fs::path& folder = places.is_override(place) ? current_folder : document_folder;
    path = (folder / path).lexically_normal();
  });
}

std::vector<Violation> find_relative_paths(const JobConfig& config) {
  std::vector<Violation> violations;
  for_each_path(config, [&](const fs::path& path, const JsonPointer& place, auto) {
    if (!path.is_absolute())
      violations.push_back({place, fmt::format("{} is not an absolute path", path.string()),
                            "start from the configuration file, which may have relative paths"});
  });
  return violations;
}

std::vector<Violation> find_missing_files(const JobConfig& config) {
  std::vector<Violation> violations;
  for_each_path(config, [&](const fs::path& path, const JsonPointer& place,
                            std::optional<DataFormat> format) {
    if (auto fault = find_fault(path, place, format)) violations.push_back(std::move(*fault));
  });
  return violations;
}

}  // namespace scavenger
