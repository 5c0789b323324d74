#include "runtime/config/config_file.h"

#include <algorithm>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/config/job_config_json.h"
#include "runtime/config/overrides.h"
#include "runtime/config/schema_text.h"
#include "runtime/config/schema_validator.h"

namespace scavenger {
namespace {

const Json& schema() {
  static const Json kSchema = Json::parse(schema_text());
  return kSchema;
}

// Throws the one that a reader of the document meets first.
void throw_first(const std::vector<Violation>& violations, const ValuePlaces& places) {
  const auto first = std::min_element(violations.begin(), violations.end(),
                                      [&](const Violation& a, const Violation& b) {
                                        return places.order(a.place) < places.order(b.place);
                                      });
  if (first != violations.end()) throw places.error(*first);
}

JobConfig check_and_convert(LocatedJson& config) {
  throw_first(apply_schema(schema(), config.document), config.places);
  return job_config_from(config.document);
}

}  // namespace

JobConfig load_job_config(const std::filesystem::path& path, std::span<const std::string> overrides,
                          DataFiles) {
  LocatedJson located = parse_located_json(read_file(path), path.string());
  apply_overrides(overrides, located);
  return check_and_convert(located);
}

JobConfig parse_resolved_config(const std::string& text, const std::string& where) {
  LocatedJson located = parse_located_json(text, where);
  return check_and_convert(located);
}

}  // namespace scavenger
