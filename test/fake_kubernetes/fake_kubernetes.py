#!/usr/bin/env python3
"""A fake Kubernetes cluster on this machine, usable by hand:

    test/fake_kubernetes/fake_kubernetes.py --settings cluster.json --port 8001 [--processes FOLDER] [--validate 1.25,1.37] [--tls FOLDER]
    curl -H 'Authorization: Bearer dev' localhost:8001/api/v1/namespaces/default/pods
    KUBECONFIG=FILE kubectl get pods --watch       FILE: as --kubeconfig FILE has written it

It keeps objects with resource versions, answers list, watch (with bookmarks, expiry and cuts), Table and discovery as kubectl needs them,
refuses by RBAC and quota, collects garbage by owner references, schedules Pods to nodes, and goes wrong as it is told. With --processes each
Pod is a process of this machine with an address of the loopback network; without, Pods are only entries. But in an unpacked
image there are no mounts: the folder of a Secret's volume, and that of an image, stand in for the paths that begin a word of the command.
Jobs have a controller, which makes their Pods. With --tls Pods have the token of their service account, which may do what Roles say.

Its settings are one JSON object; all but `nodes` may be left out:
    nodes          {"node-a": {"cpu": 4, "memory_gib": 16, "labels": {...}, "taints": [...], "resources": {"nvidia.com/gpu": "1"}, "spot": true}}
    accounts       {"TOKEN": {"name": "u", "rules": [{"verbs": ["get"], "resources": ["pods"]}]}}   without rules all is allowed
    images         {"scavenger:test": {"/opt/scavenger": "/home/me/build"}}      others cannot be pulled; without it all can. {"/": FOLDER} is the
                   root of an unpacked image: Pods run in it (this needs root), as their user, and cannot write to it; further paths
                   of such an image are folders of this machine that are mounted in it
    quota          {"pods": 4, "cpu": 8}
    lives          {"mean_seconds": 5, "notice_share": 0.5, "drain_share": 0.2}   of spot nodes; a new machine of the same name comes
                   after each
    notice_seconds 25      from a notice to the end of the node
    start_seconds  0.05    from a node to a Pod that runs
    job_pause_seconds 10   after the first failure of a Job's Pod; each further one doubles it
    token_seconds 3600     that a token of a service account is good for; its file changes after 80 % of that
    page_size, slow_seconds, retry_after, keep (changes that a watch may be behind), seed
    faults         {"cut": p, "reply_lost": p, "error_before": p, "error_after": p, "rate_limit": p, "slow": p, "token_expiry": p,
                    "watch_cut": p, "list_expired": p}
By hand: /fake/ledger, /fake/drain?node=, /fake/taint?node=&key=, /fake/preempt?node=&notice=false, /fake/silence?node=&seconds= (of a
kubelet; then the node and its Pods are removed), /fake/end?pod=&code=&reason= (of a container), /fake/remove?pod= (by force), /fake/restart,
/fake/forget, /fake/token?new=, /fake/kill?pid=&kind=&changes=&when=.
"""

import argparse
import ctypes
import http.server
import json
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import threading
import time

from accounts import Accounts
from api import Api, NoReply
from containers import Containers
from jobs import JobController
from nodes import Nodes, log_folder
from store import Store

TICK_SECONDS = 0.02
FORM = re.compile(r'[0-9a-f]{8}-[-0-9a-f]{27}|job-[-0-9a-z]+|killed-[-0-9a-z]+|"[0-9]+"')  # uids, names of jobs of ours, indices


