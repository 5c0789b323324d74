// Who we are to the cloud: access tokens, renewed before they end, and never shown.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/http/http_client.h"

namespace scavenger::gcp {

// Thread: the io_context's.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Throws InputError if the credentials are no good, HttpError if the server of tokens does not
  // answer.
  virtual awaitable<std::string> token() = 0;
  // Throws InputError if it can be told within seconds that there will never be a token.
  virtual awaitable<void> probe() { co_return; }
  // The last one was refused: do not give it again.
  virtual void forget() = 0;
  virtual std::string description() const = 0;  // "service account a@b", without secrets
};

struct CredentialSettings {
  std::filesystem::path key_file;  // empty: GOOGLE_APPLICATION_CREDENTIALS
  bool self_signed = false;        // the key signs tokens itself: one request less
};

// In this order: the key file of the settings, SCAVENGER_GCP_TOKEN (a token from the environment,
// for development: gcloud auth print-access-token), the key file that
// GOOGLE_APPLICATION_CREDENTIALS names, the metadata server of the VM that we run on. Throws
// InputError for a key file that is none, or that other users may read. `http` and `clock` must
// outlive it.
std::unique_ptr<TokenSource> find_credentials(const CredentialSettings& settings, HttpClient& http,
                                              const Clock& clock);

// The project that they belong to; empty if only the configuration can tell.
awaitable<std::string> project_of_credentials(CredentialSettings settings, HttpClient& http);

// What a job needs before anything else can be looked at: credentials, and a project. Throws
// InputError within seconds if one of them is missing. Returns the project.
awaitable<std::string> check_account(std::string configured_project, CredentialSettings settings,
                                     TokenSource& tokens, HttpClient& http);

// "http://metadata.google.internal/computeMetadata/v1/", or where GCE_METADATA_HOST says.
std::string metadata_url();

}  // namespace scavenger::gcp
