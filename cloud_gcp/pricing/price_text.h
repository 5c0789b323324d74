// The price list of this folder (prices/*.json), which is part of the library.
#pragma once

namespace scavenger {

const char* gcp_price_text();

}  // namespace scavenger
