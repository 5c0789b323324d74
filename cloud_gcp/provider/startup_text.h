// The start-up script of a VM (startup.sh), which is part of the library.
#pragma once

namespace scavenger {

const char* gcp_startup_text();

}  // namespace scavenger
