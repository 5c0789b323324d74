// One fault in a document, independent of where the document came from.
#pragma once

#include <string>

#include "runtime/schema/json.h"

namespace scavenger {

struct Violation {
  JsonPointer place;   // place of the faulty value, which may be missing from the document
  std::string what;    // "0 is out of range"
  std::string remedy;  // "use an integer from 1 to 1024"
};

}  // namespace scavenger
