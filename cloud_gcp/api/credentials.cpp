#include "cloud_gcp/api/credentials.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/api/compute_json.h"
#include "cloud_gcp/api/json_text.h"
#include "cloud_gcp/api/service_account.h"
#include "runtime/base/file.h"
#include "runtime/http/url.h"

namespace scavenger::gcp {
namespace {

constexpr double kEarlySeconds = 300.0;  // before its end a token is renewed,
constexpr double kEarlyShare = 0.2;      // or this share of its life, where that is shorter
constexpr double kMetadataDeadlineSeconds = 5.0;
constexpr int kProbes = 2;  // of the metadata server, before there is said to be none

double unix_seconds() {
  return parse_rfc3339(utc_timestamp());
}

struct Token {
  std::string value;
  double life_seconds = 0.0;
};

Token token_from(const HttpReply& reply, const std::string& where) {
  if (reply.status != 200) {
    const CloudFault fault = fault_of_reply(reply.status, reply.body);
    if (fault.kind == FaultKind::kUncertain || fault.kind == FaultKind::kRate)
      throw HttpError(HttpError::Stage::kNotSent, fault.message, problem_of(fault, where, ""));
    throw InputError({.what = fmt::format("no token: {} ({})", fault.message, fault.code),
                      .where = where,
                      .remedy = "make a new key, and check this machine's clock"});
  }
  const std::optional<json> document = parse_object(reply.body);
  const std::string value = document ? text_in(*document, "access_token") : "";
  if (value.empty())
    throw ProtocolError({.what = "an answer without a token", .where = where, .remedy = {}});
  const auto life = document->find("expires_in");
  return {value, life != document->end() && life->is_number() ? life->get<double>() : 0.0};
}

// Renews before the end; a token that still holds is used on while there is none to be had.
class RenewedTokens : public TokenSource {
 public:
  explicit RenewedTokens(const Clock& clock) : clock_(clock) {}

  awaitable<std::string> token() override {
    const double now = clock_.now_seconds();
    if (now < renew_seconds_) co_return token_.value;
    try {
      Token fresh = co_await fetch();
      token_ = std::move(fresh);
      const double early = std::min(kEarlySeconds, kEarlyShare * token_.life_seconds);
      end_seconds_ = now + token_.life_seconds;
      renew_seconds_ = end_seconds_ - early;
    } catch (const HttpError&) {
      if (now >= end_seconds_) throw;
    }
    co_return token_.value;
  }

  void forget() override { renew_seconds_ = end_seconds_ = -1e300; }

 protected:
  virtual awaitable<Token> fetch() = 0;

 private:
  const Clock& clock_;
  Token token_;
  double renew_seconds_ = -1e300;
  double end_seconds_ = -1e300;
};

class ExchangedTokens final : public RenewedTokens {
 public:
  ExchangedTokens(ServiceAccountKey key, HttpClient& http, const Clock& clock)
      : RenewedTokens(clock), key_(std::move(key)), http_(http) {}

  std::string description() const override { return "service account " + key_.client_email; }

 protected:
  awaitable<Token> fetch() override {
    HttpRequest request;
    request.method = "POST";
    request.url = key_.token_uri;
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body = "grant_type=" + percent_encoded("urn:ietf:params:oauth:grant-type:jwt-bearer") +
                   "&assertion=" + percent_encoded(token_assertion(key_, unix_seconds()));
    const HttpReply reply = co_await http_.send(std::move(request));
    co_return token_from(reply, key_.token_uri);
  }

 private:
  ServiceAccountKey key_;
  HttpClient& http_;
};

class SelfSignedTokens final : public RenewedTokens {
 public:
  SelfSignedTokens(ServiceAccountKey key, const Clock& clock)
      : RenewedTokens(clock), key_(std::move(key)) {}

  std::string description() const override {
    return fmt::format("service account {} (self-signed)", key_.client_email);
  }

 protected:
  awaitable<Token> fetch() override {
    Token made;
    made.value = self_signed_token(key_, unix_seconds());
    made.life_seconds = kStatementSeconds;
    co_return made;
  }

 private:
  ServiceAccountKey key_;
};

class MetadataTokens final : public RenewedTokens {
 public:
  MetadataTokens(HttpClient& http, const Clock& clock) : RenewedTokens(clock), http_(http) {}