def make_handler(api):
    """One thread for each connection."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            try:
                status, document, further = api.answer(self.command, self.path, self.headers, body, self._has_certificate())
                if further is None:
                    self._stream(document)
                    return
                text = document if isinstance(document, bytes) else (document if isinstance(document, str) else json.dumps(document)).encode()
                self.send_response(status)
                self.send_header("Content-Type", {str: "text/plain", bytes: "application/octet-stream"}.get(type(document), "application/json"))
                self.send_header("Content-Length", str(len(text)))
                for name, value in further.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
            except (NoReply, ConnectionError, ssl.SSLError):
                self.close_connection = True

        def _has_certificate(self):
            return bool(self.connection.getpeercert()) if isinstance(self.connection, ssl.SSLSocket) else True

        def _stream(self, pieces):
            """In chunks that have nothing to do with lines."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()
            for piece in pieces:
                for part in (piece[:len(piece) // 3], piece[len(piece) // 3:]):
                    if part:
                        self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                        self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = _serve

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def validator(versions):
    """Checks bodies against the strict schemas of these versions of Kubernetes."""
    import kubernetes_validate
    good = set()  # forms of objects that differ only in names, numbers and secrets

    def validate(item):
        form = FORM.sub("x", json.dumps(item | {"stringData": dict.fromkeys(item.get("stringData", {}), "")} if "stringData" in item else item))
        if form in good:
            return None
        for version in versions:
            try:
                kubernetes_validate.validate(item, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                return f"Kubernetes {version}: {error.message if hasattr(error, 'message') else error}"
        good.add(form)
        return None

    return validate


def make_certificates(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, subject in (("server", "/CN=fake"), ("client", "/CN=dev")):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject, "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True)


def write_kubeconfig(path, endpoint, token, tls):
    """kubectl gives tokens to servers with TLS only."""
    cluster = {"server": endpoint, **({"certificate-authority": str((tls / "server.pem").resolve())} if tls else {})}
    own = {"client-certificate": str((tls / "client.pem").resolve()), "client-key": str((tls / "client.key").resolve())} if tls else {}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "fake", "clusters": [{"name": "fake", "cluster": cluster}],
                                "users": [{"name": "dev", "user": {"token": token, **own}}],
                                "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "dev", "namespace": "default"}}]}))


def main():
    parser = argparse.ArgumentParser(description="A fake Kubernetes cluster.")
    parser.add_argument("--settings", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--processes", help="a folder for what Pods need and write")
    parser.add_argument("--validate", help="versions, such as 1.25,1.37")
    parser.add_argument("--kubeconfig", type=pathlib.Path, help="written for the first account")
    parser.add_argument("--tls", type=pathlib.Path, help="a folder for its certificate and that of its client, which openssl makes")
    parser.add_argument("--with-parent", action="store_true", help="ends with the process that has started it")
    arguments = parser.parse_args()
    if arguments.with_parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    settings = json.loads(arguments.settings.read_text())
    folder = log_folder(arguments.processes)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    store = Store(settings.get("keep", 2000))
    accounts = Accounts(store, settings, needs_certificate=bool(arguments.tls))
    containers = Containers(store, settings, folder, accounts)
    with store.lock:
        nodes, jobs = Nodes(store, settings, containers), JobController(store, settings)
        store.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    api = Api(store, nodes, jobs, accounts, settings, validator(arguments.validate.split(",")) if arguments.validate else None)
    server = Server(("127.0.0.1", arguments.port), make_handler(api))
    if arguments.tls:
        make_certificates(arguments.tls)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.tls / "server.pem", arguments.tls / "server.key")
        context.verify_mode = ssl.CERT_OPTIONAL  # Pods have none, but a token of their service account
        context.load_verify_locations(arguments.tls / "client.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        containers.server, containers.certificate = server.server_address, arguments.tls / "server.pem"
    endpoint = f"http{'s' if arguments.tls else ''}://127.0.0.1:{server.server_port}"
    if arguments.kubeconfig:
        write_kubeconfig(arguments.kubeconfig, endpoint, next(iter(accounts.known)), arguments.tls)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"endpoint": endpoint}), flush=True)
    try:
        while True:
            with store.lock:
                jobs.tick()
                nodes.tick()
            time.sleep(TICK_SECONDS)
    finally:
        nodes.end()


if __name__ == "__main__":
    main()
