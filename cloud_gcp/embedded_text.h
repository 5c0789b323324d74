// Files of this folder that are part of the library.
#pragma once

namespace scavenger {

const char* gcp_price_text();    // prices/*.json
const char* gcp_startup_text();  // startup.sh

}  // namespace scavenger
