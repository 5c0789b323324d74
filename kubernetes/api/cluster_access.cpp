#include "kubernetes/api/cluster_access.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

#include "kubernetes/api/json_access.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/http/url.h"
#include "runtime/process/command.h"

namespace scavenger::kubernetes {
namespace {

constexpr double kTokenSeconds = 60.0;   // after which a token's file is read again
constexpr double kPluginSeconds = 60.0;  // that a plug-in may take
constexpr double kEarlySeconds = 60.0;   // before its end a credential is renewed

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

std::string basic_authorization(const std::string& user, const std::string& password) {
  const std::string plain = user + ":" + password;
  std::string encoded((plain.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(plain.data()),
                                   static_cast<int>(plain.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return "Basic " + encoded;
}

class FixedCredential final : public CredentialSource {
 public:
  explicit FixedCredential(Credential credential) : credential_(std::move(credential)) {}
  awaitable<Credential> current() override { co_return credential_; }

 private:
  Credential credential_;
};

// A token that somebody else renews: the kubelet does so long before it ends.
class TokenFile final : public CredentialSource {
 public:
  TokenFile(std::filesystem::path file, std::shared_ptr<const TlsIdentity> identity,
            const Clock& clock)
      : file_(std::move(file)), clock_(clock) {
    credential_.identity = std::move(identity);
  }

  awaitable<Credential> current() override {
    const double now = clock_.now_seconds();
    if (credential_.authorization.empty() || now - read_seconds_ >= kTokenSeconds) {
      credential_.authorization = "Bearer " + trimmed(read_file(file_));
      read_seconds_ = now;
    }
    co_return credential_;
  }
  void forget() override { credential_.authorization.clear(); }

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  Credential credential_;
  double read_seconds_ = 0.0;
};

class PluginCredential final : public CredentialSource {
 public:
  PluginCredential(Kubeconfig config, TlsIdentity identity)
      : config_(std::move(config)), identity_(std::move(identity)) {}

  awaitable<Credential> current() override {
    const auto now = static_cast<double>(std::time(nullptr));
    if (credential_ && (ends_ == 0.0 || now < ends_ - kEarlySeconds)) co_return *credential_;
    std::vector<std::string> words = command();
    const std::string program = "exec plug-in " + config_.plugin.words.front();
    const CommandResult result =
        co_await run_command(std::move(words), std::string(), kPluginSeconds);
    if (!result.succeeded())
      throw InputError({.what = "it fails: " + result.failure(),
                        .where = program,
                        .remedy = "run it by hand, and log in if it asks for that"});
    const ExecCredential made = parse_exec_credential(result.output, program);
    TlsIdentity identity = identity_;
    if (!made.certificate.empty()) {
      identity.certificate = made.certificate;
      identity.key = made.key;
    }
    ends_ = made.expires_seconds;
    credential_ = Credential{made.token.empty() ? std::string() : "Bearer " + made.token,
                             std::make_shared<const TlsIdentity>(std::move(identity))};
    co_return *credential_;
  }
  void forget() override { credential_.reset(); }

 private:
  // Only `env` sets variables for one command; none of them is secret.
  std::vector<std::string> command() const {
    json info = {{"kind", "ExecCredential"},
                 {"apiVersion", config_.plugin.api_version},
                 {"spec", {{"interactive", false}}}};
    if (config_.plugin.wants_cluster) info["spec"]["cluster"] = {{"server", config_.server}};
    std::vector<std::string> words = {"env", "KUBERNETES_EXEC_INFO=" + json_text(info)};
    for (const auto& [name, value] : config_.plugin.environment)
      words.push_back(name + "=" + value);
    words.insert(words.end(), config_.plugin.words.begin(), config_.plugin.words.end());
    return words;
  }

  Kubeconfig config_;
  TlsIdentity identity_;
  std::optional<Credential> credential_;
  double ends_ = 0.0;  // of Unix time; 0: unknown
};

void check_server(const std::string& server, const std::string& where) {
  const Url url = parse_url(server, where);
  if (!url.is_secure && !is_loopback(url))
    throw InputError({.what = fmt::format("{} would carry credentials in clear", server),
                      .where = where,
                      .remedy = "use https://"});
}

ClusterAccess access_of(const std::filesystem::path& file, const std::string& context,
                        const Clock& clock) {
  Kubeconfig config = parse_kubeconfig(read_file(file), file, context);
  check_server(config.server, file.string());
  ClusterAccess access;
  access.server = config.server;
  access.namespace_name = config.namespace_name;
  access.description = fmt::format("context {} of {}", config.context, file.string());
  TlsIdentity identity{config.roots, config.certificate, config.key, config.server_name};
  if (config.plugin.is_there()) {
    access.credentials = std::make_unique<PluginCredential>(std::move(config), std::move(identity));
    return access;
  }
  Credential credential;
  credential.identity = std::make_shared<const TlsIdentity>(std::move(identity));
  if (!config.token_file.empty()) {
    access.credentials = std::make_unique<TokenFile>(config.token_file, credential.identity, clock);
    return access;
  }
  if (!config.token.empty()) credential.authorization = "Bearer " + config.token;
  if (!config.user.empty())
    credential.authorization = basic_authorization(config.user, config.password);
  access.credentials = std::make_unique<FixedCredential>(std::move(credential));
  return access;
}

std::optional<ClusterAccess> access_of_this_pod(const std::filesystem::path& folder,
                                                const Clock& clock) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  std::string port = environment("KUBERNETES_SERVICE_PORT_HTTPS");
  if (port.empty()) port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty() || !std::filesystem::exists(folder / "token"))
    return std::nullopt;
  ClusterAccess access;
  const bool is_v6 = host.find(':') != std::string::npos;
  access.server =
      fmt::format(fmt::runtime(is_v6 ? "https://[{}]:{}" : "https://{}:{}"), host, port);
  if (std::filesystem::exists(folder / "namespace"))
    access.namespace_name = trimmed(read_file(folder / "namespace"));
  access.description = "this Pod's service account";
  auto identity = std::make_shared<TlsIdentity>();
  identity->roots = read_file(folder / "ca.crt");
  access.credentials = std::make_unique<TokenFile>(folder / "token", std::move(identity), clock);
  return access;
}

}  // namespace

ClusterAccess find_cluster(const AccessSettings& settings, const Clock& clock) {
  if (!settings.kubeconfig.empty()) return access_of(settings.kubeconfig, settings.context, clock);
  const std::string listed = environment("KUBECONFIG");
  for (std::size_t begin = 0; begin < listed.size();) {
    const auto end = std::min(listed.find(':', begin), listed.size());
    const std::filesystem::path file = listed.substr(begin, end - begin);
    if (std::filesystem::is_regular_file(file)) return access_of(file, settings.context, clock);
    begin = end + 1;
  }
  if (auto access = access_of_this_pod(settings.service_account, clock)) return std::move(*access);
  const std::string home = environment("HOME");
  const std::filesystem::path usual = std::filesystem::path(home) / ".kube/config";
  if (!home.empty() && std::filesystem::is_regular_file(usual))
    return access_of(usual, settings.context, clock);
  throw InputError({.what = "no Kubernetes cluster is known here",
                    .where = "provider",
                    .remedy = "set provider.kubeconfig or KUBECONFIG, or run in a Pod with a "
                              "service account (docs/kubernetes.md)"});
}

}  // namespace scavenger::kubernetes
