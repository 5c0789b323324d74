"""The state of the fake cloud: zones with so many machines, VMs, operations. Knows nothing of HTTP.

All calls are made with the timeline's lock held. What is refused is a Refused, with Compute Engine's words.
"""

import dataclasses
import random
import re
import uuid

from faults import DELETE_SECONDS, INSERT_SECONDS, SpotLives, quantile

PREFIX = "https://www.googleapis.com/compute/v1/"
STOP_SECONDS = {True: 30.0, False: 120.0}  # between the soft and the hard end: spot, on demand
NOTICE_SECONDS = 30.0
MAINTENANCE_SECONDS = 60.0  # from its notice
ROLL_BACK_SECONDS = 20.0
SHARED_SERIES = ("e2", "n1")  # count against the quota CPUS; others have one of their own


def region_of(zone):
    return zone.rsplit("-", 1)[0]


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
        self._guest_attributes = settings.get("guest_attributes", {})
        self._lives = SpotLives(**settings.get("spot_lives", {}))
        self._random = random.Random(f"{settings.get('seed', 1)} cloud")
        self.vms = {}  # (zone, name): those that are there
        self.ledger = []  # all that ever were
        self.operations = {}  # (zone, name)
        self._requests = {}  # request id: its operation
        self.asked = {}  # request id: how many VMs it asked for
        self._addresses = 0

    # --- Requests --------------------------------------------------------------------------------------------------

    def insert(self, zone, body, request_id, user):
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        self._check_zone(zone)
        machine_type = body.get("machineType", "").rsplit("/", 1)[-1]
        if not self._has_type(zone, machine_type) or not body["machineType"].startswith(f"zones/{zone}/machineTypes/"):
            raise Refused(400, f"Invalid value for field 'resource.machineType': '{body.get('machineType')}'.", "invalid")
        self._check_name(zone, body.get("name"))
        is_spot = body["scheduling"].get("provisioningModel") == "SPOT"
        self._check_quota(zone, machine_type, is_spot)
        self.asked[request_id] = 1
        operation = self._begin("insert", zone, f"zones/{zone}/instances/{body['name']}", request_id, user)
        problem = self._problem_of_one(zone, machine_type)
        if problem:
            self._fail_soon(operation, *problem)
        else:
            vm = self._create(zone, body, machine_type, request_id)
            self._boot(vm, lambda: self._finish(operation))
        return operation

    def bulk_insert(self, zone, body, request_id, user):
        """As many as there is room for; none where that is fewer than minCount."""
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        self._check_zone(zone)
        properties = body["instanceProperties"]
        machine_type = properties.get("machineType", "")
        types = [machine_type] + [disk["initializeParams"].get("diskType", "") for disk in properties["disks"]]
        if any("/" in name for name in types):  # bare names are wanted, and this is how it says so
            raise Refused(503, "Internal error. Please try again or contact Google Support.", "backendError")
        if not self._has_type(zone, machine_type):
            raise Refused(400, f"Invalid value for field 'resource.instanceProperties.machineType': '{machine_type}'.", "invalid")
        names = self._names(zone, body)
        least = int(body.get("minCount", body["count"]))
        is_spot = properties["scheduling"].get("provisioningModel") == "SPOT"
        self._check_quota(zone, machine_type, is_spot, least)
        self.asked[request_id] = len(names)
        operation = self._begin("bulkInsert", zone, f"zones/{zone}/instances", request_id, user)
        operation["operationGroupId"] = str(uuid.UUID(int=self._random.getrandbits(128)))
        made, problem = [], None
        for name in names:
            found = self._problem_of_one(zone, machine_type) or self._quota_problem(zone, machine_type, is_spot)
            problem = found or problem
            if found is None:
                resource = properties | {"name": name, "machineType": f"zones/{zone}/machineTypes/{machine_type}"}
                made.append(self._create(zone, resource, machine_type, request_id))
        status = {"targetVmCount": len(names), "createdVmCount": len(made), "failedToCreateVmCount": len(names) - len(made), "status": "DONE"}
        operation["instancesBulkInsertOperationMetadata"] = {"perLocationStatus": {f"zones/{zone}": status}}
        if len(made) < least:
            self._roll_back(operation, status, made, ("VM_MIN_COUNT_NOT_REACHED", f"Requested minimum count of {least} VMs could not be created.") if made else problem)
        else:
            coming = [vm.name for vm in made]
            for vm in made:
                self._boot(vm, lambda name=vm.name: (coming.remove(name), coming or self._finish(operation)))
        return operation

    def machine_type(self, zone, name):
        self._check_zone(zone)
        if not self._has_type(zone, name):
            raise Refused(404, f"The resource 'projects/{self.project}/zones/{zone}/machineTypes/{name}' was not found", "notFound")
        vcpus, gib = self.machine_types[name]
        return {"kind": "compute#machineType", "name": name, "guestCpus": vcpus, "memoryMb": int(gib * 1024), "isSharedCpu": False, "zone": zone,
                "selfLink": f"{PREFIX}projects/{self.project}/zones/{zone}/machineTypes/{name}"}

    def all_machine_types(self, zone):
        self._check_zone(zone)
        return [self.machine_type(zone, name) for name in self.machine_types if self._has_type(zone, name)]

    def region(self, name):
        zones = [zone for zone in self.zones if region_of(zone) == name]
        if not zones:
            raise Refused(404, f"The resource 'projects/{self.project}/regions/{name}' was not found", "notFound")
        links = f"{PREFIX}projects/{self.project}"
        quotas = [{"metric": metric, "limit": float(limit), "usage": float(self._used(name, metric))} for metric, limit in self.quotas.get(name, {}).items()]
        return {"kind": "compute#region", "name": name, "status": "UP", "zones": [f"{links}/zones/{zone}" for zone in zones], "quotas": quotas,
                "selfLink": f"{links}/regions/{name}"}

    def delete(self, zone, name, request_id, user):
        done_before = self._requests.get(request_id)
        if done_before:
            return done_before
        vm = self.find(zone, name)
        operation = self._begin("delete", zone, f"zones/{zone}/instances/{name}", request_id, user)
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
        operation = self._begin("setMetadata", zone, f"zones/{zone}/instances/{name}", request_id, user)
        self._put_metadata(vm, metadata.get("items", []))
        self.timeline.plan(1.0, lambda: self._finish(operation))
        return operation

    def guest_attribute(self, zone, name, key):
        vm = self.find(zone, name)
        if vm.metadata.get("enable-guest-attributes") != "TRUE" or key not in vm.guest_attributes:
            raise Refused(404, f"The resource '{key}' of type 'Guest Attribute' was not found.", "notFound")
        return {"kind": "compute#guestAttributes", "variableKey": key, "variableValue": vm.guest_attributes[key]}

    def serial_output(self, zone, name, start):
        """What a VM has written to its console, from a byte on, or where that is negative its last bytes."""
        vm = self.find(zone, name)
        output = self.hooks.console(vm) if self.hooks else ""
        begin = max(0, len(output) + start) if start < 0 else min(start, len(output))
        return {"kind": "compute#serialPortOutput", "contents": output[begin:], "start": str(begin), "next": str(len(output)),
                "selfLink": vm.resource["selfLink"] + "/serialPort"}

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
        operation = self._begin("compute.instances.preempted", zone, f"zones/{zone}/instances/{name}", "", "system")
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
        operation = self._begin("compute.instances.terminateOnHostMaintenance", zone, f"zones/{zone}/instances/{name}", "", "system")
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

    def _problem_of_one(self, zone, machine_type):
        """Why there is no such VM to be had, or None."""
        if self.faults.strikes("stock_out") or not self._has_room(zone, machine_type):
            return "ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{zone}' does not have enough resources available to fulfill the request."
        return ("INTERNAL_ERROR", "Internal error. Please try again.") if self.faults.strikes("operation_error") else None

    def _boot(self, vm, done):
        seconds = quantile(INSERT_SECONDS, self._random.random())
        self.timeline.plan(seconds * 0.4, lambda: self._set_status(vm, "STAGING"))
        self.timeline.plan(seconds, lambda: (self._run(vm), done()))

    def _roll_back(self, operation, status, made, problem):
        status |= {"status": "ROLLING_BACK", "deletedVmCount": len(made)}
        for vm in made:
            self._end(vm, ROLL_BACK_SECONDS)
        self._fail_soon(operation, *problem, ROLL_BACK_SECONDS)

    def _run(self, vm):
        if vm.gone is None and vm.resource["status"] != "STOPPING":
            self._set_status(vm, "RUNNING")
            vm.guest_attributes |= self._guest_attributes
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
                     "zone": links, "targetLink": f"{PREFIX}projects/{self.project}/{target}", "status": "RUNNING", "progress": 0, "user": user,
                     "insertTime": self.timeline.text(), "startTime": self.timeline.text(), "selfLink": f"{links}/operations/{name}"}
        if request_id:
            operation["clientOperationId"] = request_id
            self._requests[request_id] = operation
        self.operations[zone, name] = operation
        return operation

    def _finish(self, operation):
        operation |= {"status": "DONE", "progress": 100, "endTime": self.timeline.text()}

    def _fail_soon(self, operation, code, message, seconds=2.0):
        def fail():
            operation["error"] = {"errors": [{"code": code, "message": message}]}
            operation["httpErrorStatusCode"] = {"INTERNAL_ERROR": 500, "QUOTA_EXCEEDED": 403}.get(code, 503)
            operation["httpErrorMessage"] = "SERVICE UNAVAILABLE"
            self._finish(operation)

        self.timeline.plan(seconds, fail)

    # --- Limits ----------------------------------------------------------------------------------------------------

    def _check_zone(self, zone):
        if zone not in self.zones:
            raise Refused(404, f"The resource 'projects/{self.project}/zones/{zone}' was not found", "notFound")

    def _check_name(self, zone, name):
        if (zone, name) in self.vms:
            raise Refused(409, f"The resource 'projects/{self.project}/zones/{zone}/instances/{name}' already exists", "alreadyExists")

    def _names(self, zone, body):
        """Of the VMs of a bulkInsert: given one by one, or by a pattern ("vm-####") that goes on after the highest number there is."""
        count = int(body["count"])
        names = list(body.get("perInstanceProperties", {}))
        if not names:
            before, hashes, after = re.fullmatch(r"([^#]*)(#+)([^#]*)", body.get("namePattern", "")).groups()
            taken = [re.fullmatch(f"{re.escape(before)}(\\d{{{len(hashes)}}}){re.escape(after)}", name) for (place, name) in self.vms if place == zone]
            first = 1 + max((int(match[1]) for match in taken if match), default=0)
            names = [f"{before}{number:0{len(hashes)}}{after}" for number in range(first, first + count)]
        if len(names) != count:
            raise Refused(400, "Invalid value for field 'resource.perInstanceProperties': it does not match count.", "invalid")
        for name in names:
            self._check_name(zone, name)
        return names

    def _has_type(self, zone, machine_type):
        return machine_type in self.machine_types and (machine_type in self.zones[zone] or "*" in self.zones[zone])

    def _has_room(self, zone, machine_type):
        room = self.zones[zone].get(machine_type, self.zones[zone].get("*", 0))
        return sum(1 for (place, _), vm in self.vms.items() if place == zone and vm.machine_type == machine_type) < room

    def _metrics(self, region, machine_type, is_spot):
        """What a VM counts against, and how much of it."""
        series = machine_type.split("-")[0]
        cpus = "CPUS" if series in SHARED_SERIES else f"{series.upper()}_CPUS"
        if is_spot and self.quotas.get(region, {}).get("PREEMPTIBLE_CPUS", 0) > 0:
            cpus = "PREEMPTIBLE_CPUS"
        return {cpus: self.machine_types[machine_type][0], "INSTANCES": 1}

    def _used(self, region, metric):
        return sum(self._metrics(region, vm.machine_type, vm.is_spot).get(metric, 0) for (zone, _), vm in self.vms.items() if region_of(zone) == region)

    def _room_in_quota(self, zone, machine_type, is_spot):
        """How many more such VMs there may be, and the quota that says so."""
        region = region_of(zone)
        limits = self.quotas.get(region, {})
        rooms = [((limits[metric] - self._used(region, metric)) // amount, metric) for metric, amount in self._metrics(region, machine_type, is_spot).items() if metric in limits]
        return min(rooms, default=(float("inf"), ""))

    def _quota_problem(self, zone, machine_type, is_spot, count=1):
        room, metric = self._room_in_quota(zone, machine_type, is_spot)
        region = region_of(zone)
        return ("QUOTA_EXCEEDED", f"Quota '{metric}' exceeded.  Limit: {float(self.quotas[region][metric])} in region {region}.") if room < count else None

    def _check_quota(self, zone, machine_type, is_spot, count=1):
        problem = self._quota_problem(zone, machine_type, is_spot, count)
        if problem:
            raise Refused(403, problem[1], "quotaExceeded")
