"""The controller of Jobs: it makes their Pods, one at a time, again after a failure until backoffLimit, and as podFailurePolicy says."""

import copy
import random
import string
import time

from store import timestamp

LONGEST_PAUSE_SECONDS = 360.0


def outcome_of(job, pod):
    """Of a Pod that has ended: "succeeded", or what its failure means: "Count", "Ignore", "FailJob"."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded":
        return "succeeded"
    for rule in job["spec"].get("podFailurePolicy", {}).get("rules", []):
        wanted = rule.get("onPodConditions", [])
        if any(condition["type"] == one["type"] and condition["status"] == one.get("status", "True") for one in wanted for condition in status.get("conditions", [])):
            return rule["action"]
        codes = rule.get("onExitCodes")
        if codes and any(codes.get("containerName", container["name"]) == container["name"] and fits(container, codes) for container in status.get("containerStatuses", [])):
            return rule["action"]
    return "Count"


def fits(container, codes):
    code = container["state"].get("terminated", {}).get("exitCode")
    return code not in (None, 0) and (code in codes["values"]) == (codes["operator"] == "In")


class JobController:
    """All is done by one thread that calls tick(), while the store's lock is held."""

    def __init__(self, store, settings):
        self.store = store
        self.pause_seconds = settings.get("job_pause_seconds", 10.0)  # after the first failure; each further one doubles it
        self.random = random.Random(settings.get("seed", 1))
        self.ended = {}  # Pods of Jobs that are gone, by uid, as they were last
        self.counted, self.due = set(), {}  # uids of Pods; by uid of a Job: when its next Pod may come
        store.listeners.append(self._note)

    def _note(self, change):
        if change.kind == "pods" and change.type == "DELETED":
            self.ended[change.item["metadata"]["uid"]] = change.item

    def tick(self):
        for job in self.store.find("jobs"):
            if not any(condition["type"] in ("Complete", "Failed") for condition in job.get("status", {}).get("conditions", [])):
                self._reconcile(job)

    def admit(self, job):
        """What the server adds to a Job that is created."""
        labels = {"batch.kubernetes.io/controller-uid": job["metadata"]["uid"], "batch.kubernetes.io/job-name": job["metadata"]["name"]}
        job["spec"] = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **job["spec"], "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": job["metadata"]["uid"]}}}
        template = job["spec"]["template"].setdefault("metadata", {})
        template["labels"] = {**template.get("labels", {}), **labels}
        job["status"] = {"active": 0, "failed": 0, "succeeded": 0, "startTime": timestamp()}

    def _reconcile(self, job):
        uid, before = job["metadata"]["uid"], copy.deepcopy(job["status"])
        own = [pod for pod in [*self.store.find("pods", job["metadata"]["namespace"]), *self.ended.values()]
               if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences", []))]
        is_over = lambda pod: pod["metadata"]["uid"] in self.ended or pod["status"].get("phase") in ("Succeeded", "Failed")
        for pod in own:
            if is_over(pod) and pod["metadata"]["uid"] not in self.counted:
                self.counted.add(pod["metadata"]["uid"])
                self._count(job, outcome_of(job, pod))
        is_done = "conditions" in job["status"]
        active = [pod for pod in own if not is_over(pod)]
        if not is_done and not active and time.monotonic() >= self.due.get(uid, 0.0):
            active = [self._make_pod(job)]
        job["status"]["active"] = len(active)
        if job["status"] != before:
            self.store.touch("jobs", job)

    def _count(self, job, outcome):
        status = job["status"]
        if outcome == "succeeded":
            status["succeeded"] += 1
            status["completionTime"] = timestamp()
            self._end(job, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
        elif outcome == "FailJob":
            status["failed"] += 1
            self._end(job, "Failed", "PodFailurePolicy", "a container failed with an exit code that ends the Job")
        elif outcome == "Count":
            status["failed"] += 1
            self.due[job["metadata"]["uid"]] = time.monotonic() + min(self.pause_seconds * 2 ** (status["failed"] - 1), LONGEST_PAUSE_SECONDS)
            if status["failed"] > job["spec"]["backoffLimit"]:
                self._end(job, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")

    @staticmethod
    def _end(job, kind, reason, message):
        job["status"]["conditions"] = [{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": timestamp()}]

    def _make_pod(self, job):
        meta, template = job["metadata"], copy.deepcopy(job["spec"]["template"])
        suffix = "".join(self.random.choices(string.ascii_lowercase + string.digits, k=5))
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template.get("metadata", {}), "name": f"{meta['name']}-{suffix}", "ownerReferences": [owner]},
               "spec": template["spec"], "status": {"phase": "Pending"}}
        return self.store.create("pods", meta["namespace"], pod)
