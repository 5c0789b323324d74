"""The objects of a cluster, with resource versions, a bounded memory of changes, and waiting for the next one."""

import collections
import copy
import datetime
import threading
import time
import uuid


class Refused(Exception):
    """An answer that is a Status: code, reason, message."""

    def __init__(self, status, reason, message, retry_after=None):
        super().__init__(message)
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after

    def document(self):
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after is not None else {}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": self.reason, "code": self.status,
                "message": self.message, "details": details}


def timestamp(seconds=None):
    moment = datetime.datetime.fromtimestamp(time.time() if seconds is None else seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def matches(selector, labels):
    """Whether labels match a label selector: k=v, k==v, k!=v, k, !k, k in (a,b), k notin (a,b)."""
    depth, terms, term = 0, [], ""
    for c in selector:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            terms.append(term)
            term = ""
        else:
            term += c
    for term in filter(None, (word.strip() for word in [*terms, term])):
        if " in (" in term or " notin (" in term:
            key, word, values = term.partition(" notin (" if " notin (" in term else " in (")
            among = labels.get(key.strip()) in [value.strip() for value in values.rstrip(")").split(",")]
            good = among != ("notin" in word)
        elif "!=" in term:
            key, _, value = term.partition("!=")
            good = labels.get(key) != value
        elif "=" in term:
            key, _, value = term.replace("==", "=").partition("=")
            good = labels.get(key) == value
        else:
            good = term[1:] not in labels if term.startswith("!") else term in labels
        if not good:
            return False
    return True


def field_of(item, path):
    for word in path.split("."):
        item = item.get(word, "") if isinstance(item, dict) else ""
    return item


def matches_fields(selector, item):
    for term in filter(None, selector.split(",")):
        key, equals, value = term.partition("!=" if "!=" in term else "=")
        if (field_of(item, key) == value.lstrip("=")) == (equals == "!="):
            return False
    return True


Change = collections.namedtuple("Change", "version kind type item before")


class Store:
    """All is done while `lock` is held. `keep`: how many changes a watch may be behind."""

    def __init__(self, keep=2000):
        self.lock = threading.Condition(threading.RLock())
        self.objects = {}  # (resource, namespace, name)
        self.version = 1000
        self.changes = collections.deque(maxlen=keep)
        self.forgotten = self.version  # changes up to this version are not known any more
        self.listeners = []  # called with each Change

    def _record(self, resource, kind, item, before=None):
        if len(self.changes) == self.changes.maxlen:
            self.forgotten = self.changes[0].version
        change = Change(self.version, resource, kind, copy.deepcopy(item), before)
        self.changes.append(change)
        for listener in self.listeners:
            listener(change)
        self.lock.notify_all()

    def forget_changes(self):
        self.changes.clear()
        self.forgotten = self.version

    def create(self, resource, namespace, item):
        name = item["metadata"]["name"]
        if (resource, namespace, name) in self.objects:
            raise Refused(409, "AlreadyExists", f'{resource} "{name}" already exists')
        self.version += 1
        item["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(), "resourceVersion": str(self.version)}
        if namespace:
            item["metadata"]["namespace"] = namespace
        self.objects[resource, namespace, name] = item
        self._record(resource, "ADDED", item)
        return item

    def get(self, resource, namespace, name):
        found = self.objects.get((resource, namespace, name))
        if found is None:
            raise Refused(404, "NotFound", f'{resource} "{name}" not found')
        return found

    def touch(self, resource, item):
        """An object was changed in place."""
        before = next((change.item for change in reversed(self.changes) if change.item["metadata"]["uid"] == item["metadata"]["uid"]), None)
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        self._record(resource, "MODIFIED", item, before)

    def remove(self, resource, item):
        meta = item["metadata"]
        if self.objects.pop((resource, meta.get("namespace", ""), meta["name"]), None) is None:
            return
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        self._record(resource, "DELETED", item)

    def find(self, resource, namespace="", labels="", fields=""):
        return [item for (of, where, _), item in sorted(self.objects.items()) if of == resource and (not namespace or where == namespace)
                and matches(labels, item["metadata"].get("labels", {})) and matches_fields(fields, item)]

    def collect_garbage(self):
        """Objects whose owners are all gone."""
        uids = {item["metadata"]["uid"] for item in self.objects.values()}
        return [(key[0], item) for key, item in self.objects.items() if item["metadata"].get("ownerReferences")
                and not any(owner["uid"] in uids for owner in item["metadata"]["ownerReferences"])]
