"""A job that `kubectl apply` starts: scavenger-ctl k8s render makes a Job, whose Pod is the controller, and this one makes the workers' Pods.

The cluster is test/fake_kubernetes with its controller of Jobs, service accounts, Roles, volumes, and nodes that are drained and taken away;
kubectl is the real one. Pods run in a root that they cannot write to and as nobody in particular: that of the image which
scripts/build_image.sh has made, if SCAVENGER_IMAGE_ROOT names it unpacked; otherwise folders of this machine are mounted into an empty root.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from fake_cluster import Cluster, kubectl, root_of_this_machine  # noqa: E402

IMAGE = "scavenger:test"
SPOT = {"labels": {"spot": "true"}, "spot": True, "taints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}
NODES = {"node-a": {"cpu": 2}, "node-b": {"cpu": 2}, "spot-a": {"cpu": 2, **SPOT}, "spot-b": {"cpu": 2, **SPOT}}
KIND = {"type": "small", "cores": 1, "price_per_hour": 0.1, "spot_price_per_hour": 0.03, "spot_node_labels": {"spot": "true"},
        "spot_tolerations": [{"key": "spot", "operator": "Exists"}]}
DATA = {"spec": {"volumes": [{"name": "data", "hostPath": {"path": str(job.FASHION)}}],
                 "containers": [{"name": "worker", "volumeMounts": [{"name": "data", "mountPath": str(job.FASHION), "readOnly": True}]}]}}


@unittest.skipIf(kubectl() is None, "there is no kubectl (scripts/setup.sh --test)")
@unittest.skipIf(os.geteuid() != 0, "Pods run in a root of their own, which needs root")
class AppliedJobTest(job.JobTest):
    settings = {"nodes": NODES, "notice_seconds": 5, "job_pause_seconds": 0.5, "token_seconds": 20}

    def setUp(self):
        super().setUp()
        root = os.environ.get("SCAVENGER_IMAGE_ROOT")
        image = {"/": root} if root else root_of_this_machine(self.folder / "root")
        settings = self.settings | {"images": {IMAGE: image}}
        self.cluster = Cluster(self, settings, "--processes", self.folder / "pods", "--tls", self.folder / "tls")
        self.run_place = self.folder / "pods/volumes/training/mlp/mlp"

    def kubectl(self, *words, text=None, check=0):
        done = subprocess.run([kubectl(), "--kubeconfig", self.cluster.kubeconfig, "--cache-dir", self.folder / "cache", "--namespace", "training", *words],
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1000)
        self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def apply(self, **changed):
        config = json.loads((job.CONFIGS / "fashion_mlp.json").read_text())
        config.pop("$schema", None)
        # A network so small that the nodes' lives, and not its arithmetic, decide how long a job takes.
        config["model"]["hidden"] = [64]
        config["cluster"] = {"workers": 2, "threads_per_worker": 1}
        config["provider"] = {"type": "kubernetes", "image": IMAGE, "namespace": "training", "spot": True, "machines": [KIND], "pod_template": DATA, "wait_seconds": 120}
        config["limits"] = {"start_seconds": 120}
        config["checkpoint"] = {"every_iterations": 200}
        config["search"] = {"mode": "off"}
        (self.folder / "config.json").write_text(json.dumps(config | changed))
        words = ["k8s", "render", self.folder / "config.json", "--name", "mlp", "--namespace", "training", "--cores", "0.5"]
        rendered = subprocess.run([job.programs / "scavenger-ctl", *words], check=True, capture_output=True, text=True).stdout
        return self.kubectl("apply", "-f", "-", text=rendered)

    def pods(self, of_worker):
        return [pod for pod in self.cluster.ask("ledger")["pods"] if ("scavenger.dev/job" in pod["labels"]) == of_worker]

    def assert_nothing_is_left(self):
        """Secrets go a moment after their Pods."""
        deadline = time.monotonic() + 180
        while True:
            ledger = self.cluster.ask("ledger")
            left = [pod["name"] for pod in ledger["pods"] if "scavenger.dev/job" in pod["labels"] and pod["gone"] is None]
            if not (left or ledger["secrets"]) or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.assertEqual((left, ledger["secrets"], ledger["violations"]), ([], [], []))

    def lives(self, report):
        """What the report says of each Pod that was ready, which has to be each that has ever run, and none besides."""
        lives = {}
        for event in report["machines"]["latest"]:
            lives.setdefault(event["name"], []).append(event["change"])
        ready = {name: changes for name, changes in lives.items() if "ready" in changes}
        self.assertEqual(set(ready), {pod["name"] for pod in self.pods(True) if pod["running"]})
        self.assertEqual([changes for changes in ready.values() if changes[-1] not in ("released", "lost")], [], lives)
        return ready

    def test_it_trains_while_nodes_of_workers_and_that_of_the_controller_are_drained(self):
        # So many epochs that it is not over before both commands have come to an end on a busy machine.
        said = self.apply(stop={"max_epochs": 40})
        self.assertIn("job.batch/mlp created", said)
        self.wait_for_event(self.run_place, "iterations", timeout=120)
        running = [pod for pod in self.pods(True) if pod["running"] and not pod["gone"]]
        self.kubectl("drain", running[0]["node"], "--force", "--ignore-daemonsets", "--timeout=60s")
        self.wait_for_event(self.run_place, "checkpoint", timeout=120)
        controller = self.pods(False)[0]
        self.kubectl("drain", controller["node"], "--force", "--ignore-daemonsets", "--timeout=60s")
        said = self.kubectl("wait", "--for=condition=complete", "job/mlp", "--timeout=150s")
        self.assertIn("condition met", said)
        self.assert_nothing_is_left()
        report = job.report(self.run_place)
        self.assertEqual(report["status"], "max_epochs")
        self.assertEqual(report["starts"]["total"], 2)
        controllers = self.pods(False)
        self.assertEqual([pod["why"] for pod in controllers], ["EvictionByEvictionAPI", None])
        self.assertNotEqual(controllers[0]["node"], controllers[1]["node"])
        status = json.loads(self.kubectl("get", "job", "mlp", "-o", "json"))["status"]
        self.assertEqual((status["failed"], status["succeeded"]), (0, 1))  # an eviction is no failure
        self.assertTrue(any("notice" in changes for changes in self.lives(report).values()))
        self.assertIn("test accuracy", self.kubectl("logs", "--follow", "job/mlp"))

    def test_wrong_input_ends_the_job_and_its_log_says_why(self):
        data = json.loads((job.CONFIGS / "fashion_mlp.json").read_text())["data"]
        data["train"]["features"] = "/none/images"
        self.apply(stop={"max_epochs": 1}, data=data)
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=failed", "job/mlp", "--timeout=60s"))
        self.assertIn("/none/images", self.kubectl("logs", "job/mlp"))
        self.assertEqual(len(self.pods(False)), 1)
        self.assertEqual(self.pods(True), [])

    def test_apply_again_changes_nothing_and_delete_leaves_nothing(self):
        # As docs/kubernetes.md says: then a job hears of a node that is about to go before its Pods do.
        for words in (["clusterrole", "scavenger-nodes", "--verb=list,watch", "--resource=nodes"],
                      ["clusterrolebinding", "scavenger-nodes", "--clusterrole=scavenger-nodes", "--serviceaccount=training:mlp"]):
            # kubectl create itself would send Protocol Buffers, which the fake does not read.
            self.kubectl("apply", "-f", "-", text=self.kubectl("create", *words, "--dry-run=client", "--output=json"))
        self.apply(stop={"max_epochs": 1000})
        self.wait_for_event(self.run_place, "iterations", timeout=120)
        self.cluster.ask("taint", node=self.pods(True)[0]["node"], key="ToBeDeletedByClusterAutoscaler")
        deadline = time.monotonic() + 180
        while "its node has the taint ToBeDeletedByClusterAutoscaler" not in (reasons := [event["reason"] for event in job.events(self.run_place, "machine")]):
            self.assertLess(time.monotonic(), deadline, reasons)
            time.sleep(0.1)
        self.assertIn("job.batch/mlp unchanged", self.apply(stop={"max_epochs": 1000}))
        self.kubectl("delete", "job,pvc,configmap,role,rolebinding,serviceaccount", "mlp", "--timeout=150s")  # the claim goes after its Pod
        self.assertFalse(self.run_place.exists())
        self.assert_nothing_is_left()


@unittest.skipUnless("SCAVENGER_IMAGE_ROOT" in os.environ, "SCAVENGER_IMAGE_ROOT names no root of an unpacked image (docs/kubernetes.md)")
class SearchOnSpotNodes(AppliedJobTest):
    """By hand: Fashion-MNIST to its target, with a search, on nodes that come and go as docs/results/kubernetes.md says. It prints each Pod's life."""

    settings = {"nodes": {"node-a": {"cpu": 2}, "node-b": {"cpu": 2}, **{f"spot-{name}": {"cpu": 1, **SPOT} for name in "abcde"}},
                "notice_seconds": 5, "lives": {"mean_seconds": 20, "notice_share": 0.25, "drain_share": 0.25}, "token_seconds": 20, "seed": 3,
                "faults": {"reply_lost": 0.02, "watch_cut": 0.02, "error_after": 0.02, "slow": 0.05}}
    test_it_trains_while_nodes_of_workers_and_that_of_the_controller_are_drained = None
    test_wrong_input_ends_the_job_and_its_log_says_why = None
    test_apply_again_changes_nothing_and_delete_leaves_nothing = None

    def test_to_the_target(self):
        ready = json.loads((job.CONFIGS / "kubernetes_spot.json").read_text())
        self.apply(**{key: ready[key] for key in ("model", "optimizer", "batch_size", "search")}, stop=ready["stop"])
        self.wait_for_event(self.run_place, "checkpoint", count=3, timeout=400)
        self.kubectl("drain", self.pods(False)[0]["node"], "--force", "--timeout=60s")
        self.kubectl("wait", "--for=condition=complete", "job/mlp", "--timeout=900s")
        self.assert_nothing_is_left()
        report, ledger = job.report(self.run_place), self.cluster.ask("ledger")
        lives = self.lives(report)
        first = min(pod["created"] for pod in ledger["pods"])
        print(f"\n{'Pod':42} {'node':7} {'asked':>6} {'ran':>6} {'gone':>6}  end, as the cluster / as the report has it")
        for pod in sorted(ledger["pods"], key=lambda pod: pod["created"]):
            times = [f"{pod[name] - first:6.1f}" if pod[name] else "     -" for name in ("created", "running", "gone")]
            print(f"{pod['name']:42} {pod['node'] or '-':7} {' '.join(times)}  {pod['why'] or '-'} / {', '.join(lives.get(pod['name'], ['-']))}")
        phases = [(phase["workers"], phase["batch_size"], phase["iterations"]) for phase in report["phases"]]
        print(json.dumps({"status": report["status"], "totals": report["totals"], "starts": report["starts"]["total"], "phases": phases, "search_steps": report["search_steps"]["total"], "node_ends": ledger["node_ends"],
                          "faults": ledger["faults"], "requests": ledger["requests"], "peaks": ledger["peaks"], "warnings": report["warnings"]["total"]}))
        self.assertEqual(report["status"], "target_reached")
        self.assertEqual([name for name, count in ledger["creations"].items() if count > 1], [])


if __name__ == "__main__":
    job.main()
