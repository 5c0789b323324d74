"""The state of the fake cloud: zones with so many machines, VMs, operations. Knows nothing of HTTP.

All calls are made with the timeline's lock held. What is refused is a Refused, with Compute Engine's words.
"""

import dataclasses
import random
import uuid

from faults import DELETE_SECONDS, INSERT_SECONDS, SpotLives, quantile

PREFIX = "https://www.googleapis.com/compute/v1/"
STOP_SECONDS = {True: 30.0, False: 120.0}  # between the soft and the hard end: spot, on demand
NOTICE_SECONDS = 30.0
MAINTENANCE_SECONDS = 60.0  # from its notice


class Refused(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(self, status, message, reason):
        super().__init__(message)
        self.status, self.message, self.reason = status, message, reason


@dataclasses.dataclass
class Vm:
    """What is in no reply, beside what is."""

    resource: dict
    request_id: str
    created: float
    running: float = None  # when it was charged from
    gone: float = None
    address: str = ""
    is_preempted: bool = False
    metadata: dict = dataclasses.field(default_factory=dict)
    guest_attributes: dict = dataclasses.field(default_factory=dict)  # "NAMESPACE/KEY": what the VM itself has written

    @property
    def name(self):
        return self.resource["name"]

    @property
    def is_spot(self):
        return self.resource["scheduling"].get("provisioningModel") == "SPOT"

    @property
    def machine_type(self):
        return self.resource["machineType"].rsplit("/", 1)[-1]


class Cloud:
    """One project. `hooks`: starts, warns and ends what runs on a VM (machines.py), or None."""

    def __init__(self, settings, timeline, faults, hooks=None):
        self.timeline, self.faults, self.hooks = timeline, faults, hooks
        self.project = settings.get("project", "demo")
        self.zones = settings["zones"]  # {zone: {machine type or "*": how many}}
        self.quotas = settings.get("quotas", {})  # {region: {metric: limit}}
        self.machine_types = settings["machine_types"]  # {name: [vCPUs, GiB]}
        self._lives = SpotLives(**settings.get("spot_lives", {}))
        self._random = random.Random(f"{settings.get('seed', 1)} cloud")
        self.vms = {}  # (zone, name): those that are there
        self.ledger = []  # all that ever were
        self.operations = {}  # (zone, name)
        self._requests = {}  # request id: its operation
        self._addresses = 0

    # --- Requests --------------------------------------------------------------------------------------------------

    def insert(self, zone, body, request_id, user):
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        self._check_zone(zone)
        machine_type = body.get("machineType", "").rsplit("/", 1)[-1]
        if machine_type not in self.machine_types or not body["machineType"].startswith(f"zones/{zone}/machineTypes/"):
            raise Refused(400, f"Invalid value for field 'resource.machineType': '{body.get('machineType')}'.", "invalid")
        if (zone, body.get("name")) in self.vms:
            raise Refused(409, f"The resource 'projects/{self.project}/zones/{zone}/instances/{body['name']}' already exists", "alreadyExists")
        self._check_quota(zone, machine_type)
        operation = self._begin("insert", zone, body["name"], request_id, user)
        if self.faults.strikes("stock_out") or not self._has_room(zone, machine_type):
            self._fail_soon(operation, "ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{zone}' does not have enough resources available to fulfill the request.")
        elif self.faults.strikes("operation_error"):
            self._fail_soon(operation, "INTERNAL_ERROR", "Internal error. Please try again.")
        else:
            vm = self._create(zone, body, machine_type, request_id)
            seconds = quantile(INSERT_SECONDS, self._random.random())
            self.timeline.plan(seconds * 0.4, lambda: self._set_status(vm, "STAGING"))
            self.timeline.plan(seconds, lambda: self._run(vm, operation))
        return operation

    def delete(self, zone, name, request_id, user):
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        vm = self.find(zone, name)
        operation = self._begin("delete", zone, name, request_id, user)
        if self.faults.strikes("operation_error"):
            self._fail_soon(operation, "INTERNAL_ERROR", "Internal error. Please try again.")
            return operation
        self._end(vm, quantile(DELETE_SECONDS, self._random.random()), operation)
        return operation

    def set_metadata(self, zone, name, metadata, request_id, user):
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        vm = self.find(zone, name)
        if metadata.get("fingerprint") != vm.resource["metadata"]["fingerprint"]:
            raise Refused(412, "Supplied fingerprint does not match current metadata fingerprint.", "conditionNotMet")
        operation = self._begin("setMetadata", zone, name, request_id, user)
        self._put_metadata(vm, metadata.get("items", []))
        self.timeline.plan(1.0, lambda: self._finish(operation))
        return operation

    def guest_attribute(self, zone, name, key):
        vm = self.find(zone, name)
        if vm.metadata.get("enable-guest-attributes") != "TRUE" or key not in vm.guest_attributes:
            raise Refused(404, f"The resource '{key}' of type 'Guest Attribute' was not found.", "notFound")
        return {"kind": "compute#guestAttributes", "variableKey": key, "variableValue": vm.guest_attributes[key]}

    def find(self, zone, name):
        self._check_zone(zone)
        if (zone, name) not in self.vms:
            raise Refused(404, f"The resource 'projects/{self.project}/zones/{zone}/instances/{name}' was not found", "notFound")
        return self.vms[zone, name]

    def operation(self, zone, name):
        if (zone, name) not in self.operations:
            raise Refused(404, f"The resource 'projects/{self.project}/zones/{zone}/operations/{name}' was not found", "notFound")
        return self.operations[zone, name]

    def preempt(self, zone, name):
        """Takes a spot VM away: with a notice, or without."""
        vm = self.vms.get((zone, name))
        if vm is None or vm.is_preempted:
            return
        vm.is_preempted = True
        without_notice = self.faults.strikes("no_notice")
        if self.hooks and not without_notice:
            self.hooks.warn(vm)
        operation = self._begin("compute.instances.preempted", zone, name, "", "system")
        operation["name"] = operation["name"].replace("operation", "systemevent")
        self.operations[zone, operation["name"]] = operation
        self._end(vm, 0.0 if without_notice else NOTICE_SECONDS, operation)

    def maintain(self, zone, name):
        """The host of a VM that cannot move is going to be maintained."""
        vm = self.find(zone, name)
        if vm.resource["scheduling"].get("onHostMaintenance") != "TERMINATE":
            return  # it moves, and goes on
        if self.hooks:
            self.hooks.maintain(vm)
        operation = self._begin("compute.instances.terminateOnHostMaintenance", zone, name, "", "system")
        self.timeline.plan(MAINTENANCE_SECONDS, lambda: self._end(vm, STOP_SECONDS[vm.is_spot], operation))

    # --- Lives -----------------------------------------------------------------------------------------------------

    def _create(self, zone, body, machine_type, request_id):
        self._addresses += 1
        address = f"127.{1 + self._addresses // 65536}.{self._addresses // 256 % 256}.{self._addresses % 256}"
        links = f"{PREFIX}projects/{self.project}/zones/{zone}"
        resource = {key: value for key, value in body.items() if key not in ("metadata", "machineType", "disks", "networkInterfaces")}
        resource |= {"kind": "compute#instance", "id": str(self._random.getrandbits(63)), "status": "PROVISIONING", "zone": links,
                     "machineType": f"{links}/machineTypes/{machine_type}", "creationTimestamp": self.timeline.text(),
                     "selfLink": f"{links}/instances/{body['name']}", "networkInterfaces": [interface | {"networkIP": address, "name": "nic0"} for interface in body["networkInterfaces"]]}
        vm = Vm(resource, request_id, self.timeline.now(), address=address)
        self._put_metadata(vm, body.get("metadata", {}).get("items", []))
        self.vms[zone, vm.name] = vm
        self.ledger.append(vm)
        return vm

    def _put_metadata(self, vm, items):
        vm.metadata = {item["key"]: item["value"] for item in items}
        vm.resource["metadata"] = {"kind": "compute#metadata", "fingerprint": f"{self._random.getrandbits(48):x}", "items": items}

    def _run(self, vm, operation):
        if vm.gone is None and vm.resource["status"] != "STOPPING":
            self._set_status(vm, "RUNNING")
            vm.running = self.timeline.now()
            vm.resource["lastStartTimestamp"] = self.timeline.text()
            zone = vm.resource["zone"].rsplit("/", 1)[-1]
            if vm.is_spot:
                self.timeline.plan(self._lives.draw(self._random), lambda: self.preempt(zone, vm.name))
            longest = vm.resource["scheduling"].get("maxRunDuration", {}).get("seconds")
            if longest:
                self.timeline.plan(float(longest), lambda: self._end(vm, STOP_SECONDS[vm.is_spot]))
            if self.hooks:
                self.hooks.start(vm)
        self._finish(operation)

    def _end(self, vm, seconds, operation=None):
        if vm.gone is None:
            self._set_status(vm, "STOPPING")
            if self.hooks:
                self.hooks.stop(vm, min(seconds, STOP_SECONDS[vm.is_spot]))

        def vanish():
            if vm.gone is None:
                vm.gone = self.timeline.now()
                del self.vms[vm.resource["zone"].rsplit("/", 1)[-1], vm.name]
            if operation:
                self._finish(operation)

        self.timeline.plan(seconds, vanish)

    @staticmethod
    def _set_status(vm, status):
        if vm.resource["status"] not in ("STOPPING", "TERMINATED"):
            vm.resource["status"] = status

    # --- Operations ------------------------------------------------------------------------------------------------

    def _begin(self, kind, zone, target, request_id, user):
        name = f"operation-{self._random.getrandbits(48):012x}"
        links = f"{PREFIX}projects/{self.project}/zones/{zone}"
        operation = {"kind": "compute#operation", "id": str(self._random.getrandbits(63)), "name": name, "operationType": kind,
                     "zone": links, "targetLink": f"{links}/instances/{target}", "status": "RUNNING", "progress": 0, "user": user,
                     "insertTime": self.timeline.text(), "startTime": self.timeline.text(), "selfLink": f"{links}/operations/{name}"}
        if request_id:
            operation["clientOperationId"] = request_id
            self._requests[request_id] = operation
        self.operations[zone, name] = operation
        return operation

    def _finish(self, operation):
        operation |= {"status": "DONE", "progress": 100, "endTime": self.timeline.text()}

    def _fail_soon(self, operation, code, message):
        def fail():
            operation["error"] = {"errors": [{"code": code, "message": message}]}
            operation["httpErrorStatusCode"] = 503 if code != "INTERNAL_ERROR" else 500
            operation["httpErrorMessage"] = "SERVICE UNAVAILABLE"
            self._finish(operation)

        self.timeline.plan(2.0, fail)

    # --- Limits ----------------------------------------------------------------------------------------------------

    def _check_zone(self, zone):
        if zone not in self.zones:
            raise Refused(404, f"The resource 'projects/{self.project}/zones/{zone}' was not found", "notFound")

    def _has_room(self, zone, machine_type):
        room = self.zones[zone].get(machine_type, self.zones[zone].get("*", 0))
        return sum(1 for (place, _), vm in self.vms.items() if place == zone and vm.machine_type == machine_type) < room

    def _used(self, region):
        return sum(self.machine_types[vm.machine_type][0] for (zone, _), vm in self.vms.items() if zone.startswith(region))

    def _check_quota(self, zone, machine_type):
        region = zone.rsplit("-", 1)[0]
        limit = self.quotas.get(region, {}).get("CPUS")
        if limit is not None and self._used(region) + self.machine_types[machine_type][0] > limit:
            raise Refused(403, f"Quota 'CPUS' exceeded.  Limit: {float(limit)} in region {region}.", "quotaExceeded")
