"""What kubectl apply asks for, and no more: whether the server itself checks the fields of objects. It does, with --validate."""

import resources


def answer(path):
    """None: this path asks for something else."""
    if path == "/openapi/v2":
        return version_2()
    return version_3(path.removeprefix("/openapi/v3").strip("/")) if path.startswith("/openapi/v3") else None


def version_3(place):
    versions = {"api/v1" if version == "v1" else f"apis/{version}": version for version in ["v1", *resources.GROUPS]}
    if not place:
        return {"paths": {prefix: {"serverRelativeURL": f"/openapi/v3/{prefix}"} for prefix in versions}}
    if place not in versions:
        return None
    parameters = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    paths = {}
    for kind in (kind for kind in resources.KINDS.values() if kind.group_version == versions[place]):
        form = {"group": kind.group, "version": kind.group_version.rpartition("/")[2], "kind": kind.kind}
        paths[f"/{place}/{'namespaces/{namespace}/' if kind.is_namespaced else ''}{kind.resource}/{{name}}"] = {
            "patch": {"parameters": parameters, "responses": {}, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": form}}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.32.0"}, "paths": paths}


def version_2():
    """As Protocol Buffers (gnostic's openapi.v2), which clients want; a List is looked up as Namespace."""
    def field(number, value):
        data = value.encode() if isinstance(value, str) else value
        size, length = len(data), b""
        while size >= 0x80:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + data

    form = field(1, "x-kubernetes-group-version-kind") + field(2, field(2, "group: \"\"\nkind: Namespace\nversion: v1\n"))
    parameter = field(1, field(2, field(3, field(2, "query") + field(4, "fieldValidation"))))  # any, not of a body, of the query
    patch = field(8, parameter) + field(13, form)
    paths = field(2, field(1, "/api/v1/namespaces/{name}") + field(2, field(8, patch)))
    return field(1, "2.0") + field(2, field(1, "Kubernetes") + field(2, "v1.32.0")) + field(8, paths)
