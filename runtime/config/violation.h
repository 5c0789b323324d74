// One fault in a document, before it is known where the document came from.
#pragma once

#include <string>

#include "runtime/config/json.h"

namespace scavenger {

struct Violation {
  JsonPointer place;   // of the value at fault, which need not be in the document
  std::string what;    // "0 is out of range"
  std::string remedy;  // "use an integer from 1 to 1024"
};

}  // namespace scavenger
