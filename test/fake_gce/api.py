"""The fake cloud over HTTP: paths, parameters, JSON, tokens, and the faults of the way there and back."""

import dataclasses
import http.server
import json
import os
import re
import signal
import urllib.parse

from access import Denied
from cloud import PREFIX, Refused

ZONE_PATH = re.compile(r"/compute/v1/projects/([^/]+)/zones/([^/]+)/(instances|operations|machineTypes)(?:/([^/]+))?(?:/(wait|getGuestAttributes|setMetadata|serialPort))?$")
REGION_PATH = re.compile(r"/compute/v1/projects/([^/]+)/regions/([^/]+)$")
SKU_PATH = "/v1/services/6F81-5844-456A/skus"  # of the Cloud Billing API: Compute Engine's prices
LABEL_FILTER = re.compile(r"labels\.([\w-]+)(?: = ([\w-]+)|:\*)$")
LONGEST_WAIT_SECONDS = 120.0
LATE_SECONDS = 20.0
LISTS = {"instances": ("InstanceList", "compute#instanceList"), "operations": ("OperationList", "compute#operationList"),
         "machineTypes": ("MachineTypeList", "compute#machineTypeList")}
LIST_PERMISSIONS = {"instances": "compute.instances.list", "operations": "compute.zoneOperations.list", "machineTypes": "compute.machineTypes.list"}


class NoReply(Exception):
    """The connection ends here."""


class Watched:
    """The requests since somebody began to look: [kind, how many changes were asked for before it]."""

    def __init__(self):
        self.requests, self._changes = [], 0

    def note(self, method, path):
        match = ZONE_PATH.match(path)
        kind, name, verb = match.groups()[2:] if match else (path.split("/")[-2], None, None)
        what = [kind, name if name == "bulkInsert" else "NAME" if name else None, verb]
        self.requests.append([f"{method} " + "/".join(word for word in what if word), self._changes])
        self._changes += verb == "setMetadata" or kind == "instances" and verb is None and method != "GET"


@dataclasses.dataclass
class Kill:
    """A process ends at a request: the n-th, or the first of a kind after so many changes. Before it is carried out, or after it."""

    process: int
    after: bool
    number: int
    kind: str
    changes: int

    def is_due(self, watched):
        return len(watched.requests) == self.number if self.number else watched.requests[-1] == [self.kind, self.changes]


