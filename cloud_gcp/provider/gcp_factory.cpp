#include "cloud_gcp/provider/gcp_factory.h"

#include <exception>
#include <utility>

#include "cloud_gcp/provider/gcp_catalogue.h"
#include "cloud_gcp/provider/gcp_provider.h"
#include "runtime/base/clock.h"
#include "runtime/provider/launch_words.h"

namespace scavenger::gcp {
namespace {

class GcpFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    const GcpSettings settings = gcp_settings(config.provider);
    return gcp_catalogue(settings, price_catalog(settings));
  }

  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost& host) const override {
    static const SteadyClock clock;
    GcpSettings settings = gcp_settings(config.provider);
    settings.workers = config.cluster.workers;
    settings.started.words = worker_words(config);
    return std::make_unique<GcpProvider>(io, std::move(settings), config.name, host.state_folder,
                                         clock);
  }

  void check(const JobConfig& config) const override {
    const GcpSettings settings = gcp_settings(config.provider);
    const SteadyClock clock;
    asio::io_context io;
    HttpClient http(io);
    const auto tokens = find_credentials(settings.credentials, http, clock);
    std::exception_ptr failure;
    asio::co_spawn(
        io, check_account(settings.place.project, settings.credentials, *tokens, http),
        [&failure](std::exception_ptr error, const std::string&) { failure = std::move(error); });
    io.run();
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace

const ProviderFactory& gcp_provider_factory() {
  static const GcpFactory factory;
  return factory;
}

}  // namespace scavenger::gcp
