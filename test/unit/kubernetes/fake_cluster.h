// A fake Kubernetes cluster (test/fake_kubernetes) of a test's own.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kubernetes/provider/kubernetes_settings.h"
#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"
#include "test/support/temporary_folder.h"

namespace scavenger::kubernetes {

class FakeCluster final {
 public:
  // Starts it, and waits until it listens. `settings` as fake_kubernetes.py takes them; `options`:
  // further words for its command line. Bodies are checked against the strict schemas of two
  // versions of Kubernetes if the package that has them is installed.
  FakeCluster(asio::io_context& io, const json& settings, std::vector<std::string> options = {});

  const std::string& endpoint() const { return endpoint_; }
  std::filesystem::path kubeconfig() const { return folder_.path() / "kubeconfig"; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  // Asks for "/fake/...". Blocks.
  json ask(const std::string& what);
  json ledger() { return ask("ledger"); }

 private:
  asio::io_context& io_;
  TemporaryFolder folder_;
  std::string endpoint_;
  std::unique_ptr<ChildProcess> process_;
};

// Three nodes of four cores, one of them spot, and the token "dev".
json small_cluster();

// For a fake cluster in which Pods start at once.
KubernetesSettings quick_settings(const std::filesystem::path& kubeconfig);

}  // namespace scavenger::kubernetes
