#include "apps/price_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>

#include "cloud_gcp/embedded_text.h"
#include "cloud_gcp/price_refresh.h"
#include "cloud_gcp/prices.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"

namespace scavenger {
namespace {

constexpr std::size_t kDateCharacters = 10;  // of a time of RFC 3339

std::string text_of(const std::filesystem::path& catalog) {
  return catalog.empty() ? gcp_price_text() : read_file(catalog);
}

}  // namespace

PriceCommand::PriceCommand(CLI::App& app) {
  command_ =
      app.add_subcommand("prices", "What machines of Google Compute Engine cost by the hour");
  command_->add_option("--catalog", catalog_, "Another one than that of this build")
      ->check(CLI::ExistingFile);
  command_->add_option("--region", region_, "Such as us-central1");
  command_->add_option("--machine", machine_types_, "Only these types; custom ones, too");
  command_->add_option("--refresh", refreshed_, "Write a catalog with today's prices to this file");
  command_->add_option("--key-file", key_file_, "A service account's key, for --refresh");
  command_->add_option("--endpoint", endpoint_, "Of the Cloud Billing API, for --refresh");
}

bool PriceCommand::is_called() const {
  return command_->parsed();
}

int PriceCommand::run() const {
  return refreshed_.empty() ? show() : refresh();
}

int PriceCommand::show() const {
  const auto catalog = gcp::PriceCatalog::parse(
      text_of(catalog_), catalog_.empty() ? "built-in prices" : catalog_.string());
  std::cout << fmt::format("dollars an hour in {}, as of {}\n{:<24} {:>7} {:>9} {:>10} {:>10}\n",
                           region_, catalog.as_of(), "machine", "vCPUs", "GiB", "on demand",
                           "spot");
  const bool shows_all = machine_types_.empty();
  for (const std::string& type : shows_all ? catalog.machine_types() : machine_types_) {
    try {
      const gcp::MachineShape shape = catalog.shape(type);
      std::cout << fmt::format("{:<24} {:>7} {:>9} {:>10.5f} {:>10.5f}\n", type, shape.vcpus,
                               shape.memory_gib,
                               catalog.per_hour(type, region_, gcp::Provisioning::kOnDemand),
                               catalog.per_hour(type, region_, gcp::Provisioning::kSpot));
    } catch (const ConfigError&) {
      if (!shows_all) throw;  // not sold in this region
    }
  }
  return 0;
}

int PriceCommand::refresh() const {
  asio::io_context io;
  HttpClient http(io);
  const SteadyClock clock;
  const auto tokens =
      gcp::find_credentials({.key_file = key_file_, .self_signed = false}, http, clock);
  std::exception_ptr failure;
  std::vector<nlohmann::json> skus;
  asio::co_spawn(io, gcp::read_skus(http, *tokens, endpoint_),
                 [&](std::exception_ptr error, std::vector<nlohmann::json> found) {
                   failure = error;
                   skus = std::move(found);
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  const gcp::RefreshedPrices made =
      gcp::refresh_prices(text_of(catalog_), skus, utc_timestamp().substr(0, kDateCharacters));
  write_file_atomically(refreshed_, made.catalog);
  std::cout << fmt::format("{}: {} prices are today's, {} were not found and are as before\n",
                           refreshed_.string(), made.updated, made.kept);
  return 0;
}

}  // namespace scavenger
