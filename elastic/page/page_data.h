// What the page is drawn from: a run in sections of JSON, small whatever the run's length. The
// script of the page (assets/) reads these; docs/page.md names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elastic/page/run_history.h"

namespace scavenger::elastic {

struct PageSection {
  std::string_view name;
  std::string json;

  bool operator==(const PageSection&) const = default;
};

// Numbers have six significant digits. `folder` is what people call the run by.
std::vector<PageSection> page_sections(const RunHistory& history, const std::string& folder);

// {"name": section, ...}
std::string to_json_object(const std::vector<PageSection>& sections);

}  // namespace scavenger::elastic
