"""Jobs whose workers are Pods of the fake cluster (test/fake_kubernetes): real training, real processes, nodes that are drained and taken
away, and real kubectl beside them."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from fake_cluster import Cluster, kubectl, kubectls  # noqa: E402

IMAGE = "scavenger:test"
SPOT = {"labels": {"spot": "true"}, "spot": True, "taints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}
NODES = {"node-a": {"cpu": 2}, "spot-a": {"cpu": 2, **SPOT}, "spot-b": {"cpu": 2, **SPOT}}
KIND = {"type": "small", "cores": 1, "price_per_hour": 0.1, "spot_price_per_hour": 0.03, "spot_node_labels": {"spot": "true"},
        "spot_tolerations": [{"key": "spot", "operator": "Exists"}]}
POD = {"apiVersion": "v1", "kind": "Pod",
       "spec": {"containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}], "terminationGracePeriodSeconds": 1}}
SCRIPT = """
import pathlib
import sys
import time
import torch
import scavenger

model = torch.nn.Linear(4, 1)
scavenger.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
data = torch.utils.data.TensorDataset(torch.randn(256, 4), torch.randn(256, 1))
for x, y in scavenger.loader(data, batch_size=32, max_iterations=20):
    scavenger.step(torch.nn.functional.mse_loss(model(x), y))
