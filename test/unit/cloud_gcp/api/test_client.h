// A client of a fake Compute Engine, quick to repeat, and what it asks for.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "cloud_gcp/api/compute_client.h"
#include "cloud_gcp/api/identity.h"

namespace scavenger::gcp {

// The token "dev", or that of a key file.
class Client final {
 public:
  Client(asio::io_context& io, const std::string& endpoint, CredentialSettings credentials = {},
         const std::string& project = "demo")
      : http_(io), random_(1, "test") {
    ::unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    if (credentials.key_file.empty())
      ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
    else
      ::unsetenv("SCAVENGER_GCP_TOKEN");
    tokens_ = find_credentials(credentials, http_, clock_);
    Patience patience;
    patience.backoff = {.initial_seconds = 0.005, .factor = 2.0, .longest_seconds = 0.05};
    patience.operation_seconds = 20.0;
    patience.read_seconds = 20.0;
    compute = std::make_unique<ComputeClient>(ComputePlace{endpoint, project}, patience, http_,
                                              *tokens_, clock_);
  }

  std::string new_id() { return request_id(random_); }

  std::unique_ptr<ComputeClient> compute;

 private:
  SteadyClock clock_;
  HttpClient http_;
  std::unique_ptr<TokenSource> tokens_;
  RandomStream random_;
};

inline VmOrder order(const std::string& name) {
  VmOrder made;
  made.name = name;
  made.zone = "us-central1-a";
  made.machine_type = "e2-standard-2";
  made.labels = {{kJobLabel, "job-1"}};
  return made;
}

}  // namespace scavenger::gcp
