#include "runtime/config/data_paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "runtime/base/text.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

// Calls `visit(source, path, place)` for each path of `data` that is set.
template <typename Data, typename Visit>
void for_each_data_path(Data& data, const Visit& visit) {
  const auto visit_source = [&](auto& source, const JsonPointer& place) {
    if (!source.features.empty()) visit(source, source.features, place / "features");
    if (!source.labels.empty()) visit(source, source.labels, place / "labels");
    if (!source.source.empty()) visit(source, source.source, place / "source");
    if (!source.target.empty()) visit(source, source.target, place / "target");
    for (std::size_t i = 0; i < source.files.size(); ++i)
      visit(source, source.files[i], place / "files" / i);
  };
  visit_source(data.train, JsonPointer("/data/train"));
  visit_source(data.test, JsonPointer("/data/test"));
}

// A file in the same folder whose name is nearly the same: a slip, or ".gz" too many or too few.
std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), no_folder))
    names.push_back(entry.path().filename().string());
  return nearest_word(path.filename().string(), names);
}

std::string where_to_get(DataFormat format, const fs::path& path) {
  const std::string similar = similar_file(path);
  if (!similar.empty()) return fmt::format("did you mean {}?", similar);
  if (path.parent_path().filename() == "fashion-mnist")
    return "install Debian's package: apt-get install dataset-fashion-mnist";
  if (format == DataFormat::kIdx)
    return "correct the path, or get the files (MNIST: "
           "https://ossci-datasets.s3.amazonaws.com/mnist)";
  if (is_cifar(format))
    return "correct the path, or get the binary version from "
           "https://www.cs.toronto.edu/~kriz/cifar.html";
  return "correct the path";
}

std::optional<Violation> find_fault(const DataSourceConfig& source, const fs::path& path,
                                    const JsonPointer& place) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return Violation{place, fmt::format("there is no file {}", path.string()),
                     where_to_get(source.format, path)};
  if (fs::is_directory(status))
    return Violation{place, fmt::format("{} is a folder", path.string()), "name a file in it"};
  if (::access(path.c_str(), R_OK) != 0)
    return Violation{place, fmt::format("{} may not be read", path.string()),
                     fmt::format("allow it: chmod +r {}", path.string())};
  return std::nullopt;
}

}  // namespace

void make_data_paths_absolute(DataConfig& data, const ValuePlaces& places,
                              const fs::path& document_folder, const fs::path& current_folder) {
  for_each_data_path(data, [&](const DataSourceConfig&, fs::path& path, const JsonPointer& place) {
    const fs::path& folder = places.is_override(place) ? current_folder : document_folder;
    path = (folder / path).lexically_normal();
  });
}

std::vector<Violation> find_relative_data_paths(const DataConfig& data) {
  std::vector<Violation> violations;
  for_each_data_path(data, [&](const DataSourceConfig&, const fs::path& path,
                               const JsonPointer& place) {
    if (!path.is_absolute())
      violations.push_back({place, fmt::format("{} is not an absolute path", path.string()),
                            "start from the configuration file, which may have relative paths"});
  });
  return violations;
}

std::vector<Violation> find_missing_data_files(const DataConfig& data) {
  std::vector<Violation> violations;
  for_each_data_path(
      data, [&](const DataSourceConfig& source, const fs::path& path, const JsonPointer& place) {
        if (auto fault = find_fault(source, path, place)) violations.push_back(std::move(*fault));
      });
  return violations;
}

}  // namespace scavenger
