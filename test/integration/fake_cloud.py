"""A fake Compute Engine (test/fake_gce) of a test's own."""

import json
import subprocess
import sys
import urllib.request

import job

FAKE = job.SOURCE / "test" / "fake_gce" / "fake_gce.py"
PROTO = job.SHARED_DATA / "gcp" / "compute.proto"
TOKEN = "ya29.token-that-must-not-be-seen"


def start_fake(test, settings, *options):
    """Its address; it ends with the test. `settings` and `options` as fake_gce.py takes them."""
    (test.folder / "cloud.json").write_text(json.dumps({"accounts": {"developer@demo": {"token": TOKEN}}} | settings))
    checked = ["--proto", PROTO] if PROTO.exists() else []
    fake = subprocess.Popen([sys.executable, FAKE, "--settings", test.folder / "cloud.json", "--with-parent", *checked, *options], stdout=subprocess.PIPE,
                            text=True, env=job.JobTest.environment(test) | {"SCAVENGER_PYTHON": sys.executable})  # the Python of the VMs' image
    test.addCleanup(fake.stdout.close)
    test.addCleanup(fake.wait)
    test.addCleanup(fake.terminate)
    return json.loads(fake.stdout.readline())["endpoint"]


def ledger_of(endpoint):
    with urllib.request.urlopen(endpoint + "/fake/ledger") as reply:
        return json.load(reply)
