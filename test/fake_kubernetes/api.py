"""The API server: paths, verbs, tokens, RBAC, quota, and the faults of the way there and back."""

import base64
import copy
import json
import os
import random
import signal
import time
import urllib.parse

import nodes as kubelets
import openapi
import resources
from store import Refused

BOOKMARK_SECONDS = 0.5
LONGEST_WATCH_SECONDS = 600.0


class NoReply(Exception):
    """The connection ends here."""


class Faults:
    def __init__(self, rates, seed):
        self.rates, self.random, self.happened = rates, random.Random(seed), {}

    def strikes(self, name):
        rate = self.rates.get(name, 0.0)
        if rate <= 0.0 or self.random.random() >= rate:
            return False
        self.happened[name] = self.happened.get(name, 0) + 1
        return True


class Killing:
    """The process `pid` ends at a request of this kind, after so many changes, before or after it is carried out."""

    def __init__(self, pid=0, kind="", changes=0, when="before"):
        self.pid, self.kind, self.changes, self.when = int(pid), kind, int(changes), when

    def is_due(self, request, when):
        return self.pid and self.when == when and [self.kind, self.changes] == request

    def strike(self):
        pid, self.pid = self.pid, 0
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        raise NoReply


class Api:
    """`validate`: called with each body that creates something; says what is wrong with it, or None."""

    def __init__(self, store, nodes, jobs, accounts, settings, validate):
        self.store, self.nodes, self.jobs, self.accounts = store, nodes, jobs, accounts
        self.settings, self.validate = settings, validate
        self.faults = Faults(settings.get("faults", {}), settings.get("seed", 1))
        self.violations, self.seen, self.changes, self.requests = [], [], 0, 0
        self.killing = Killing()
        self.creations = {}  # by name of a Pod

    # ---- One request. ----

    def answer(self, method, url, headers, body, has_certificate=True):
        """(status, document, further headers), or (200, iterator of bytes, None) for a watch, or a log that is followed."""
        path, _, query = url.partition("?")
        parameters = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with self.store.lock:
            if path.startswith("/fake/"):
                return 200, self._about_the_fake(path, parameters), {}
            self.requests += 1
            target = resources.target_of(path)
            request = [self._kind_of(method, target, parameters, path), self.changes]
            self.seen.append(request)
            is_change = method in ("POST", "DELETE") and target is not None and target.kind.resource in ("pods", "secrets")
            self.changes += is_change
            if self.killing.is_due(request, "before"):
                self.killing.strike()
            try:
                self._trouble_before()
                account = self._account(headers, has_certificate)
                found = resources.discovery(path) or openapi.answer(path)
                if found is None:
                    found = self._carry_out(account, method, target, parameters, headers, body, path)
                if self.killing.is_due(request, "after"):
                    self.killing.strike()
                if is_change:
                    self._trouble_after()
            except Refused as error:
                return error.status, error.document(), {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            if not isinstance(found, (dict, str, bytes)):
                return 200, found, None
            return 201 if method == "POST" else 200, copy.deepcopy(found), {}

    @staticmethod
    def _kind_of(method, target, parameters, path):
        if target is None:
            return f"{method} {path}"
        name = "/NAME" if target.name else ""
        return f"{method} {target.kind.resource}{name}" + (" watch" if parameters.get("watch") else "")

    def _trouble_before(self):
        if self.faults.strikes("slow"):
            self.store.lock.wait(self.settings.get("slow_seconds", 0.2))
        if self.faults.strikes("cut"):
            raise NoReply
        if self.faults.strikes("rate_limit"):
            raise Refused(429, "TooManyRequests", "too many requests, please try again later", self.settings.get("retry_after", 1))
        if self.faults.strikes("error_before"):
            raise Refused(500, "InternalError", "etcdserver: leader changed")

    def _trouble_after(self):
        if self.faults.strikes("reply_lost"):
            raise NoReply
        if self.faults.strikes("error_after"):
            raise Refused(504, "Timeout", "Timeout: request did not complete within requested timeout")

    def _account(self, headers, has_certificate):
        account = self.accounts.of((headers.get("Authorization") or "").removeprefix("Bearer "), has_certificate)
        if self.faults.strikes("token_expiry") or account is None:
            raise Refused(401, "Unauthorized", "Unauthorized")
        return account

    def _may(self, account, wanted):
        resource = wanted["resource"] + (f"/{wanted['subresource']}" if wanted.get("subresource") else "")
        return self.accounts.allows(account, wanted["verb"], resource, wanted.get("namespace", ""))

    def _permit(self, account, verb, target, part=""):
        resource = target.kind.resource + (f"/{part}" if part else "")
        if not self.accounts.allows(account, verb, resource, target.namespace):
            group, where = target.kind.group, f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
            raise Refused(403, "Forbidden", f'{resource} is forbidden: User "{account.get("name", "user")}" cannot {verb} resource "{resource}" in API group "{group}"{where}')

    def _carry_out(self, account, method, target, parameters, headers, body, path):
        if target is None:
            raise Refused(404, "NotFound", "the server could not find the requested resource: " + path)
        try:
            document = json.loads(body) if body else {}
        except json.JSONDecodeError:
            raise Refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format - accepted media types include: application/json") from None
        resource, namespace = target.kind.resource, target.namespace
        if resource == "selfsubjectaccessreviews":
            wanted = document["spec"]["resourceAttributes"]
            return document | {"status": {"allowed": self._may(account, wanted)}}
        if target.part == "log":
            self._permit(account, "get", target, "log")
            pod = self.store.get(resource, namespace, target.name)
            return self._follow(pod) if parameters.get("follow") == "true" else self.nodes.log_of(pod, int(parameters.get("tailLines", 10**6)))
        if target.part == "eviction":
            self._permit(account, "create", target, "eviction")
            kubelets.evict(self.nodes, self.store.get(resource, namespace, target.name))
            return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
        verb = {"POST": "create", "DELETE": "delete", "PATCH": "patch", "PUT": "update"}.get(method)
        verb = verb or ("get" if target.name else "watch" if parameters.get("watch") in ("1", "true") else "list")
        self._permit(account, verb, target)
        if verb == "watch":
            return self._watch(target, parameters, headers)
        if verb == "list":
            return self._list(target, parameters, headers)
        if verb == "get":
            found = self.store.get(resource, namespace, target.name)
            return resources.table_of(target.kind, [found], self.store.version) if wants_table(headers) else found
        if verb == "create":
            return self._create(target, document)
        found = self.store.get(resource, namespace, target.name)
        if verb == "delete":
            return self._delete(target, found, document, parameters)
        changed = document if verb == "update" else merged(copy.deepcopy(found), document)
        if document.get("metadata", {}).get("resourceVersion", found["metadata"]["resourceVersion"]) != found["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{target.name}": the object has been modified')
        found.update(changed)
        if resource == "nodes":
            self._reflect_cordon(found)
        self.store.touch(resource, found)
        return found

    @staticmethod
    def _reflect_cordon(node):
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        taints = [item for item in node["spec"].get("taints", []) if item["key"] != taint["key"]]
        node["spec"]["taints"] = taints + [taint] if node["spec"].get("unschedulable") else taints

    # ---- What is changed. ----

    def _create(self, target, item):
        resource, namespace = target.kind.resource, target.namespace
        problem = self.validate(item) if self.validate else None
        if problem:
            self.violations.append(problem)
            raise Refused(400, "BadRequest", f"strict decoding error: {problem}")
        meta = item.setdefault("metadata", {})
        if not meta.get("name"):
            raise Refused(422, "Invalid", f"{target.kind.kind} is invalid: metadata.name: Required value: name or generateName is required")
        if resource == "secrets":
            item["data"] = {**item.get("data", {}), **{key: base64.b64encode(text.encode()).decode() for key, text in item.pop("stringData", {}).items()}}
        if resource == "pods":
            if not item.get("spec", {}).get("containers"):
                raise Refused(422, "Invalid", f'Pod "{meta["name"]}" is invalid: spec.containers: Required value')
            if (resource, namespace, meta["name"]) not in self.store.objects:
                self._check_quota(item)
                self.creations[meta["name"]] = self.creations.get(meta["name"], 0) + 1
            item["status"] = {"phase": "Pending"}
        made = self.store.create(resource, namespace, item)
        if resource == "jobs":
            self.jobs.admit(made)
            self.store.touch("jobs", made)
        return made

    def _check_quota(self, pod):
        quota = self.settings.get("quota", {})
        used = {"pods": 0.0, "cpu": 0.0}
        for other in [*self.store.find("pods"), pod]:
            if other.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                used["pods"] += 1
                used["cpu"] += kubelets.needs_of(other).get("cpu", 0.0)
        for name, limit in quota.items():
            if used[name] > limit:
                raise Refused(403, "Forbidden", f'pods "{pod["metadata"]["name"]}" is forbidden: exceeded quota: team, requested: {name}, used: {used[name]}, limited: {limit}')

    def _delete(self, target, item, options, parameters):
        grace = options.get("gracePeriodSeconds", parameters.get("gracePeriodSeconds"))
        if target.kind.resource == "pods":
            self.nodes.delete(item, None if grace is None else float(grace))
            return item
        if target.kind.resource == "persistentvolumeclaims":  # it goes when no Pod uses it any more
            item["metadata"] |= {"deletionTimestamp": kubelets.timestamp(), "finalizers": ["kubernetes.io/pvc-protection"]}
            self.store.touch(target.kind.resource, item)
            return item
        self.store.remove(target.kind.resource, item)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    # ---- What is read. ----

    def _list(self, target, parameters, headers):
        found = self.store.find(target.kind.resource, target.namespace, parameters.get("labelSelector", ""), parameters.get("fieldSelector", ""))
        start = int(parameters.get("continue") or 0)
        if start and self.faults.strikes("list_expired"):
            raise Refused(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")
        end = start + min(int(parameters.get("limit") or 10**6), self.settings.get("page_size", 10**6))
        if wants_table(headers):
            return resources.table_of(target.kind, found, self.store.version)
        meta = {"resourceVersion": str(self.store.version), **({"continue": str(end)} if end < len(found) else {})}
        return {"kind": target.kind.kind + "List", "apiVersion": target.kind.group_version, "metadata": meta, "items": found[start:end]}

    def _watch(self, target, parameters, headers):
        """From a version on; or from what there is now, which a bookmark of its own ends if that is asked for (as by kubectl since 1.35)."""
        sends_initial = parameters.get("sendInitialEvents") == "true"
        if sends_initial and parameters.get("resourceVersionMatch") != "NotOlderThan":
            raise Refused(422, "Invalid", "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        position = 0 if sends_initial else int(parameters.get("resourceVersion") or 0)
        initial = [] if position else self.store.find(target.kind.resource, target.namespace, parameters.get("labelSelector", ""), parameters.get("fieldSelector", ""))
        position = position or self.store.version
        if position < self.store.forgotten:
            raise Refused(410, "Expired", f"too old resource version: {position} ({self.store.forgotten})")
        return self._events(target, parameters, headers, copy.deepcopy(initial), position)

    def _follow(self, pod):
        """A log from its beginning to the end of its Pod."""
        path, position = self.nodes.containers.log_path(pod), 0
        while True:
            with self.store.lock:
                is_over = self.store.objects.get(("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])) is not pod or pod["status"].get("phase") in ("Succeeded", "Failed")
            if path and path.exists():
                with open(path, "rb") as log:
                    log.seek(position)
                    piece = log.read()
                position += len(piece)
                if piece:
                    yield piece
            if is_over:
                return
            time.sleep(0.1)

    @staticmethod
    def _bookmark(target, position, ends_initial=False):
        annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends_initial else {}
        mark = {"kind": target.kind.kind, "apiVersion": target.kind.group_version, "metadata": {"resourceVersion": str(position), **annotations}}
        return (json.dumps({"type": "BOOKMARK", "object": mark}) + "\n").encode()

    def _events(self, target, parameters, headers, initial, position):
        """Bytes, until the watch ends; cut off anywhere if a fault strikes."""
        seconds = min(float(parameters.get("timeoutSeconds") or LONGEST_WATCH_SECONDS), LONGEST_WATCH_SECONDS)
        end, wants_bookmarks = time.monotonic() + seconds, parameters.get("allowWatchBookmarks") == "true"
        line = lambda kind, item: (json.dumps({"type": kind, "object": resources.table_of(target.kind, [item], item["metadata"]["resourceVersion"])
                                               if wants_table(headers) else item}) + "\n").encode()
        for item in initial:
            yield line("ADDED", item)
        if parameters.get("sendInitialEvents") == "true" and wants_bookmarks:
            yield self._bookmark(target, position, ends_initial=True)
        bookmark = time.monotonic() + BOOKMARK_SECONDS
        epoch = self.settings.get("epoch", 0)
        while time.monotonic() < end and epoch == self.settings.get("epoch", 0):
            with self.store.lock:
                if position < self.store.forgotten:
                    pieces = [(json.dumps({"type": "ERROR", "object": Refused(410, "Expired", "too old resource version").document()}) + "\n").encode()]
                    end = 0
                else:
                    changes = [change for change in self.store.changes if change.version > position]
                    if not changes:
                        self.store.lock.wait(0.05)
                    position = changes[-1].version if changes else position
                    pieces = [line(kind, item) for kind, item in filter(None, (self._visible(target, parameters, change) for change in changes))]
            for piece in pieces:
                if self.faults.strikes("watch_cut"):
                    yield piece[:self.faults.random.randrange(len(piece))]
                    raise NoReply
                yield piece
            if wants_bookmarks and time.monotonic() >= bookmark:
                bookmark = time.monotonic() + BOOKMARK_SECONDS
                yield self._bookmark(target, position)

    @staticmethod
    def _visible(target, parameters, change):
        from store import matches, matches_fields
        if change.kind != target.kind.resource or (target.namespace and change.item["metadata"].get("namespace") != target.namespace):
            return None
        labels, fields = parameters.get("labelSelector", ""), parameters.get("fieldSelector", "")
        fits = lambda item: matches(labels, item["metadata"].get("labels", {})) and matches_fields(fields, item)
        if change.before and not fits(change.item):
            return ("DELETED", change.item) if fits(change.before) else None
        return (change.type, change.item) if fits(change.item) else None

    # ---- The fake itself. ----

    def _about_the_fake(self, path, parameters):
        what = path.removeprefix("/fake/")
        if what == "drain":
            self.nodes.drain(parameters["node"])
        elif what == "taint":
            self.nodes.taint(parameters["node"], parameters["key"], parameters.get("effect", "NoSchedule"))
        elif what == "preempt":
            self.nodes.preempt(parameters["node"], parameters.get("notice", "true") == "true")
        elif what == "silence":
            self.nodes.silence(parameters["node"], float(parameters["seconds"]))
        elif what == "remove":
            self.nodes.remove(next(pod for pod in self.store.find("pods") if pod["metadata"]["name"] == parameters["pod"]))
        elif what == "end":
            self.nodes.end_container(parameters["pod"], int(parameters["code"]), parameters["reason"])
        elif what == "token":  # the old ones are not known any more
            self.accounts.replace(parameters["new"])
        elif what == "forget":
            self.store.forget_changes()
        elif what == "restart":  # of the server: all watches end, and nobody remembers changes
            self.settings["epoch"] = self.settings.get("epoch", 0) + 1
            self.store.forget_changes()
        elif what == "kill":
            self.seen, self.changes = [], 0
            self.killing = Killing(**parameters)
        elif what == "watch":
            seen, self.seen, self.changes = self.seen, [], 0
            return {"requests": seen}
        return {"pods": list(self.nodes.ledger.values()), "peaks": self.nodes.peaks, "node_ends": self.nodes.node_ends, "creations": self.creations, "violations": self.violations, "faults": self.faults.happened,
                "requests": self.requests, "secrets": [item["metadata"]["name"] for item in self.store.find("secrets")]}


def wants_table(headers):
    return "as=Table" in (headers.get("Accept") or "")


def merged(item, patch):
    """A merge patch (RFC 7386); lists are replaced."""
    for key, value in patch.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict) and isinstance(item.get(key), dict):
            merged(item[key], value)
        else:
            item[key] = value
    return item
