#include "kubernetes/api/kubeconfig.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <ctime>

#include "kubernetes/api/json_access.h"
#include "kubernetes/api/yaml_text.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::kubernetes {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& where,
                         const std::string& remedy) {
  throw InputError({.what = what, .where = where, .remedy = remedy});
}

std::string decoded(std::string text, const std::string& where) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  const auto padding = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
  if (size < 0 || padding > 2) refuse("this is no base64", where, "make the kubeconfig again");
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

// A part by its name: of "clusters", "users" or "contexts".
const json& named(const json& config, const char* list, const char* kind, const std::string& name,
                  const std::string& where) {
  for (const json& item : array_at(config, {list}))
    if (text_at(item, {"name"}) == name) return value_at(item, {kind});
  refuse(fmt::format("it has no {} \"{}\"", kind, name), where,
         "name a context that kubectl config get-contexts shows, in provider.context");
}

// Given as text in base64, or as a file beside the kubeconfig.
std::string pem_of(const json& object, const std::string& key, const std::filesystem::path& file) {
  const std::string data = text_at(object, {(key + "-data").c_str()});
  if (!data.empty()) return decoded(data, fmt::format("{}: {}-data", file.string(), key));
  const std::string name = text_at(object, {key.c_str()});
  return name.empty() ? std::string() : read_file(file.parent_path() / name);
}

ExecPlugin plugin_of(const json& exec, const std::filesystem::path& file) {
  ExecPlugin plugin;
  if (!exec.is_object()) return plugin;
  plugin.api_version = text_at(exec, {"apiVersion"});
  std::string command = text_at(exec, {"command"});
  if (command.empty()) refuse("its exec section has no command", file.string(), "complete it");
  const bool is_beside = command.find('/') != std::string::npos && command.front() != '/';
  if (is_beside) command = (file.parent_path() / command).string();
  plugin.words.push_back(std::move(command));
  for (const json& word : array_at(exec, {"args"}))
    plugin.words.push_back(word.is_string() ? word.get<std::string>() : json_text(word));
  for (const json& item : array_at(exec, {"env"}))
    plugin.environment.emplace_back(text_at(item, {"name"}), text_at(item, {"value"}));
  const json& wants = value_at(exec, {"provideClusterInfo"});
  plugin.wants_cluster = wants.is_boolean() && wants.get<bool>();
  return plugin;
}

void read_cluster(const json& cluster, const std::filesystem::path& file, Kubeconfig& to) {
  to.server = text_at(cluster, {"server"});
  while (to.server.ends_with('/')) to.server.pop_back();
  to.server_name = text_at(cluster, {"tls-server-name"});
  to.roots = pem_of(cluster, "certificate-authority", file);
  const json& is_unchecked = value_at(cluster, {"insecure-skip-tls-verify"});
  if (is_unchecked.is_boolean() && is_unchecked.get<bool>())
    refuse("insecure-skip-tls-verify would show our credentials to whoever answers", file.string(),
           "give the cluster's certificate-authority");
  if (to.server.empty())
    refuse("its cluster has no server", file.string(), "make the kubeconfig again");
}

void read_user(const json& user, const std::filesystem::path& file, Kubeconfig& to) {
  if (value_at(user, {"auth-provider"}).is_object())
    refuse("its auth-provider was removed from Kubernetes", file.string(),
           "use the exec plug-in of your cloud, such as gke-gcloud-auth-plugin");
  to.token = text_at(user, {"token"});
  const std::string token_file = text_at(user, {"tokenFile"});
  if (!token_file.empty()) to.token_file = file.parent_path() / token_file;
  to.certificate = pem_of(user, "client-certificate", file);
  to.key = pem_of(user, "client-key", file);
  to.user = text_at(user, {"username"});
  to.password = text_at(user, {"password"});
  to.plugin = plugin_of(value_at(user, {"exec"}), file);
}

}  // namespace

Kubeconfig parse_kubeconfig(const std::string& text, const std::filesystem::path& file,
                            const std::string& context) {
  const json config = parse_yaml(text, file.string());
  Kubeconfig result;
  result.context = context.empty() ? text_at(config, {"current-context"}) : context;
  if (result.context.empty())
    refuse("it has no current context", file.string(),
           "name one in provider.context: kubectl config get-contexts");
  const json& chosen = named(config, "contexts", "context", result.context, file.string());
  result.namespace_name = text_at(chosen, {"namespace"});
  const std::string cluster = text_at(chosen, {"cluster"}), user = text_at(chosen, {"user"});
  read_cluster(named(config, "clusters", "cluster", cluster, file.string()), file, result);
  if (!user.empty()) read_user(named(config, "users", "user", user, file.string()), file, result);
  return result;
}

ExecCredential parse_exec_credential(const std::string& printed, const std::string& program) {
  const auto object = parse_object(printed);
  const json status = object ? value_at(*object, {"status"}) : json();
  ExecCredential credential;
  credential.token = text_at(status, {"token"});
  credential.certificate = text_at(status, {"clientCertificateData"});
  credential.key = text_at(status, {"clientKeyData"});
  credential.expires_seconds = parse_rfc3339(text_at(status, {"expirationTimestamp"}));
  if (credential.token.empty() && credential.certificate.empty())
    refuse("this plug-in prints no credential", program,
           "run it by hand: it must print an ExecCredential with a status");
  return credential;
}

double parse_rfc3339(const std::string& text) {
  std::tm time{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  return end == nullptr ? 0.0 : static_cast<double>(::timegm(&time));
}

}  // namespace scavenger::kubernetes