class Api:
    """Answers requests. `messages`: of compute.proto, or None."""

    def __init__(self, cloud, accounts, messages, token_url, page_size, skus):
        self.cloud, self.accounts, self.messages = cloud, accounts, messages
        self.token_url, self.page_size, self.skus = token_url, page_size, skus
        self.violations = []
        self.requests = 0
        self.watched = Watched()
        self._kill = None

    def answer(self, method, target, headers, body):
        """(status, document). Raises NoReply."""
        path, _, query = target.partition("?")
        with self.cloud.timeline.lock:
            if path.startswith("/fake/"):
                return self._about_the_fake(path, dict(urllib.parse.parse_qsl(query)))
            self.requests += 1
            self.watched.note(method, path)
            is_last = self._kill is not None and self._kill.is_due(self.watched)
            if is_last and not self._kill.after:
                self._kill_client()
            try:
                if path == "/token":
                    return 200, self.accounts.exchange(body, self.token_url)
                document = self._compute(method, path, dict(urllib.parse.parse_qsl(query)), headers, body)
                if is_last and self._kill:  # a request that waited may find it done
                    self._kill_client()
                return 200, document
            except Denied as error:
                return 400, {"error": "invalid_grant", "error_description": str(error)}
            except Refused as error:
                reasons = [{"message": error.message, "domain": "global", "reason": error.reason}]
                return error.status, {"error": {"code": error.status, "message": error.message, "errors": reasons}}

    def _kill_client(self):
        process, self._kill = self._kill.process, None
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has ended before
        raise NoReply

    def _compute(self, method, path, parameters, headers, body):
        faults = self.cloud.faults
        if faults.strikes("token_expiry"):
            self.accounts.expire(headers.get("Authorization"))
        account = self.accounts.who(headers.get("Authorization"))
        if account is None:
            raise Refused(401, "Request had invalid authentication credentials.", "authError")
        if faults.strikes("rate_limit"):
            raise Refused(429, "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'", "rateLimitExceeded")
        if faults.strikes("error_before"):
            raise Refused(503, "The service is currently unavailable.", "backendError")
        if path == SKU_PATH:
            start = int(parameters.get("pageToken") or 0)
            end = start + min(self.page_size, int(parameters.get("pageSize", 5000)))
            more = str(end) if end < len(self.skus) else ""
            return {"skus": self.skus[start:end], "nextPageToken": more}
        region = REGION_PATH.match(path)
        match = region or ZONE_PATH.match(path)
        if not match:
            raise Refused(404, "Not found: " + path, "notFound")
        if match.group(1) != self.cloud.project:
            raise Refused(404, f"The resource 'projects/{match.group(1)}' was not found", "notFound")
        if region:
            self._permit(account, "compute.regions.get")
            return self._checked("Region", self.cloud.region(region.group(2)))
        _, zone, kind, name, verb = match.groups()
        if kind == "machineTypes" and name:
            self._permit(account, "compute.machineTypes.get")
            return self._checked("MachineType", self.cloud.machine_type(zone, name))
        if kind == "operations" and name:
            self._permit(account, "compute.zoneOperations.get")
            return self._wait(zone, name) if verb else self._checked("Operation", self.cloud.operation(zone, name))
        if verb == "getGuestAttributes":
            self._permit(account, "compute.instances.getGuestAttributes")
            return self._checked("GuestAttributes", self.cloud.guest_attribute(zone, name, parameters.get("variableKey", "")))
        if verb == "serialPort":
            self._permit(account, "compute.instances.getSerialPortOutput")
            return self._checked("SerialPortOutput", self.cloud.serial_output(zone, name, int(parameters.get("start", 0))))
        if method == "GET" and name:
            self._permit(account, "compute.instances.get")
            return self._checked("Instance", self.cloud.find(zone, name).resource)
        if method == "GET":
            self._permit(account, LIST_PERMISSIONS[kind])
            return self._page(zone, kind, parameters)
        return self._change(verb or method, zone, name, parameters, account, body)

    def _change(self, what, zone, name, parameters, account, body):
        request_id = parameters.get("requestId", "")
        if what == "setMetadata":
            self._permit(account, "compute.instances.setMetadata")
            metadata = json.loads(body)
            self._checked("Metadata", metadata)
            carry_out = lambda: self.cloud.set_metadata(zone, name, metadata, request_id, account)
        elif name == "bulkInsert":
            self._permit(account, "compute.instances.create")
            wanted = json.loads(body)
            self._checked("BulkInsertInstanceResource", wanted)
            carry_out = lambda: self.cloud.bulk_insert(zone, wanted, request_id, account)
        elif what == "POST":
            self._permit(account, "compute.instances.create")
            wanted = json.loads(body)
            self._checked("Instance", wanted)
            carry_out = lambda: self.cloud.insert(zone, wanted, request_id, account)
        else:
            self._permit(account, "compute.instances.delete")
            carry_out = lambda: self.cloud.delete(zone, name, request_id, account)

        def again():
            try:
                carry_out()
            except Refused:
                pass  # nobody hears of it

        faults = self.cloud.faults
        if faults.strikes("late"):
            self.cloud.timeline.plan(LATE_SECONDS, again)
            raise NoReply
        operation = carry_out()
        if faults.strikes("duplicate"):
            self.cloud.timeline.plan(LATE_SECONDS, again)
        if faults.strikes("reply_lost"):
            raise NoReply
        if faults.strikes("error_after"):
            raise Refused(503, "The service is currently unavailable.", "backendError")
        return self._checked("Operation", operation)

    def _wait(self, zone, name):
        faults = self.cloud.faults
        if faults.strikes("lost_operation"):
            raise Refused(404, f"The resource 'operations/{name}' was not found", "notFound")
        operation = self.cloud.operation(zone, name)
        end = self.cloud.timeline.now() + (0.0 if faults.strikes("slow_wait") else LONGEST_WAIT_SECONDS)
        while operation["status"] != "DONE" and self.cloud.timeline.now() < end:
            self.cloud.timeline.wait(end - self.cloud.timeline.now())
        return self._checked("Operation", operation)

    def _page(self, zone, kind, parameters):
        cloud = self.cloud
        if zone not in cloud.zones:
            raise Refused(404, f"The resource 'projects/{cloud.project}/zones/{zone}' was not found", "notFound")
        links = f"{PREFIX}projects/{cloud.project}/zones/{zone}"
        if kind == "instances":
            items = [vm.resource for (place, _), vm in sorted(cloud.vms.items()) if place == zone]
        elif kind == "machineTypes":
            items = cloud.all_machine_types(zone)
        else:
            items = [operation for (place, _), operation in cloud.operations.items() if place == zone]
        items = [item for item in items if self._passes(item, parameters.get("filter", ""))]
        start = int(parameters.get("pageToken") or 0)
        end = start + min(self.page_size, int(parameters.get("maxResults", 500)))
        message, list_kind = LISTS[kind]
        page = {"kind": list_kind, "id": f"projects/{cloud.project}/zones/{zone}/{kind}", "selfLink": f"{links}/{kind}", "items": items[start:end]}
        if end < len(items):
            page["nextPageToken"] = str(end)
        return self._checked(message, page)

    @staticmethod
    def _passes(item, text):
        if not text:
            return True
        label = LABEL_FILTER.match(text)
        if label:
            value = item.get("labels", {}).get(label.group(1))
            return value is not None and label.group(2) in (None, value)
        field, _, value = text.partition(" = ")
        if field not in ("operationType", "name"):
            raise Refused(400, f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.", "invalid")
        return item.get(field) == value

    def _permit(self, account, permission):
        if permission not in self.accounts.permissions[account]:
            raise Refused(403, f"Required '{permission}' permission for 'projects/{self.cloud.project}'", "forbidden")

    def _checked(self, message, document):
        if self.messages:
            self.violations += self.messages.faults(message, document)
        return json.loads(json.dumps(document))  # as it is now, while the lock is held

    def _about_the_fake(self, path, parameters):
        cloud = self.cloud
        if path == "/fake/preempt":
            cloud.preempt(parameters["zone"], parameters["name"])
            return 200, {}
        if path == "/fake/maintain":
            cloud.maintain(parameters["zone"], parameters["name"])
            return 200, {}
        if path == "/fake/watch":
            watched, self.watched = self.watched, Watched()
            return 200, {"requests": watched.requests}
        if path == "/fake/kill":
            self.watched = Watched()
            self._kill = Kill(int(parameters["pid"]), parameters["when"] == "after", int(parameters.get("request", 0)), parameters.get("kind", ""), int(parameters.get("changes", 0)))
            return 200, {}
        ledger = [{"name": vm.name, "zone": vm.resource["zone"].rsplit("/", 1)[-1], "machine_type": vm.machine_type, "spot": vm.is_spot,
                   "labels": vm.resource.get("labels", {}), "request_id": vm.request_id, "created": vm.created, "running": vm.running,
                   "gone": vm.gone, "preempted": vm.is_preempted, "metadata": vm.metadata} for vm in cloud.ledger]
        return 200, {"now": cloud.timeline.now(), "vms": ledger, "asked": cloud.asked, "violations": self.violations, "faults": cloud.faults.happened,
                     "requests": self.requests, "tokens": self.accounts.handed_out}


def make_handler(api):
    """One thread for each connection."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            try:
                status, document = api.answer(self.command, self.path, self.headers, body)
            except NoReply:
                self.close_connection = True
                return
            text = json.dumps(document).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=UTF-8")
                self.send_header("Content-Length", str(len(text)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(text)
            except ConnectionError:
                pass  # it did not wait for us
            self.close_connection = True

        do_GET = do_POST = do_DELETE = _serve

        def log_message(self, *_):
            pass

    return Handler
