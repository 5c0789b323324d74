#!/usr/bin/env python3
"""A fake Compute Engine on this machine, usable by hand:

    test/fake_gce/fake_gce.py --settings cloud.json --port 8080 [--vms FOLDER] [--certificate PEM --key PEM] [--proto compute.proto]
    curl -H 'Authorization: Bearer dev' localhost:8080/compute/v1/projects/demo/zones/us-central1-a/instances

It keeps zones with capacity and quotas, makes asynchronous operations with measured latencies, knows requests again by their id, takes
tokens from its own token endpoint (which checks signatures), and goes wrong as it is told. With --vms each VM is a session of processes of
this machine (as root in namespaces of their own) that runs its startup script, with a metadata server of its own; without, VMs are only entries.

Its settings are one JSON object:
    zones           {"us-central1-a": {"e2-standard-2": 4, "*": 8}}     how many of each type there is room for; without "*" it has no others
    machine_types   {"e2-standard-2": [2, 8]}                           vCPUs and GiB
    quotas          {"us-central1": {"CPUS": 24, "N2D_CPUS": 8, "PREEMPTIBLE_CPUS": 16, "INSTANCES": 24}}
    accounts        {"a@b": {"public_key": FILE, "token": "dev", "permissions": [...]}}
    skus            [...]                                               what the Cloud Billing API lists
    guest_attributes {"scavenger/certificate": "..."}                  what each VM writes there when it boots, where none runs
    project, seed, time_scale (cloud seconds in one of ours), page_size, token_seconds
    spot_lives      {"early_share": 0.22, "early_hours": 1.1, "mean_hours": 16.9}, or {"table": [[1, 0.22], [24, 0.48], [24, 1]]}: gone by hours
    faults          {"reply_lost": 0.05, ...}: rates by name, see faults.py

/fake/ledger tells all VMs that ever were, /fake/preempt?zone=Z&name=N takes one, /fake/maintain?zone=Z&name=N maintains its host, /fake/watch tells
the requests since it was called last, each with how many changes were asked for before it, and /fake/kill?pid=P&when=before kills its client before (or
after) a request is carried out: the N-th from now (&request=N), or the first of a kind after C changes (&kind=K&changes=C, as /fake/watch has them).
Prints a line of JSON when it listens.
"""

import argparse
import http.server
import json
import os
import signal
import ssl
import sys
import threading
import time

from access import Accounts
from api import Api, make_handler
from cloud import Cloud
from faults import FaultPlan
from machines import Machines
from proto_fields import Messages
from timeline import Timeline


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", required=True, help="a JSON file")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--vms", help="run VMs, each in a folder below this one")
    parser.add_argument("--certificate", help="serve HTTPS with this certificate (PEM)")
    parser.add_argument("--key", help="its private key (PEM)")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started it has ended")
    parser.add_argument("--proto", help="check all fields against this compute.proto")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with open(arguments.settings, encoding="utf-8") as file:
        settings = json.load(file)
    timeline = Timeline(settings.get("time_scale", 1.0))
    accounts = Accounts(settings.get("accounts", {"dev": {"token": "dev"}}), settings.get("token_seconds", 3600), time.time)
    accounts.permissions["vm"] = ["compute.instances.delete"]
    server = Server(("127.0.0.1", arguments.port), None)
    scheme = "http"
    if arguments.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.certificate, arguments.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "https"
    endpoint = f"{scheme}://localhost:{server.server_address[1]}"
    machines = Machines(arguments.vms, accounts, timeline, settings.get("project", "demo")) if arguments.vms else None
    cloud = Cloud(settings, timeline, FaultPlan(settings.get("faults", {}), settings.get("seed", 1)), machines)
    messages = Messages(arguments.proto) if arguments.proto else None
    api = Api(cloud, accounts, messages, endpoint + "/token", settings.get("page_size", 500), settings.get("skus", []))
    server.RequestHandlerClass = make_handler(api)

    parent = os.getppid()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"endpoint": endpoint, "token_uri": endpoint + "/token", "pid": os.getpid()}), flush=True)
    while not ended.wait(0.5):
        if arguments.with_parent and os.getppid() != parent:
            break
    if machines:
        with timeline.lock:
            machines.stop_all()


if __name__ == "__main__":
    main()
