// Which API server a job uses, and who it is to it: inside of a cluster the service account of its
// Pod, outside a kubeconfig. Credentials are never shown.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "kubernetes/api/kubeconfig.h"
#include "runtime/base/clock.h"
#include "runtime/http/http_client.h"

namespace scavenger::kubernetes {

struct Credential {
  std::string authorization;  // the header's value; empty: none
  std::shared_ptr<const TlsIdentity> identity;
};

// Thread: the io_context's.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Throws InputError if the credentials are no good, SystemError if a file cannot be read.
  virtual awaitable<Credential> current() = 0;
  // The server has refused the last one: do not give it again if there may be another.
  virtual void forget() {}
};

struct ClusterAccess {
  std::string server;          // "https://10.0.0.1:443"
  std::string namespace_name;  // of the context or the service account; empty: "default"
  std::string description;     // "context kind-dev", "this Pod's service account"
  std::unique_ptr<CredentialSource> credentials;
};

struct AccessSettings {
  std::filesystem::path kubeconfig = {};  // empty: looked for
  std::string context = {};               // of the kubeconfig; empty: the current one
  std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Looks in this order: the kubeconfig of the settings, the first file that KUBECONFIG names, the
// service account of this Pod, ~/.kube/config. Throws InputError if there is none or it is not
// usable, and for a server that would be told credentials in clear. The clock must outlive it.
ClusterAccess find_cluster(const AccessSettings& settings, const Clock& clock);

}  // namespace scavenger::kubernetes
