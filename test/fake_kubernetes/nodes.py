"""Scheduler, kubelets and the ends of nodes: Pods come to nodes, run as processes of this machine (or as entries only), and go."""

import os
import pathlib
import random
import signal
import time

from store import Refused, timestamp

CORES = {"m": 1e-3, "": 1.0}
BYTES = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "M": 10**6, "G": 10**9}


def quantity(text, units):
    text = str(text)
    unit = text.lstrip("0123456789.")
    return float(text[:len(text) - len(unit)]) * units[unit]


def needs_of(pod):
    """Of all containers: cpu, memory and whatever else is limited."""
    total = {}
    for container in pod["spec"]["containers"]:
        resources = container.get("resources", {})
        for name, value in {**resources.get("limits", {}), **resources.get("requests", {})}.items():
            total[name] = total.get(name, 0.0) + quantity(value, CORES if name == "cpu" else BYTES)
    return total


def tolerates(pod, taint):
    for toleration in pod["spec"].get("tolerations", []):
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        if toleration.get("operator") == "Exists" and toleration.get("key") in (None, "", taint["key"]):
            return True
        if toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", ""):
            return True
    return False


class Run:
    """A Pod on its node."""

    def __init__(self, pod, now):
        self.pod, self.process = pod, None
        self.due = now  # the next step
        self.kill_at = None  # the end of its grace
        self.started = None

    def signal(self, number):
        """SIGTERM is for the first process of the container, as with a real kubelet; SIGKILL for all of them."""
        if self.process and (number == signal.SIGKILL or self.process.poll() is None):
            try:
                (os.killpg if number == signal.SIGKILL else os.kill)(self.process.pid, number)
            except ProcessLookupError:
                pass


