#include "apps/command_line/price_command.h"

#include <iostream>

#include "cloud_gcp/api/price_refresh.h"
#include "cloud_gcp/pricing/price_table.h"
#include "cloud_gcp/pricing/price_text.h"
#include "runtime/base/file.h"
#include "runtime/schema/input_file.h"

namespace scavenger {

PriceCommand::PriceCommand(CLI::App& app)
    : command_(
          app.add_subcommand("prices", "What machines of Google Compute Engine cost by the hour")) {
  command_->add_option("--catalog", catalog_, "Another one than that of this build")
      ->check(CLI::ExistingFile);
  CLI::Option* const region = command_->add_option("--region", region_, "Such as us-central1");
  CLI::Option* const machine =
      command_->add_option("--machine", machine_types_, "Only these types; custom ones, too");
  CLI::Option* const refresh = command_->add_option(
      "--refresh", refreshed_, "Write a catalog with today's prices to this file");
  refresh->excludes(region)->excludes(machine);  // it has all of them
  command_->add_option("--key-file", key_file_, "A service account's key, for --refresh")
      ->needs(refresh);
  command_->add_option("--endpoint", endpoint_, "Of the Cloud Billing API, for --refresh")
      ->needs(refresh);
}

int PriceCommand::run() const {
  const std::string text =
      catalog_.empty() ? gcp_price_text() : read_input_file(catalog_, "name a catalog of prices");
  if (refreshed_.empty()) {
    const std::string name = catalog_.empty() ? "built-in prices" : catalog_.string();
    std::cout << gcp::price_table(gcp::PriceCatalog::parse(text, name), region_, machine_types_);
    return 0;
  }
  const gcp::RefreshedPrices made = gcp::todays_prices(text, key_file_, endpoint_);
  write_output_file(refreshed_, made.catalog);
  std::cout << refreshed_.string() << ": " << made.updated << " prices are today's, " << made.kept
            << " were not found and are as before\n";
  return 0;
}

}  // namespace scavenger
