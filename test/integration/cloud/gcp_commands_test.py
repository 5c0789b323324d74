"""What stands between a user and Compute Engine (test/fake_gce): refusals with their remedies, and the commands that show, sweep and refresh."""

import json
import os
import pathlib
import pty
import subprocess
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from fake_cloud import TOKEN, ledger_of, start_fake  # noqa: E402


class RefusedByComputeEngine(job.JobTest):
    """What can go wrong between a user and the cloud: each ends the job before a VM is rented, with what to do about it."""

    def refusal(self, cloud=None, provider=None, token=TOKEN, options=(), workers=2, check=1):
        settings = {"zones": {"us-central1-a": {"*": 3}}, "machine_types": {"n2d-standard-2": [2, 8]}, "time_scale": 100} | (cloud or {})
        endpoint = start_fake(self, settings, *options)
        asked = {"type": "gcp", "project": "demo", "zones": ["us-central1-a"], "spot": True, "endpoint": endpoint, "machine_types": ["n2d-standard-2"],
                 "programs": str(job.programs), "controller_address": "127.0.0.1", "cool_down_seconds": 1, "wait_seconds": 2} | (provider or {})
        self.environment = lambda: {**job.JobTest.environment(self), "SCAVENGER_GCP_TOKEN": token}
        said = self.train(job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--workers", workers, "--set", "provider=" + json.dumps(asked),
                          "--set", 'search.mode="off"', check=check, timeout=120)
        self.assertNotIn(TOKEN, said)
        if endpoint.startswith("http:"):
            self.assertEqual(ledger_of(endpoint)["vms"], [])
        return " ".join(said.split())

    def test_wrong_project(self):
        self.assertRegex(self.refusal(provider={"project": "another"}, check=2), "projects/another.*check the project")

    def test_ended_token(self):
        self.assertRegex(self.refusal(token="ya29.ended"), "credentials.*make a new key or token")

    def test_missing_permission(self):
        account = {"token": TOKEN, "permissions": ["compute.instances.list", "compute.machineTypes.get", "compute.regions.get"]}
        self.assertRegex(self.refusal(cloud={"accounts": {"developer@demo": account}}), "compute.instances.create.*give this identity a role with compute.instances.create in project demo")

    def test_quota_without_room(self):
        self.assertRegex(self.refusal(cloud={"quotas": {"us-central1": {"N2D_CPUS": 2}}}),
                         "quota N2D_CPUS is 2: 2 workers can never be had, 1 at most.*iam-admin/quotas[?]project=demo")

    def test_no_zone_has_the_machine(self):
        self.assertRegex(self.refusal(cloud={"zones": {"us-central1-a": {}}}, check=2), "no zone has such a machine: n2d-standard-2 in us-central1-a")

    def test_capacity_that_is_gone(self):
        self.assertRegex(self.refusal(cloud={"zones": {"us-central1-a": {"*": 0}}}), "no VM is to be had: us-central1-a n2d-standard-2: stock-out.*name more zones")

    def test_strangers_certificate(self):
        files = [self.folder / "key.pem", self.folder / "certificate.pem"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", files[0], "-out", files[1]],
                       check=True, capture_output=True)
        self.assertRegex(self.refusal(options=("--key", files[0], "--certificate", files[1])), "certificate.*not to be trusted|not to be trusted.*certificate")


