#include "test/unit/perfmodel/survival/lifetime_table.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace scavenger::perfmodel {

std::vector<Lifetime> published_lifetimes(const std::string& zone, const std::string& type) {
  const char* const folder = std::getenv("SCAVENGER_SHARED_DATA");
  const auto path =
      std::filesystem::path(folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT) / "gcp" /
      "preemptible_lifetimes_2019.csv";
  std::ifstream file(path);
  if (!file) {
    WARN("skipped: there is no " << path << "; set SCAVENGER_SHARED_DATA");
    return {};
  }
  std::vector<Lifetime> lifetimes;
  std::string line;
  std::getline(file,
               line);  // zone,machine_type,requested_at,create_seconds,lifetime_seconds,ended_by
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    if (fields.at(5).ends_with('\r')) fields[5].pop_back();
    if (!zone.empty() && fields.at(0) != zone) continue;
    if (!type.empty() && fields.at(1) != type) continue;
    lifetimes.push_back({std::stod(fields.at(4)), fields.at(5) == "preempted"});
  }
  return lifetimes;
}

}  // namespace scavenger::perfmodel
