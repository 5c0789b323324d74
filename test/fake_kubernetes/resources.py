"""What kinds of objects there are, how they are found by path, and how kubectl shows them."""

import dataclasses
import re

CORE = [("pods", "Pod", True, "po"), ("secrets", "Secret", True, ""), ("configmaps", "ConfigMap", True, "cm"), ("events", "Event", True, "ev"),
        ("serviceaccounts", "ServiceAccount", True, "sa"), ("persistentvolumeclaims", "PersistentVolumeClaim", True, "pvc"),
        ("services", "Service", True, "svc"), ("resourcequotas", "ResourceQuota", True, "quota"), ("nodes", "Node", False, "no"),
        ("namespaces", "Namespace", False, "ns")]
GROUPS = {"batch/v1": [("jobs", "Job", True, "")], "rbac.authorization.k8s.io/v1": [("roles", "Role", True, ""), ("rolebindings", "RoleBinding", True, ""), ("clusterroles", "ClusterRole", False, ""),
                                       ("clusterrolebindings", "ClusterRoleBinding", False, "")],
          "authorization.k8s.io/v1": [("selfsubjectaccessreviews", "SelfSubjectAccessReview", False, "")], "policy/v1": []}
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]

PATH = re.compile(r"/(?:api/(v1)|apis/([^/]+/v1))(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(?:/([a-z]+))?$")


@dataclasses.dataclass(frozen=True)
class Kind:
    group_version: str
    resource: str
    kind: str
    is_namespaced: bool
    short: str

    @property
    def group(self):
        return self.group_version.partition("/")[0] if "/" in self.group_version else ""


KINDS = {resource: Kind(version, resource, kind, namespaced, short) for version, found in [("v1", CORE), *GROUPS.items()]
         for resource, kind, namespaced, short in found}


@dataclasses.dataclass(frozen=True)
class Target:
    """What a path names: a collection, an object, or a part of one such as its log."""

    kind: Kind
    namespace: str
    name: str
    part: str


def target_of(path):
    """None: no such path."""
    if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
        return Target(KINDS["namespaces"], "", path.rsplit("/", 1)[1], "")
    match = PATH.match(path)
    if not match or match[4] not in KINDS:
        return None
    kind = KINDS[match[4]]
    version = match[1] or match[2]
    return Target(kind, match[3] or "", match[5] or "", match[6] or "") if version == kind.group_version else None


def discovery(path):
    """The answer to a client that asks what there is; None: this path asks for something else."""
    if path == "/version":
        return {"major": "1", "minor": "32", "gitVersion": "v1.32.0", "platform": "linux/amd64"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group_of(version) for version in GROUPS]}
    if path == "/api/v1":
        return resource_list("v1")
    version = path.removeprefix("/apis/")
    return resource_list(version) if path != version and version in GROUPS else None


def group_of(version):
    entry = {"groupVersion": version, "version": version.rpartition("/")[2]}
    return {"name": version.partition("/")[0], "versions": [entry], "preferredVersion": entry}


def resource_list(version):
    resources = [{"name": kind.resource, "singularName": kind.kind.lower(), "namespaced": kind.is_namespaced, "kind": kind.kind, "verbs": VERBS,
                  **({"shortNames": [kind.short]} if kind.short else {})} for kind in KINDS.values() if kind.group_version == version]
    if version == "v1":
        resources.append({"name": "pods/eviction", "singularName": "", "namespaced": True, "group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]})
        resources.append({"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}


def table_of(kind, objects, version):
    """As kubectl get asks for it: the server decides the columns."""
    columns = {"pods": ["Name", "Status", "Node"], "nodes": ["Name", "Status", "Taints"], "jobs": ["Name", "Status", "Failed"]}.get(kind.resource, ["Name"])
    definitions = [{"name": name, "type": "string", "format": "name" if name == "Name" else "", "description": name, "priority": 0} for name in columns]
    rows = [{"cells": [cell(kind, item, name) for name in columns],
             "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}} for item in objects]
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": str(version)}, "columnDefinitions": definitions, "rows": rows}


def cell(kind, item, name):
    if name == "Name":
        return item["metadata"]["name"]
    if name == "Node":
        return item["spec"].get("nodeName", "<none>")
    if name == "Taints":
        return ",".join(taint["key"] for taint in item["spec"].get("taints", [])) or "<none>"
    if kind.resource == "nodes":
        return "Ready,SchedulingDisabled" if item["spec"].get("unschedulable") else "Ready"
    if "deletionTimestamp" in item["metadata"]:
        return "Terminating"
    status = item.get("status", {})
    if kind.resource == "jobs":
        return str(status["failed"]) if name == "Failed" else status.get("conditions", [{"type": "Running"}])[0]["type"]
    for container in status.get("containerStatuses", []):
        for state in container.get("state", {}).values():
            if state.get("reason"):
                return state["reason"]
    return status.get("reason") or status.get("phase", "Unknown")