class Nodes:
    """All is done by one thread that calls tick(), while the store's lock is held."""

    def __init__(self, store, settings, containers):
        self.store, self.settings, self.containers = store, settings, containers
        self.random = random.Random(settings.get("seed", 1))
        self.start_seconds = settings.get("start_seconds", 0.05)
        self.gone_seconds = settings.get("gone_seconds", 0.05)  # from the end of a process to that of its Pod
        self.runs = {}  # by uid
        self.ledger = {}  # by uid: what became of each Pod
        self.wanted, self.peaks = {}, {}  # by job: Pods that nobody has told to go, and the most of them at once
        self.next_address = 2
        self.ends = []  # (when, node, "notice", "drain" or "kill")
        self.node_ends = {}  # how many there were, by how
        self.silent = set()  # nodes whose kubelets do nothing any more
        self.lives = settings.get("lives")
        store.listeners.append(self._note)
        for name, node in settings["nodes"].items():
            self._add(name, node)

    def _note(self, change):
        if change.kind != "pods":
            return
        meta = change.item["metadata"]
        entry = self.ledger.setdefault(meta["uid"], {"name": meta["name"], "labels": meta.get("labels", {}), "created": time.time(), "running": None,
                                                     "gone": None, "node": None, "why": None})  # why: of a disruption
        entry["node"] = change.item["spec"].get("nodeName")
        for condition in change.item.get("status", {}).get("conditions", []):
            if condition["type"] == "DisruptionTarget":
                entry["why"] = entry["why"] or condition["reason"]
        if change.item.get("status", {}).get("phase") == "Running" and entry["running"] is None:
            entry["running"] = time.time()
        if change.type == "DELETED":
            entry["gone"] = time.time()
        job = meta.get("labels", {}).get("scavenger.dev/job", "")
        wanted = self.wanted.setdefault(job, set())
        is_going = change.type == "DELETED" or "deletionTimestamp" in meta or change.item.get("status", {}).get("phase") in ("Succeeded", "Failed")
        (wanted.discard if is_going else wanted.add)(meta["uid"])
        self.peaks[job] = max(self.peaks.get(job, 0), len(wanted))

    def _add(self, name, node):
        capacity = {"cpu": str(node.get("cpu", 4)), "memory": f"{node.get('memory_gib', 16)}Gi", "pods": "110", **node.get("resources", {})}
        item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **node.get("labels", {})}},
                "spec": {"taints": list(node.get("taints", []))} if node.get("taints") else {},
                "status": {"capacity": capacity, "allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]}}
        self.store.create("nodes", "", item)
        if self.lives and node.get("spot"):
            life, draw = self.random.expovariate(1.0 / self.lives["mean_seconds"]), self.random.random()
            notice, drain = self.lives.get("notice_share", 0.5), self.lives.get("drain_share", 0.0)
            self.ends.append((time.monotonic() + life, name, "notice" if draw < notice else "drain" if draw < notice + drain else "kill"))

    # ---- What goes wrong with nodes, by hand or by the settings. ----

    def drain(self, name):
        """Cordons, and evicts what is there, as kubectl drain does."""
        self.taint(name, "node.kubernetes.io/unschedulable", "NoSchedule")
        self.store.get("nodes", "", name)["spec"]["unschedulable"] = True
        for run in self.on(name):
            self.disrupt(run.pod, "EvictionByEvictionAPI")
            self.delete(run.pod, None)

    def taint(self, name, key, effect):
        node = self.store.get("nodes", "", name)
        taints = node["spec"].setdefault("taints", [])
        if not any(taint["key"] == key for taint in taints):
            taints.append({"key": key, "effect": effect})
            self.store.touch("nodes", node)

    def preempt(self, name, notice=True):
        """The machine is taken away; with notice, its Pods get the grace that they ask for."""
        if notice:
            self.taint(name, "cloud.google.com/impending-node-termination", "NoSchedule")
            for run in self.on(name):
                self.disrupt(run.pod, "TerminationByKubelet")
                self.delete(run.pod, self.settings.get("notice_seconds", 25))
        else:
            for run in self.on(name):
                run.signal(signal.SIGKILL)
                self.disrupt(run.pod, "DeletionByPodGC")
                self.remove(run.pod)
            node = self.store.objects.get(("nodes", "", name))
            if node:
                self.store.remove("nodes", node)
            self.silent.discard(name)

    def silence(self, name, seconds):
        """The machine is gone, and so is its kubelet: nobody ends its Pods, until the cluster has seen that it is gone."""
        self.silent.add(name)
        for run in self.on(name):
            run.signal(signal.SIGKILL)
        node = self.store.get("nodes", "", name)
        node["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
        self.store.touch("nodes", node)
        self.ends.append((time.monotonic() + seconds, name, "kill"))

    def end_container(self, name, code, reason):
        """The container of a Pod has ended by itself."""
        run = next(run for run in self.runs.values() if run.pod["metadata"]["name"] == name)
        run.signal(signal.SIGKILL)
        run.pod["status"] |= {"phase": "Failed" if code else "Succeeded",
                              "containerStatuses": [self._container(run.pod, {"terminated": {"exitCode": code, "reason": reason}})]}
        self.store.touch("pods", run.pod)
        self.runs.pop(run.pod["metadata"]["uid"])

    def on(self, name):
        return [run for run in self.runs.values() if run.pod["spec"].get("nodeName") == name]

    def disrupt(self, pod, reason):
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": f"the fake cluster: {reason}"}
        pod["status"].setdefault("conditions", []).append(condition)
        self.store.touch("pods", pod)

    # ---- The end of Pods. ----

    def delete(self, pod, grace):
        """Begins the end of a Pod, or hastens it."""
        run = self.runs.get(pod["metadata"]["uid"])
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
        if run is None or grace == 0 or pod["status"].get("phase") in ("Succeeded", "Failed"):
            self.remove(pod)
            return
        until = time.monotonic() + grace
        if run.kill_at is not None and run.kill_at <= until:
            return
        is_first, run.kill_at = run.kill_at is None, until
        pod["metadata"] |= {"deletionTimestamp": timestamp(time.time() + grace), "deletionGracePeriodSeconds": int(grace)}
        self.store.touch("pods", pod)
        if is_first:
            run.signal(signal.SIGTERM)
            run.due = min(run.due, time.monotonic())

    def remove(self, pod):
        run = self.runs.pop(pod["metadata"]["uid"], None)
        if run:
            run.signal(signal.SIGKILL)
            if run.process:
                run.process.wait()
        self.containers.forget(pod)
        self.store.remove("pods", pod)

    # ---- Their life. ----

    def tick(self):
        now = time.monotonic()
        self.containers.renew_tokens(now)
        for claim in self.store.find("persistentvolumeclaims"):
            if "deletionTimestamp" in claim["metadata"] and not self._is_in_use(claim) and self.containers.remove_claim(claim):
                self.store.remove("persistentvolumeclaims", claim)
        for resource, item in self.store.collect_garbage():
            if resource == "pods":
                self.delete(item, None)
            else:
                self.store.remove(resource, item)
        for end in [end for end in self.ends if end[0] <= now]:
            self.ends.remove(end)
            self._end_of_life(end[1], end[2])
        for pod in self.store.find("pods"):
            if "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"]:
                self._schedule(pod, now)
        for run in list(self.runs.values()):
            if run.due <= now and run.pod["spec"]["nodeName"] not in self.silent:
                self._step(run, now)

    def _is_in_use(self, claim):
        meta = claim["metadata"]
        return any(volume.get("persistentVolumeClaim", {}).get("claimName") == meta["name"] for pod in self.store.find("pods", meta["namespace"])
                   if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed") for volume in pod["spec"].get("volumes", []))

    def _end_of_life(self, name, how):
        """A machine like it comes later."""
        old = self.store.objects.get(("nodes", "", name))
        if old:
            self.drain(name) if how == "drain" else self.preempt(name, how == "notice")
        self.node_ends[how] = self.node_ends.get(how, 0) + 1
        old = self.store.objects.get(("nodes", "", name))
        if old and self.on(name):
            self.ends.append((time.monotonic() + self.settings.get("notice_seconds", 25), name, "gone"))
        else:
            if old:
                self.store.remove("nodes", old)
            self._add(name, self.settings["nodes"][name])

    def room_on(self, node):
        free = {key: quantity(value, CORES if key == "cpu" else BYTES) for key, value in node["status"]["allocatable"].items()}
        for run in self.on(node["metadata"]["name"]):
            for name, amount in needs_of(run.pod).items():
                free[name] = free.get(name, 0.0) - amount
        return free

    def _schedule(self, pod, now):
        if pod["spec"].get("schedulingGates"):
            self._condition(pod, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
            return
        reasons = {}
        for node in self.store.find("nodes"):
            why = self._obstacle(pod, node)
            if why is None:
                pod["spec"]["nodeName"] = node["metadata"]["name"]
                pod["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
                                 "containerStatuses": [self._container(pod, {"waiting": {"reason": "ContainerCreating"}})]}
                self.runs[pod["metadata"]["uid"]] = run = Run(pod, now)
                run.due = now + self.start_seconds * (0.5 + self.random.random())
                self.store.touch("pods", pod)
                return
            reasons[why] = reasons.get(why, 0) + 1
        text = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
        self._condition(pod, "Unschedulable", f"0/{sum(reasons.values())} nodes are available: {text}.")

    def _condition(self, pod, reason, message):
        conditions = [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]
        if pod["status"].get("conditions") != conditions:
            pod["status"] |= {"phase": "Pending", "conditions": conditions}
            self.store.touch("pods", pod)

    def _obstacle(self, pod, node):
        labels = node["metadata"].get("labels", {})
        if any(labels.get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
            return "node(s) didn't match Pod's node affinity/selector"
        for taint in node["spec"].get("taints", []):
            if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerates(pod, taint):
                return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        free = self.room_on(node)
        for name, amount in needs_of(pod).items():
            if amount > free.get(name, 0.0) + 1e-9:
                return f"Insufficient {name}"
        return None

    def _container(self, pod, state):
        return {"name": pod["spec"]["containers"][0]["name"], "image": pod["spec"]["containers"][0]["image"], "imageID": "", "restartCount": 0,
                "ready": "running" in state, "state": state}

    def _wait(self, run, reason, message=""):
        states = [self._container(run.pod, {"waiting": {"reason": reason, **({"message": message} if message else {})}})]
        if run.pod["status"].get("containerStatuses") != states:
            run.pod["status"]["containerStatuses"] = states
            self.store.touch("pods", run.pod)
        run.due = time.monotonic() + 0.1

    def _step(self, run, now):
        status = run.pod["status"]
        if run.started is None and run.kill_at is None:
            self._start(run, now)
        elif run.started is None or self._has_ended(run, now):
            if status["phase"] == "Running":
                self._finish(run)
            if run.kill_at is not None:
                self.remove(run.pod)
        else:
            if run.kill_at is not None and now >= run.kill_at:
                run.signal(signal.SIGKILL)
            deadline = run.pod["spec"].get("activeDeadlineSeconds")
            if deadline and now - run.started > deadline and run.kill_at is None:
                run.signal(signal.SIGKILL)
                status |= {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active on the node longer than the specified deadline"}
                self.store.touch("pods", run.pod)
                self.runs.pop(run.pod["metadata"]["uid"])
            run.due = now + 0.02

    def _has_ended(self, run, now):
        if run.process:
            if run.process.poll() is not None:
                run.signal(signal.SIGKILL)  # what its first process has left goes with it
            return run.process.poll() is not None
        return run.kill_at is not None  # an entry ends as soon as it is told to

    def _finish(self, run):
        code = run.process.returncode if run.process else 0
        code = 128 - code if code < 0 else code
        reason = {0: "Completed", 137: "OOMKilled" if self.settings.get("oom") else "Error"}.get(code, "Error")
        run.pod["status"] |= {"phase": "Failed" if code else "Succeeded",
                              "containerStatuses": [self._container(run.pod, {"terminated": {"exitCode": code, "reason": reason}})]}
        self.store.touch("pods", run.pod)
        self.runs.pop(run.pod["metadata"]["uid"])

    def log_of(self, pod, lines):
        path = self.containers.log_path(pod)
        text = path.read_text(errors="replace") if path and path.exists() else ""
        return "".join(text.splitlines(keepends=True)[-lines:])

    def _start(self, run, now):
        container = run.pod["spec"]["containers"][0]
        if self.containers.lacks_image(container["image"]):
            self._wait(run, "ImagePullBackOff", f'Back-off pulling image "{container["image"]}"')
            return
        places = self.containers.volumes(run.pod)
        if places is None:
            run.due = now + 0.05  # its Secret is not there yet: the kubelet tries again
            return
        address = f"127.1.{self.next_address // 250}.{self.next_address % 250 + 1}" if self.containers.folder else f"10.1.0.{self.next_address % 250}"
        self.next_address += 1
        run.pod["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}
        run.process, run.started = self.containers.start(run.pod, places), now
        run.pod["status"] |= {"phase": "Running", "startTime": timestamp(), "containerStatuses": [self._container(run.pod, {"running": {"startedAt": timestamp()}})]}
        self.store.touch("pods", run.pod)

    def end(self):
        for run in list(self.runs.values()):
            run.signal(signal.SIGKILL)


def evict(nodes, pod):
    """The eviction of the policy API."""
    if pod["metadata"].get("annotations", {}).get("fake/never-evict"):
        raise Refused(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", 1)
    nodes.disrupt(pod, "EvictionByEvictionAPI")
    nodes.delete(pod, None)


def log_folder(path):
    return pathlib.Path(path) if path else None