class WithoutCredentials(job.JobTest):
    """Told within seconds, as wrong input, before there is a run folder. The limits are generous: without the check it took 2.5 minutes."""

    # Loopback refuses at once; the name of a real metadata server is not looked for from here.
    def environment(self):
        hidden = ("SCAVENGER_GCP_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS")
        return {key: value for key, value in super().environment().items() if key not in hidden} | {"GCE_METADATA_HOST": "127.0.0.1:9"}

    def said_by(self, *options, check=2, **provider):
        asked = {"type": "gcp", "project": "demo", "zones": ["us-central1-a"], "machine_types": ["n2d-standard-2"],
                 "programs": "/opt/scavenger/bin"} | provider
        said = self.train(job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(asked), *options, check=check, timeout=180)
        self.assertFalse(self.run_folder().exists(), said)
        return " ".join(said.split())

    def test_the_missing_credentials_are_named_with_the_server_that_was_asked(self):
        said = self.said_by()
        self.assertRegex(said, r"no credentials are given, and this is no VM of Compute Engine.*127[.]0[.]0[.]1:9")
        self.assertRegex(said, "GOOGLE_APPLICATION_CREDENTIALS.*SCAVENGER_GCP_TOKEN")

    def test_a_missing_project_is_wrong_input(self):
        self.environment = lambda: WithoutCredentials.environment(self) | {"SCAVENGER_GCP_TOKEN": TOKEN}
        self.assertRegex(self.said_by(project=""), "provider.project.*the project is not known|the project is not known.*provider.project")

    def test_the_list_of_vms_needs_credentials_too(self):
        document = json.loads((job.CONFIGS / "gcp_spot.json").read_text())
        document.pop("$schema")
        document["provider"]["project"] = "demo"
        config = self.folder / "config.json"
        config.write_text(json.dumps(document))
        done = subprocess.run([str(job.programs / "scavenger-ctl"), "gcp", "list", config], env=self.environment(), text=True, timeout=180,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no credentials are given", " ".join(done.stdout.split()))


class CommandsOnComputeEngine(job.JobTest):
    def environment(self):
        return {**super().environment(), "SCAVENGER_GCP_TOKEN": TOKEN}

    def setUp(self):
        super().setUp()
        price = {"category": {"resourceFamily": "Compute", "usageType": "OnDemand"}, "serviceRegions": ["us-central1"]}
        skus = [price | {"description": f"N2 Instance {part} running in Americas",
                         "pricingInfo": [{"pricingExpression": {"tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": nanos}}]}}]}
                for part, nanos in (("Core", 50_000_000), ("Ram", 5_000_000))]
        skus += [sku | {"description": "Spot Preemptible " + sku["description"], "category": sku["category"] | {"usageType": "Preemptible"}} for sku in skus]
        self.endpoint = start_fake(self, {"zones": {"us-central1-a": {"*": 9}}, "machine_types": {"e2-standard-2": [2, 8]}, "time_scale": 300, "skus": skus})
        self.config = self.folder / "config.json"
        document = json.loads((job.CONFIGS / "gcp_spot.json").read_text())
        document.pop("$schema")
        document["provider"] |= {"project": "demo", "endpoint": self.endpoint, "zones": ["us-central1-a"]}
        self.config.write_text(json.dumps(document))

    def rent(self, name, labels):
        body = {"name": name, "machineType": "zones/us-central1-a/machineTypes/e2-standard-2", "labels": labels, "scheduling": {"provisioningModel": "SPOT"},
                "disks": [{"boot": True}], "networkInterfaces": [{"network": "global/networks/default"}], "metadata": {"items": []}}
        request = urllib.request.Request(f"{self.endpoint}/compute/v1/projects/demo/zones/us-central1-a/instances?requestId={name}", method="POST",
                                         data=json.dumps(body).encode(), headers={"Authorization": f"Bearer {TOKEN}"})
        urllib.request.urlopen(request).close()

    def run_tool(self, *words, typed=None):
        """(exit code, all it says). `typed`: at a terminal; else there is nobody to be asked."""
        user, terminal = pty.openpty()
        if typed is not None:
            os.write(user, typed.encode())
        done = subprocess.run([str(job.programs / words[0]), *map(str, words[1:])], env=self.environment(), text=True, timeout=180,
                              stdin=terminal if typed is not None else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.close(user)
        os.close(terminal)
        self.assertNotIn(TOKEN, done.stdout)
        return done.returncode, done.stdout

    def there(self):
        return sorted(vm["name"] for vm in ledger_of(self.endpoint)["vms"] if vm["gone"] is None)

    def test_what_jobs_left_is_shown_and_swept_after_asking(self):
        for name, labels in {"mlp-1-worker-0-aa": {"scavenger-job": "mlp-1", "scavenger-role": "worker"}, "cnn-2-worker-3-bb": {"scavenger-job": "cnn-2", "scavenger-role": "worker"},
                             "somebody-elses": {"owner": "somebody"}}.items():
            self.rent(name, labels)
        everything = self.there()
        code, said = self.run_tool("scavenger-ctl", "gcp", "list", self.config)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"mlp-1 +worker 0 +us-central1-a +e2-standard-2 .* spot .* 0[.]0402 +mlp-1-worker-0-aa")
        self.assertRegex(said, r"cnn-2 +worker 3 ")
        self.assertNotIn("somebody", said)
        self.assertNotEqual(self.run_tool("scavenger-ctl", "gcp", "sweep", self.config)[0], 0, "nobody was asked")
        code, said = self.run_tool("scavenger-ctl", "gcp", "sweep", self.config, typed="n\n")
        self.assertIn("Delete 2 of them for good?", said)
        self.assertEqual(self.there(), everything)
        code, said = self.run_tool("scavenger-ctl", "gcp", "sweep", self.config, "--job", "mlp-1", typed="y\n")
        self.assertEqual((code, self.there()), (0, ["cnn-2-worker-3-bb", "somebody-elses"]), said)
        code, said = self.run_tool("scavenger-ctl", "gcp", "sweep", self.config, "--yes")
        self.assertEqual((code, self.there()), (0, ["somebody-elses"]), said)
        self.assertEqual(ledger_of(self.endpoint)["violations"], [])

    def test_prices_are_refreshed_into_a_dated_file(self):
        catalog = self.folder / "prices.json"
        code, said = self.run_tool("scavenger-plan", "prices", "--refresh", catalog, "--endpoint", self.endpoint)
        self.assertEqual(code, 0, said)
        self.assertRegex(json.loads(catalog.read_text())["as_of"], r"^20\d\d-\d\d-\d\d$")
        code, said = self.run_tool("scavenger-plan", "prices", "--catalog", catalog, "--region", "us-central1", "--machine", "n2-standard-2")
        self.assertRegex(said, r"n2-standard-2 +2 +8 +0[.]14000")


if __name__ == "__main__":
    job.main()