time.sleep(3)
(pathlib.Path(__file__).parent / f"{sys.argv[1]} {scavenger.rank}").touch()
"""


class KubernetesTest(job.JobTest):
    def cluster(self, *options, **settings):
        images = {IMAGE: {"/opt/scavenger/bin": str(job.programs.resolve())}}
        return Cluster(self, {"nodes": NODES, "images": images, "notice_seconds": 5} | settings, "--processes", self.folder / "pods", *options)

    def options(self, cluster, **changed):
        provider = {"type": "kubernetes", "kubeconfig": str(cluster.kubeconfig), "image": IMAGE, "machines": [KIND], "spot": True,
                    "controller_address": "127.0.0.1", "wait_seconds": 120} | changed
        # A network so small that the nodes' lives, and not its arithmetic, decide how long a job takes.
        return [job.CONFIGS / "fashion_mlp.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(provider), "--set", "model.hidden=[64]",
                "--set", "cluster.threads_per_worker=1", "--set", "limits.start_seconds=120"]

    def assert_all_returned(self, cluster):
        deadline = time.monotonic() + 180
        ledger = cluster.ask("ledger")
        while time.monotonic() < deadline and (any(pod["gone"] is None for pod in ledger["pods"]) or ledger["secrets"]):
            time.sleep(0.2)
            ledger = cluster.ask("ledger")
        self.assertEqual([pod["name"] for pod in ledger["pods"] if pod["gone"] is None], [])
        self.assertEqual(ledger["secrets"], [])
        self.assertEqual(ledger["violations"], [])
        return ledger

    def test_nodes_are_drained_and_taken_away_while_it_trains(self):
        cluster = self.cluster()
        train = self.start(*self.options(cluster), "--workers", 2, "--set", 'search.mode="off"', "--set", "stop=" + json.dumps({"max_epochs": 6}))
        self.wait_for_event(self.run_folder(), "iterations", timeout=120)
        running = [pod for pod in cluster.ask("ledger")["pods"] if pod["running"] and not pod["gone"]]
        cluster.ask("drain", node=running[0]["node"])
        self.wait_for_event(self.run_folder(), "machine", count=4, timeout=120)
        cluster.ask("restart")
        said, _ = train.communicate(timeout=240)
        self.assertEqual(train.returncode, 0, said)
        ledger = self.assert_all_returned(cluster)
        report = job.report(self.run_folder())
        changes = [event["change"] for event in job.events(self.run_folder(), "machine")]
        self.assertIn("notice", changes)
        self.assertGreaterEqual(changes.count("ready"), 3)
        self.assertGreater(report["totals"]["cost"], 0)
        names = {event["name"] for event in job.events(self.run_folder(), "machine") if event["change"] == "ready"}
        self.assertLessEqual(names, {pod["name"] for pod in ledger["pods"]})
        everything = "".join(path.read_text(errors="replace") for path in self.run_folder().rglob("*") if path.suffix in (".log", ".json", ".jsonl"))
        self.assertNotIn("Bearer", everything)

    def test_nodes_that_go_without_notice_are_replaced_at_once(self):
        """The workers' connections are lost before the cluster tells of their Pods, which are lost as well, and no faults of the workers."""
        cluster = self.cluster()
        train = self.start(*self.options(cluster), "--workers", 2, "--set", 'search.mode="off"', "--set", "faults.max_losses=0",
                           "--set", "stop=" + json.dumps({"max_epochs": 1000}))
        self.wait_for_event(self.run_folder(), "iterations", timeout=120)
        first = {event["name"] for event in job.events(self.run_folder(), "machine") if event["change"] == "ready"}
        killed = time.monotonic()
        for node in {pod["node"] for pod in cluster.ask("ledger")["pods"]}:
            cluster.ask("preempt", node=node, notice="false")
        done = len(job.trained(self.run_folder()))
        self.wait_for_event(self.run_folder(), "membership", count=2, timeout=100)
        self.wait_for_event(self.run_folder(), "iterations", count=done + 2, timeout=100)
        self.assertLess(time.monotonic() - killed, 100)  # limits.start_seconds is 120
        ended = self.wait_for_ends(first)
        train.send_signal(signal.SIGINT)
        said, _ = train.communicate(timeout=120)
        self.assertEqual(train.returncode, 130, said)
        self.assert_all_returned(cluster)
        self.assertEqual({name: event["change"] for name, event in ended.items()}, dict.fromkeys(first, "lost"))

    def wait_for_ends(self, names):
        """What the report will say of the ends of these Pods."""
        deadline = time.monotonic() + 180
        while True:
            ends = {event["name"]: event for event in job.events(self.run_folder(), "machine") if event["change"] in ("lost", "released")}
            if names <= set(ends):
                return {name: ends[name] for name in names}
            self.assertLess(time.monotonic(), deadline, ends)
            time.sleep(0.1)

    def test_a_worker_that_is_killed_in_its_pod_is_no_lost_node(self):
        """Its Pod has failed with 137, which the cluster tells a moment after the connection is lost: it counts as a fault of the worker."""
        cluster = self.cluster(oom=True)
        train = self.start(*self.options(cluster), "--workers", 2, "--set", 'search.mode="off"', "--set", "faults.max_losses=0",
                           "--set", "stop=" + json.dumps({"max_epochs": 1000}))
        self.wait_for_event(self.run_folder(), "iterations", timeout=120)
        worker = next(event for event in job.events(self.run_folder(), "process_joined") if event["role"] == "worker")
        os.kill(worker["pid"], signal.SIGKILL)
        said, _ = train.communicate(timeout=120)
        self.assertEqual(train.returncode, 1, said)
        self.assertIn("raise memory_gib", said)
        self.assertIn("faults.max_losses", said)
        self.assert_all_returned(cluster)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch for Python is not installed")
    def test_a_script_in_python_trains_in_pods(self):
        """No Pod is deleted while the code after the loop runs in it."""
        cluster = self.cluster()
        script = self.folder / "train.py"
        script.write_text(SCRIPT)
        worker = {"name": "worker", "env": [{"name": "SCAVENGER_PYTHON", "value": sys.executable}]}
        _, *options = self.options(cluster, pod_template={"spec": {"containers": [worker]}})
        with unittest.mock.patch.dict(os.environ, SCAVENGER_PYTHON=sys.executable):
            self.train(script, *options[:4], "--workers", 2, "--set", "limits.start_seconds=240", "--", "two words")
        self.assert_all_returned(cluster)
        self.assertEqual(job.report(self.run_folder())["status"], "max_iterations")
        self.assertEqual(sorted(path.name for path in self.folder.glob("two words *")), ["two words 0", "two words 1"])

    def test_kill_of_the_controller_and_resume(self):
        cluster = self.cluster()
        options = [*self.options(cluster), "--workers", 2, "--set", 'search.mode="off"', "--set", "checkpoint.every_iterations=50"]
        train = self.start(*options, "--set", "stop=" + json.dumps({"max_epochs": 4}))
        self.wait_for_event(self.run_folder(), "checkpoint", timeout=120)
        train.kill()
        train.wait()
        self.train("--resume", self.run_folder())
        self.assertEqual(job.report(self.run_folder())["status"], "max_epochs")
        self.assert_all_returned(cluster)

    def test_list_and_sweep_what_a_killed_job_left(self):
        cluster = self.cluster()
        train = self.start(*self.options(cluster), "--workers", 2, "--set", 'search.mode="off"')
        self.wait_for_event(self.run_folder(), "iterations", timeout=120)
        train.kill()
        train.wait()
        shown = self.ctl("k8s", "list", self.run_folder())
        self.assertIn("-worker-0-", shown)
        self.assertEqual(len(shown.splitlines()), 3, shown)
        self.assertEqual(self.ctl("k8s", "sweep", self.run_folder(), "--yes").count("deleted "), 2)
        self.assert_all_returned(cluster)
        self.assertIn("there are no Pods", self.ctl("k8s", "list", self.run_folder()))

    def ctl(self, *words):
        return subprocess.run([job.programs / "scavenger-ctl", *words], check=True, capture_output=True, text=True).stdout

    def test_worker_that_cannot_start_shows_what_it_wrote(self):
        cluster = self.cluster()
        said = self.train(*self.options(cluster, programs="/opt/nobody/bin"), "--workers", 1, "--set", 'search.mode="off"', check=1)
        self.assertIn("/opt/nobody/bin/scavenger-worker", said)
        self.assert_all_returned(cluster)


