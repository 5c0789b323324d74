#include "kubernetes/api/kubeconfig.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "kubernetes/api/cluster_access.h"
#include "test/support/temporary_folder.h"

namespace scavenger::kubernetes {
namespace {

std::string config_of(const std::string& cluster, const std::string& user) {
  return "current-context: c\n"
         "contexts:\n- name: c\n  context:\n    cluster: k\n    user: u\n    namespace: team\n"
         "clusters:\n- name: k\n  cluster:\n" +
         cluster + "users:\n- name: u\n  user:\n" + user;
}

const char* const kServer = "    server: https://10.0.0.1:6443/\n";

Credential credential_of(const ClusterAccess& access) {
  asio::io_context io;
  std::exception_ptr failure;
  Credential found;
  asio::co_spawn(io, access.credentials->current(),
                 [&](std::exception_ptr error, Credential credential) {
                   failure = std::move(error);
                   found = std::move(credential);
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return found;
}

}  // namespace

TEST_CASE("kubeconfig: server, namespace, certificates and token of the current context") {
  TemporaryFolder folder;
  std::ofstream(folder.path() / "ca.crt") << "ROOTS";
  const Kubeconfig config =
      parse_kubeconfig(config_of(std::string(kServer) + "    certificate-authority: ca.crt\n",
                                 "    token: secret\n    client-certificate-data: QUJDRA==\n"),
                       folder.path() / "config", "");
  CHECK(config.server == "https://10.0.0.1:6443");
  CHECK(config.namespace_name == "team");
  CHECK(config.roots == "ROOTS");
  CHECK(config.token == "secret");
  CHECK(config.certificate == "ABCD");
}

TEST_CASE("kubeconfig: what cannot be used is refused, with a remedy") {
  const auto refuses = [](const std::string& text, const std::string& context,
                          const std::string& part) {
    CHECK_THROWS_WITH(parse_kubeconfig(text, "/x/config", context), Catch::Contains(part));
  };
  refuses(config_of(kServer, "    token: t\n"), "other", "no context \"other\"");
  refuses("apiVersion: v1\n", "", "no current context");
  refuses(
      config_of(std::string(kServer) + "    insecure-skip-tls-verify: true\n", "    token: t\n"),
      "", "certificate-authority");
  refuses(config_of(kServer, "    auth-provider:\n      name: gcp\n"), "", "exec plug-in");
  refuses(config_of(kServer, "    client-key-data: \"*\"\n"), "", "base64");
}

TEST_CASE("kubeconfig: credentials do not go to a server in clear") {
  TemporaryFolder folder;
  const SteadyClock clock;
  const auto file = folder.path() / "config";
  std::ofstream(file) << config_of("    server: http://10.0.0.1:8080\n", "    token: t\n");
  CHECK_THROWS_WITH(find_cluster({.kubeconfig = file}, clock), Catch::Contains("in clear"));
}

TEST_CASE("kubeconfig: a plug-in is asked, with its variables, until its credential ends") {
  TemporaryFolder folder;
  const SteadyClock clock;
  const auto script = folder.path() / "plugin";
  std::ofstream(script) << "#!/bin/sh\necho >>" << (folder.path() / "calls").string()
                        << "\necho '{\"kind\": \"ExecCredential\", \"status\": {\"token\": "
                           "\"'$WORD-$1'\", \"expirationTimestamp\": \"2999-01-01T00:00:00Z\"}}'\n";
  ::chmod(script.c_str(), 0755);
  const auto file = folder.path() / "config";
  std::ofstream(file) << config_of(
      kServer,
      "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n"
      "      args:\n      - hello\n      env:\n      - name: WORD\n        value: said\n");
  const ClusterAccess access = find_cluster({.kubeconfig = file}, clock);
  CHECK(credential_of(access).authorization == "Bearer said-hello");
  CHECK(credential_of(access).authorization == "Bearer said-hello");
  CHECK(std::filesystem::file_size(folder.path() / "calls") == 1);
  access.credentials->forget();
  credential_of(access);
  CHECK(std::filesystem::file_size(folder.path() / "calls") == 2);
  std::ofstream(script) << "#!/bin/sh\necho log in first >&2; exit 3\n";
  access.credentials->forget();
  CHECK_THROWS_WITH(credential_of(access), Catch::Contains("log in first"));
}

TEST_CASE("kubeconfig: inside of a cluster the service account counts") {
  TemporaryFolder folder;
  const SteadyClock clock;
  for (const char* const name : {"token", "ca.crt", "namespace"})
    std::ofstream(folder.path() / name) << name << "\n";
  ::unsetenv("KUBECONFIG");
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const ClusterAccess access = find_cluster({.service_account = folder.path()}, clock);
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  CHECK(access.server == "https://[fd00::1]:443");
  CHECK(access.namespace_name == "namespace");
  CHECK(credential_of(access).authorization == "Bearer token");
}

}  // namespace scavenger::kubernetes
