#include "elastic/page/page_board.h"

#include <utility>

namespace scavenger::elastic {

void PageBoard::post(std::vector<PageSection> sections) {
  const std::uint64_t next = version_ + 1;
  for (PageSection& section : sections) {
    Entry& entry = entries_[std::string(section.name)];
    if (entry.version > 0 && entry.json == section.json) continue;
    entry = {.json = std::move(section.json), .version = next};
    version_ = next;
  }
}

std::string PageBoard::changes_since(std::uint64_t version) const {
  std::vector<PageSection> changed;
  for (const auto& [name, entry] : entries_)
    if (entry.version > version) changed.push_back({.name = name, .json = entry.json});
  return to_json_object(changed);
}

}  // namespace scavenger::elastic