@unittest.skipUnless("SCAVENGER_IMAGE_ROOT" in os.environ, "SCAVENGER_IMAGE_ROOT names no root of an unpacked image (docs/kubernetes.md)")
class InTheImage(KubernetesTest):
    """The same with Pods that run in the image of scripts/build_image.sh, as nobody and with a root that they cannot write to."""

    def cluster(self, *options, **settings):
        return super().cluster(*options, **{"images": {IMAGE: {"/": os.environ["SCAVENGER_IMAGE_ROOT"]}}} | settings)

    def options(self, cluster, **changed):
        data = {"name": "data", "hostPath": {"path": str(job.FASHION)}}
        template = {"spec": {"volumes": [data], "containers": [{"name": "worker", "volumeMounts": [{"name": "data", "mountPath": str(job.FASHION)}]}]}}
        return super().options(cluster, **{"pod_template": template} | changed)


@unittest.skipIf(kubectl() is None, "there is no kubectl (scripts/setup.sh --test)")
class WithKubectl(job.JobTest):
    """Real kubectl is content with the fake, so what the provider is tested against is no invention of ours."""

    program = kubectl()

    def setUp(self):
        super().setUp()
        self.cluster = Cluster(self, {"nodes": NODES}, "--tls", self.folder / "tls")

    def command_of(self, *words):
        return [self.program, "--kubeconfig", self.cluster.kubeconfig, "--cache-dir", self.folder / "cache", *words]

    def kubectl(self, *words, text=None):
        done = subprocess.run(self.command_of(*words), input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_create_get_watch_drain_and_delete(self):
        for self.program in kubectls():
            with self.subTest(self.kubectl("version", "--client")):
                self.create_get_watch_drain_and_delete()
                self.kubectl("uncordon", "node-a")

    def create_get_watch_drain_and_delete(self):
        pod = POD | {"metadata": {"name": "one", "labels": {"app": "x"}}}
        watch = subprocess.Popen(self.command_of("get", "pods", "--watch", "--output-watch-events"), stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.kubectl("create", "--validate=false", "-f", "-", text=json.dumps(pod))
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/one", "--timeout=60s")
        self.assertRegex(self.kubectl("get", "pods", "-l", "app=x"), r"one +Running +node-a")
        seen = []
        while not any("Running" in line for line in seen):
            seen.append(watch.stdout.readline())
        self.assertTrue(any("ADDED" in line for line in seen), seen)
        self.assertRegex(self.kubectl("drain", "node-a", "--force", "--timeout=60s"), "drained|evicted")
        self.assertIn("SchedulingDisabled", self.kubectl("get", "nodes"))
        self.assertIn("No resources found", self.kubectl("get", "pods"))

    def test_what_is_rendered_is_applied(self):
        config = json.loads((job.CONFIGS / "fashion_mlp.json").read_text())
        config.pop("$schema", None)
        config["provider"] = {"type": "kubernetes", "image": IMAGE, "machines": [KIND], "namespace": "default"}
        (self.folder / "config.json").write_text(json.dumps(config))
        rendered = subprocess.run([job.programs / "scavenger-ctl", "k8s", "render", self.folder / "config.json", "--name", "mlp"], check=True, capture_output=True, text=True).stdout
        said = self.kubectl("create", "--validate=false", "-f", "-", text=rendered)
        for what in ("serviceaccount/mlp", "role.rbac.authorization.k8s.io/mlp", "rolebinding.rbac.authorization.k8s.io/mlp", "configmap/mlp",
                     "persistentvolumeclaim/mlp", "job.batch/mlp"):
            self.assertIn(what + " created", said)


@unittest.skipUnless(importlib.util.find_spec("kubernetes"), "the Python package kubernetes is not installed (130 MB: pip install kubernetes)")
class WithThePythonClient(job.JobTest):
    """Nor is it one of kubectl's: the client that others write controllers with lists, watches and deletes."""

    def test_a_pod_from_its_creation_to_its_end(self):
        from kubernetes import client, config, watch
        cluster = Cluster(self, {"nodes": NODES}, "--tls", self.folder / "tls")
        config.load_kube_config(str(cluster.kubeconfig))
        core = client.CoreV1Api()
        made = core.create_namespaced_pod("default", POD | {"metadata": {"name": "one", "labels": {"app": "x"}}})
        self.assertEqual(made.status.phase, "Pending")
        seen = []
        for event in watch.Watch().stream(core.list_namespaced_pod, "default", label_selector="app=x", timeout_seconds=60):
            seen.append((event["type"], event["object"].status.phase))
            if seen[-1] == ("MODIFIED", "Running") and event["object"].metadata.deletion_timestamp is None:
                core.delete_namespaced_pod("one", "default")
            if event["type"] == "DELETED":
                break
        self.assertEqual((seen[0][0], seen[-1][0]), ("ADDED", "DELETED"), seen)
        self.assertIn(("MODIFIED", "Running"), seen)
        self.assertEqual(core.list_namespaced_pod("default", label_selector="app=x").items, [])
        self.assertEqual({node.metadata.name for node in core.list_node().items}, set(NODES))
        with self.assertRaises(client.ApiException) as refused:
            core.read_namespaced_pod("one", "default")
        self.assertEqual((refused.exception.status, json.loads(refused.exception.body)["reason"]), (404, "NotFound"))


if __name__ == "__main__":
    job.main()
