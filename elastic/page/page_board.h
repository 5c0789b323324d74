// The latest state of each section of the page, for any number of viewers. Each gets what has
// changed since its last look, however long ago that was.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "elastic/page/page_data.h"

namespace scavenger::elastic {

class PageBoard final {
 public:
  void post(std::vector<PageSection> sections);

  // Grows with each change.
  std::uint64_t version() const { return version_; }
  // {"name": section, ...} of what was changed after that version; 0: all there is.
  std::string changes_since(std::uint64_t version) const;

 private:
  struct Entry {
    std::string json;
    std::uint64_t version = 0;
  };
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t version_ = 0;
};

}  // namespace scavenger::elastic
