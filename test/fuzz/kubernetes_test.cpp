// What people, plug-ins and API servers write for a job in Kubernetes.
#include <nlohmann/json.hpp>

#include "kubernetes/api/json_access.h"
#include "kubernetes/api/kube_fault.h"
#include "kubernetes/api/kubeconfig.h"
#include "kubernetes/api/object_watch.h"
#include "kubernetes/api/yaml_text.h"
#include "kubernetes/provider/pod_view.h"
#include "test/fuzz/fuzz.h"

using namespace scavenger;
using namespace scavenger::kubernetes;

namespace {

const std::string kConfig =
    "current-context: c\ncontexts:\n- name: c\n  context: {}\n- context:\n    cluster: k\n"
    "    user: u\n  name: c\nclusters:\n- cluster:\n    certificate-authority-data: QUJD\n"
    "    server: https://10.0.0.1:6443 # x\n  name: k\nusers:\n- name: u\n  user:\n    exec:\n"
    "      command: aws\n      args:\n      - \"a: b\"\n      - 'it''s'\n      installHint: |\n"
    "        two\n\n        lines\n      env: []\n";

const std::string kPod =
    R"({"metadata":{"name":"p","labels":{"scavenger.dev/job":"j"},"deletionTimestamp":"2026"},)"
    R"("spec":{"nodeName":"n","taints":[{"key":"karpenter.sh/disrupted"}]},"status":{"phase":)"
    R"("Running","podIP":"10.0.0.1","conditions":[{"type":"DisruptionTarget","status":"True"},)"
    R"({"type":"PodScheduled","status":"False","message":"x"}],"containerStatuses":[{"state":)"
    R"({"waiting":{"reason":"ImagePullBackOff"}}},{"state":{"terminated":{"exitCode":137}}}]}})";

const std::vector<std::string> kYamlFragments = {"\n",    "  ",  "- ",      ": ", "'",    "\"",
                                                 "#",     "|",   "{}",      "[]", "null", "-1",
                                                 "1e400", "[[[", "\\u0000", ","};

}  // namespace

TEST_CASE("fuzz: a kubeconfig is refused, or names a server") {
  const Verdicts verdicts =
      fuzz<InputError>(Mutations(211, {kConfig, R"({"a": [1, {"b": null}]})"}, kYamlFragments),
                       [](const std::string& text) {
                         parse_yaml(text, "config");
                         const Kubeconfig config = parse_kubeconfig(text, "/nowhere/config", "c");
                         require_consistent(!config.server.empty() && config.context == "c");
                       });
  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: whatever an API server answers, no Pod is ready without an address") {
  const Verdicts verdicts = fuzz<ProtocolError>(
      Mutations(223, {kPod, R"({"type":"ADDED","object":{}})"}, kYamlFragments),
      [](const std::string& text) {
        JsonLines lines;
        lines.feed(text + "\n", [](const json&) {});
        require_consistent(!fault_of_reply(403, text).message.empty());
        const auto object = parse_object(text);
        if (!object) throw ProtocolError({.what = "no object", .where = {}, .remedy = {}});
        const PodView pod = pod_view(*object);
        require_consistent(!pod.is_ready() || !pod.address.empty());
        require_consistent(!pod_loss(pod, true).how.empty() && !pod.status_word().empty());
        pod_refusal(pod, false);
        pod_notice(pod);
        node_notice(*object);
      });
  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: what a plug-in prints is a credential, or is refused") {
  const Verdicts verdicts = fuzz<InputError>(
      Mutations(227, {R"({"status":{"token":"t","expirationTimestamp":"2999-01-01T00:00:00Z"}})"},
                kYamlFragments),
      [](const std::string& text) {
        const ExecCredential credential = parse_exec_credential(text, "plug-in");
        require_consistent(!credential.token.empty() || !credential.certificate.empty());
      });
  CHECK(verdicts.accepted > 0);
}
