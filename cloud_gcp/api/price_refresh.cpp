#include "cloud_gcp/api/price_refresh.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/api/json_text.h"
#include "cloud_gcp/pricing/prices.h"
#include "runtime/base/clock.h"
#include "runtime/base/json_text.h"
#include "runtime/http/url.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr const char* kComputeEngine = "6F81-5844-456A";
constexpr std::string_view kSpotPrefix = "Spot Preemptible ";

enum class Part { kCore, kMemory, kGpu };

// What SKUs are called: the beginning of their description, without the word for spot.
struct Wording {
  std::string_view name;  // of a series, or a GPU
  std::string_view words;
};
constexpr Wording kSeries[] = {{"e2", "E2 Instance "},       {"n1", "N1 Predefined Instance "},
                               {"n2", "N2 Instance "},       {"n2d", "N2D AMD Instance "},
                               {"n4", "N4 Instance "},       {"c2", "Compute optimized "},
                               {"c2d", "C2D AMD Instance "}, {"c3", "C3 Instance "},
                               {"c4", "C4 Instance "},       {"t2d", "T2D AMD Instance "},
                               {"t2a", "T2A Arm Instance "}};
constexpr Wording kGpus[] = {{"nvidia-tesla-t4", "Nvidia Tesla T4 GPU "},
                             {"nvidia-tesla-v100", "Nvidia Tesla V100 GPU "},
                             {"nvidia-tesla-p4", "Nvidia Tesla P4 GPU "}};

struct Sku {
  std::string name;
  Part part = Part::kCore;
};

std::optional<Sku> sku_of(std::string_view description) {
  if (description.starts_with(kSpotPrefix)) description.remove_prefix(kSpotPrefix.size());
  for (const Wording& series : kSeries) {
    if (!description.starts_with(series.words)) continue;
    const std::string_view rest = description.substr(series.words.size());
    if (rest.starts_with("Core running in ")) return Sku{std::string(series.name), Part::kCore};
    if (rest.starts_with("Ram running in ")) return Sku{std::string(series.name), Part::kMemory};
  }
  for (const Wording& gpu : kGpus) {
    if (!description.starts_with(gpu.words)) continue;
    const std::string_view rest = description.substr(gpu.words.size());
    if (rest.starts_with("running in ") ||
        rest.starts_with("attached to Spot Preemptible VMs running in "))
      return Sku{std::string(gpu.name), Part::kGpu};
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& what) {
  throw ProtocolError({.what = what, .where = "Cloud Billing", .remedy = {}});
}

// Whole dollars are a 64-bit integer, so a string.
double price_of(const json& sku) {
  const json& unit =
      sku.at("pricingInfo").at(0).at("pricingExpression").at("tieredRates").at(0).at("unitPrice");
  const auto units = unit.at("units").get<std::string>();
  std::int64_t dollars = 0;
  const char* const end = units.data() + units.size();
  const auto parsed = std::from_chars(units.data(), end, dollars);
  const double price = static_cast<double>(dollars) + unit.at("nanos").get<double>() / 1e9;
  if (parsed.ec != std::errc() || parsed.ptr != end || !is_amount(price))
    refuse(fmt::format("\"{}\" dollars and {} are no price", units, json_text(unit.at("nanos"))));
  return price;
}

using Key = std::tuple<std::string, std::string, Part, bool>;  // region, name, part, spot

std::map<Key, double> prices_in(const std::vector<json>& skus) {
  std::map<Key, double> found;
  for (const json& sku : skus) {
    const auto named = sku_of(sku.value("description", ""));
    const std::string usage = sku.value("category", json::object()).value("usageType", "");
    if (!named || (usage != "OnDemand" && usage != "Preemptible")) continue;
    for (const json& region : sku.value("serviceRegions", json::array()))
      found[{region.get<std::string>(), named->name, named->part, usage == "Preemptible"}] =
          price_of(sku);
  }
  return found;
}

// The prices of some parts on demand and spot, where all are there.
std::optional<json> pair_of(const std::map<Key, double>& found, const std::string& region,
                            const std::string& name) {
  const auto at = [&](Part part, bool spot) -> std::optional<double> {
    const auto price = found.find({region, name, part, spot});
    return price == found.end() ? std::nullopt : std::optional(price->second);
  };
  if (const auto on_demand = at(Part::kGpu, false), spot = at(Part::kGpu, true); on_demand && spot)
    return json::array({*on_demand, *spot});
  json pair = json::array();
  for (const bool spot : {false, true}) {
    const auto core = at(Part::kCore, spot);
    const auto memory = at(Part::kMemory, spot);
    if (!core || !memory) return std::nullopt;
    pair.push_back({*core, *memory, 0.0});
  }
  return pair;
}

}  // namespace

RefreshedPrices refresh_prices(const std::string& base, const std::vector<json>& skus,
                               const std::string& as_of) {
  PriceCatalog::parse(base, "base catalog");
  json catalog = parse_json(base);
  RefreshedPrices result;
  try {
    const std::map<Key, double> found = prices_in(skus);
    for (auto& [name, region] : catalog["regions"].items())
      for (const char* kind : {"series", "gpus"})
        for (auto& [item, prices] : region[kind].items()) {
          const auto fresh = pair_of(found, name, item);
          if (fresh) prices = *fresh;
          ++(fresh ? result.updated : result.kept);
        }
  } catch (const json::exception& error) {
    refuse(fmt::format("prices that cannot be read: {}", error.what()));
  }
  if (result.updated == 0) refuse("no price of a known series");
  catalog["as_of"] = as_of;
  catalog["source"] =
      fmt::format("Cloud Billing Catalog API ({} of {} prices; the others as before)",
                  result.updated, result.updated + result.kept);
  result.catalog = json_text(catalog, {.indent = 1});
  return result;
}

awaitable<std::vector<json>> read_skus(HttpClient& http, TokenSource& tokens,
                                       std::string endpoint) {
  std::vector<json> skus;
  std::string page_token;
  do {
    HttpRequest request;
    request.url = fmt::format("{}/v1/services/{}/skus?pageSize=5000&pageToken={}", endpoint,
                              kComputeEngine, percent_encoded(page_token));
    std::string bearer = "Bearer ";
    bearer += co_await tokens.token();
    request.headers.emplace_back("Authorization", std::move(bearer));
    const HttpReply reply = co_await http.send(std::move(request));
    if (reply.status != 200)
      throw CloudError(fault_of_reply(reply.status, reply.body), "prices", "");
    const std::optional<json> page = parse_object(reply.body);
    if (!page) throw CloudError(transport_fault("an answer that is no JSON object"), "prices", "");
    for (const json& sku : page->value("skus", json::array())) skus.push_back(sku);
    page_token = text_in(*page, "nextPageToken");
  } while (!page_token.empty());
  co_return skus;
}

RefreshedPrices todays_prices(const std::string& base, const std::filesystem::path& key_file,
                              const std::string& endpoint) {
  constexpr std::size_t kDateCharacters = 10;  // of a time of RFC 3339
  asio::io_context io;
  HttpClient http(io);
  const SteadyClock clock;
  const auto tokens = find_credentials({.key_file = key_file, .self_signed = false}, http, clock);
  std::exception_ptr failure;
  std::vector<json> skus;
  asio::co_spawn(io, read_skus(http, *tokens, endpoint),
                 [&](std::exception_ptr error, std::vector<json> found) {
                   failure = std::move(error);
                   skus = std::move(found);
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return refresh_prices(base, skus, utc_timestamp().substr(0, kDateCharacters));
}

}  // namespace scavenger::gcp