  std::string description() const override { return "this VM's service account"; }

  // Who has no key asks here, and where nobody answers this is no VM of Compute Engine.
  awaitable<void> probe() override {
    std::string failure;
    for (int tries = 0; tries < kProbes; ++tries) {
      try {
        co_await token();
        co_return;
      } catch (const HttpError& error) {
        failure = error.what();
      }
    }
    throw InputError(
        {.what = fmt::format("no credentials are given, and this is no VM of Compute Engine that "
                             "would have some: its metadata server does not answer ({})",
                             failure),
         .where = "provider.key_file",
         .remedy = "name a service account's key file there or in GOOGLE_APPLICATION_CREDENTIALS, "
                   "or put a token into SCAVENGER_GCP_TOKEN (gcloud auth print-access-token)"});
  }

 protected:
  awaitable<Token> fetch() override {
    HttpRequest request;
    request.url = metadata_url() + "instance/service-accounts/default/token";
    request.headers = {{"Metadata-Flavor", "Google"}};
    request.deadline_seconds = kMetadataDeadlineSeconds;
    const std::string where = request.url;
    const HttpReply reply = co_await http_.send(std::move(request));
    co_return token_from(reply, where);
  }

 private:
  HttpClient& http_;
};

class GivenToken final : public TokenSource {
 public:
  explicit GivenToken(std::string token) : token_(std::move(token)) {}
  awaitable<std::string> token() override { co_return token_; }
  void forget() override {}
  std::string description() const override { return "the token of SCAVENGER_GCP_TOKEN"; }

 private:
  std::string token_;
};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<ServiceAccountKey> read_key(const std::filesystem::path& file) {
  if (file.empty()) return std::nullopt;
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0)
    throw InputError(
        {.what = "there is no such key file", .where = file, .remedy = "check provider.key_file"});
  if ((status.st_mode & 0077) != 0)
    throw InputError({.what = "others may read this key",
                      .where = file,
                      .remedy = "chmod 600, and make a new one if somebody did"});
  return parse_service_account_key(read_file(file), file);
}

}  // namespace

std::string metadata_url() {
  const std::string host = environment("GCE_METADATA_HOST");
  return fmt::format("http://{}/computeMetadata/v1/",
                     host.empty() ? "metadata.google.internal" : host);
}

std::unique_ptr<TokenSource> find_credentials(const CredentialSettings& settings, HttpClient& http,
                                              const Clock& clock) {
  std::optional<ServiceAccountKey> key = read_key(settings.key_file);
  if (!key) {
    std::string given = environment("SCAVENGER_GCP_TOKEN");
    if (!given.empty()) return std::make_unique<GivenToken>(std::move(given));
    key = read_key(environment("GOOGLE_APPLICATION_CREDENTIALS"));
  }
  if (!key) return std::make_unique<MetadataTokens>(http, clock);
  if (settings.self_signed) return std::make_unique<SelfSignedTokens>(std::move(*key), clock);
  return std::make_unique<ExchangedTokens>(std::move(*key), http, clock);
}

awaitable<std::string> project_of_credentials(CredentialSettings settings, HttpClient& http) {
  std::optional<ServiceAccountKey> key = read_key(settings.key_file);
  if (!key && environment("SCAVENGER_GCP_TOKEN").empty())
    key = read_key(environment("GOOGLE_APPLICATION_CREDENTIALS"));
  if (key) co_return key->project_id;
  HttpRequest request;
  request.url = metadata_url() + "project/project-id";
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.deadline_seconds = kMetadataDeadlineSeconds;
  try {
    const HttpReply reply = co_await http.send(std::move(request));
    if (reply.status == 200) co_return reply.body;
  } catch (const HttpError&) {  // not on a VM
  }
  co_return std::string();
}

awaitable<std::string> check_account(std::string configured_project, CredentialSettings settings,
                                     TokenSource& tokens, HttpClient& http) {
  co_await tokens.probe();
  std::string project = std::move(configured_project);
  if (project.empty()) project = co_await project_of_credentials(std::move(settings), http);
  if (project.empty())
    throw InputError({.what = "the project is not known: neither the configuration nor the "
                              "credentials name one",
                      .where = "provider.project",
                      .remedy = "write the project's id there"});
  co_return project;
}

}  // namespace scavenger::gcp
