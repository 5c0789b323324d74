// A newer price catalog, from the Cloud Billing Catalog API.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cloud_gcp/api/credentials.h"

namespace scavenger::gcp {

struct RefreshedPrices {
  std::string catalog;  // for PriceCatalog::parse()
  int updated = 0;      // pairs of series and region, and GPUs, whose prices were found
  int kept = 0;         // those that have the price of `base` still
};

// `base`: a catalog's text, of which machine types and prices that are not found are kept. `skus`:
// of all pages of services/6F81-5844-456A/skus. Pure. Throws InputError if `base` is no catalog,
// ProtocolError if there are no prices in `skus`.
RefreshedPrices refresh_prices(const std::string& base, const std::vector<nlohmann::json>& skus,
                               const std::string& as_of);

// All SKUs of Compute Engine. `endpoint`: "https://cloudbilling.googleapis.com". Throws CloudError.
awaitable<std::vector<nlohmann::json>> read_skus(HttpClient& http, TokenSource& tokens,
                                                 std::string endpoint);

// refresh_prices() with today's SKUs, read with the credentials of this file (empty: those that are
// at hand). Blocks. Throws as both, and InputError if there are no credentials.
RefreshedPrices todays_prices(const std::string& base, const std::filesystem::path& key_file,
                              const std::string& endpoint);

}  // namespace scavenger::gcp
