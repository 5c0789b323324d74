"""VMs as processes of this machine: each has an address of its own on loopback, a metadata server there, and runs its startup script.

As root each has namespaces of its own: it sees its own processes only, has its name as host name and its own shared memory, and all that it
ever started ends when it is powered off.
"""

import ctypes
import hashlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading
import urllib.parse

METADATA_PATH = "/computeMetadata/v1/"
PR_SET_PDEATHSIG = 1
# The first process of the VM's namespaces; "$0" is its name, "$1" its startup script.
BOOT = 'hostname "$0" && mount -t tmpfs scavenger-vm /dev/shm && exec bash "$1"'
NAMESPACES = ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount", "--mount-proc", "--uts", "--ipc", "sh", "-c", BOOT]


def has_namespaces():
    return os.geteuid() == 0 and subprocess.run([*NAMESPACES[:-1], "true"], capture_output=True).returncode == 0


def die_with_us():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A running VM: its metadata server, and its processes, which are one session."""

    def __init__(self, vm, folder, accounts, timeline, project, in_namespaces):
        self.vm, self._accounts, self._timeline, self._project = vm, accounts, timeline, project
        self.preempted, self.maintenance = "FALSE", "NONE"
        folder.mkdir(parents=True, exist_ok=True)
        handler = self._make_handler()
        self._server = http.server.ThreadingHTTPServer((vm.address, 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._process = None
        script = vm.metadata.get("startup-script")
        if script:
            (folder / "startup-script").write_text(script)
            start = [*NAMESPACES, vm.name] if in_namespaces else ["bash"]
            environment = os.environ | {"GCE_METADATA_HOST": "%s:%s" % self._server.server_address, "HOME": str(folder), "TMPDIR": str(folder)}
            with open(folder / "console.log", "ab") as log:
                self._process = subprocess.Popen([*start, str(folder / "startup-script")], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log, start_new_session=True, preexec_fn=die_with_us)

    def signal(self, number):
        if self._process and self._process.poll() is None:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                pass

    def power_off(self):
        self._server.shutdown()
        self._server.server_close()
        if self._process:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()

    def value(self, path, parameters):
        """The text at a path of the metadata server, or None."""
        if path == "instance/preempted":
            return self._watched(lambda: self.preempted, parameters)
        if path == "instance/maintenance-event":
            return self._watched(lambda: self.maintenance, parameters)
        if path == "instance/service-accounts/default/token":
            with self._timeline.lock:
                return json.dumps(self._accounts.new_token("vm"))
        zone = self.vm.resource["zone"].rsplit("/", 1)[-1]
        plain = {"instance/name": self.vm.name, "instance/zone": f"projects/1/zones/{zone}", "project/project-id": self._project,
                 "instance/network-interfaces/0/ip": self.vm.address}
        if path in plain:
            return plain[path]
        return self.vm.metadata.get(path.removeprefix("instance/attributes/")) if path.startswith("instance/attributes/") else None

    def _watched(self, read, parameters):
        """With wait_for_change: when the value is another than that of last_etag."""
        with self._timeline.lock:
            last = parameters.get("last_etag") or etag_of(read())
            end = self._timeline.now() + float(parameters.get("timeout_sec", 3600))
            while parameters.get("wait_for_change") == "true" and etag_of(read()) == last and self._timeline.now() < end:
                self._timeline.wait(end - self._timeline.now())
            return read()

    def _make_handler(self):
        machine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                text = None
                if self.headers.get("Metadata-Flavor") == "Google" and path.startswith(METADATA_PATH):
                    text = machine.value(path.removeprefix(METADATA_PATH), dict(urllib.parse.parse_qsl(query)))
                status = 200 if text is not None else 404 if self.headers.get("Metadata-Flavor") else 403
                body = (text or "").encode()
                try:
                    self.send_response(status)
                    self.send_header("Metadata-Flavor", "Google")
                    self.send_header("ETag", etag_of(text or ""))
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    pass

            def do_PUT(self):
                path = self.path.removeprefix(METADATA_PATH + "instance/guest-attributes/")
                value = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                is_one = path != self.path and self.headers.get("Metadata-Flavor") == "Google"
                if is_one:
                    with machine._timeline.lock:
                        machine.vm.guest_attributes[path] = value
                self.send_response(200 if is_one else 403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler


def etag_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Machines:
    """The hooks of a cloud whose VMs run. Called with the timeline's lock held."""

    def __init__(self, folder, accounts, timeline, project):
        self._folder, self._accounts, self._timeline, self._project = pathlib.Path(folder), accounts, timeline, project
        self._running = {}
        self._in_namespaces = has_namespaces()

    def start(self, vm):
        self._running[vm.name] = Machine(vm, self._folder / vm.name, self._accounts, self._timeline, self._project, self._in_namespaces)

    def console(self, vm):
        path = self._folder / vm.name / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def warn(self, vm):
        if vm.name in self._running:
            self._running[vm.name].preempted = "TRUE"
            self._timeline.lock.notify_all()

    def maintain(self, vm):
        if vm.name in self._running:
            self._running[vm.name].maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
            self._timeline.lock.notify_all()

    def stop(self, vm, seconds):
        """The soft end now, the hard one after `seconds`."""
        machine = self._running.pop(vm.name, None)
        if machine is None:
            return
        if seconds > 0:
            machine.signal(signal.SIGTERM)

        def end():  # not in the lock: its own threads may wait for it
            threading.Thread(target=machine.power_off, daemon=True).start()

        self._timeline.plan(seconds, end)

    def stop_all(self):
        for machine in self._running.values():
            machine.power_off()
