"""The live page of a real job: in real Chromium, against strangers, scraped by a real Prometheus, mirrored for TensorBoard.

By hand: python3 live_page_test.py BUILD/bin [TestClass.test]
"""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from job import CONFIGS, JobTest, events, report  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "unit" / "elastic" / "page"))
from browser import browser, column  # noqa: E402


class LiveJob(JobTest):
    """A small job that runs until it is told to stop, with its page."""

    def serve(self, *arguments, seconds=120):
        self.run = self.run_folder()
        process = self.start(CONFIGS / "synthetic_mlp.json", "--run", self.run, "--set", f'stop={{"max_seconds":{seconds}}}', *arguments)
        line = process.stdout.readline()
        found = re.search(r"live page: (http://127\.0\.0\.1:(\d+)/\?token=(\w+))", line)
        self.assertIsNotNone(found, line)
        self.url, self.port, self.token = found[1], int(found[2]), found[3]
        self.address = f"http://127.0.0.1:{self.port}"
        self.wait_for_event(self.run, "iterations", 3)
        return process

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130)

    def ask(self, method, target, body=None, token=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers["Authorization"] = "Bearer " + token
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content.decode(errors="replace")

    def iteration(self):
        return job_status(self.run)["iteration"]


def job_status(run):
    done = subprocess.run([job.programs / "scavenger-ctl", run, "status", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


class CutLine:
    """A way to a port of 127.0.0.1, by the same port of ::1, that can be cut under its connections."""

    def __init__(self, port):
        self.port = port
        self.ends = []

    def __enter__(self):
        try:
            self.listener = socket.create_server(("::1", self.port), family=socket.AF_INET6)
        except OSError as error:
            raise unittest.SkipTest(f"no IPv6 on loopback: {error}")
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.port))
            self.ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        with contextlib.suppress(OSError):
            while got := one.recv(1 << 16):
                other.sendall(got)
            other.shutdown(socket.SHUT_WR)

    def cut(self):
        while self.ends:
            with contextlib.suppress(OSError):
                self.ends.pop().shutdown(socket.SHUT_RDWR)


class InTheBrowser(LiveJob):
    def test_a_page_opened_in_mid_run_catches_up_and_follows(self):
        process = self.serve("--serve")
        with browser() as chromium:
            page = chromium.open(self.url)
            self.assertEqual(page.url, self.address + "/")  # the token is not left in sight
            seen = column(page, "loss", "iteration")
            self.assertEqual(column(page, "workers-k", "workers"), [2.0])
            page.wait_for_function("(last) => Page.runs[0].totals.iterations > last + 200", arg=seen[-1], timeout=120000)
            self.assertGreater(column(page, "loss", "iteration")[-1], seen[-1])
            self.assertIn("live", page.inner_text(".link"))
            # A second one, and a reload by the cookie alone, show the same from the beginning.
            page.reload()
            page.wait_for_selector("#loss path.line", state="attached")
            self.assertLessEqual(min(column(page, "loss", "iteration")), 64)
            page.wait_for_timeout(300)
            self.stop(process)
            page.wait_for_function("() => document.querySelector('.link').textContent.includes('ended')", timeout=60000)
            page.wait_for_function("() => document.querySelector('.badge').textContent === 'interrupted'", timeout=60000)  # drawn with the next frame
            # The page's last state is the log's.
            shown = page.evaluate("Page.runs[0].totals")
            self.assertEqual(shown["iterations"], report(self.run)["totals"]["iterations"])
            self.assertAlmostEqual(min(column(page, "loss", "least")), min(v for e in events(self.run, "iterations") for v in e["loss"]), places=4)
            self.assertTrue(all(request.startswith(self.address) for request in chromium.requests), chromium.requests)
            self.assertEqual(chromium.errors, [])

    def test_controls_ask_first_and_then_do(self):
        process = self.serve("--serve")
        with browser() as chromium:
            page = chromium.open(self.url)
            page.click("#control-resize")
            page.click("dialog button[value=no]")
            page.wait_for_selector("dialog", state="detached")  # until then nothing else on the page takes clicks
            self.assertEqual(job_status(self.run)["wanted_workers"], 2)
            page.click("#control-resize")
            page.fill("dialog input[name=workers]", "3")
            page.fill("dialog input[name=batch_size]", "96")
            page.click("dialog button[value=yes]")
            page.wait_for_selector("dialog", state="detached")
            page.wait_for_function("() => Page.runs[0].phases.at(-1).workers === 3 && Page.runs[0].phases.at(-1).batch_size === 96", timeout=60000)
            self.assertIn("resized by the user", page.inner_text("#decisions-table"))
            page.click("#control-resize")
            page.fill("dialog input[name=batch_size]", "1")
            page.click("dialog button[value=yes]")
            page.wait_for_function("() => document.querySelector('.answer').textContent.includes('too small')")
            self.assertIn("too small", page.inner_text("dialog"))  # which is still there, for another try
            page.click("dialog button[value=no]")
            page.wait_for_selector("dialog", state="detached")
            written = len(events(self.run, "checkpoint"))
            page.click("#control-checkpoint")
            page.click("dialog button[value=yes]")
            self.wait_for_event(self.run, "checkpoint", written + 1)
            page.click("#control-pause")
            page.click("dialog button[value=yes]")
            page.wait_for_function("() => document.querySelector('#control-pause').textContent === 'Continue'", timeout=120000)
            page.wait_for_function("() => document.querySelector('.badge').textContent === 'paused'", timeout=120000)
            before = self.iteration()
            page.click("#control-pause")
            page.click("dialog button[value=yes]")
            page.wait_for_function("(last) => Page.runs[0].totals.iterations > last", arg=before, timeout=120000)
            page.click("#control-stop")
            page.click("dialog button[value=yes]")
            process.communicate(timeout=180)
            self.assertEqual(process.returncode, 130)
            page.wait_for_function("() => document.querySelectorAll('.controls button').length === 0", timeout=60000)
            # A refusal is an answer to a request: Chromium writes it down, and nothing else.
            self.assertEqual([error for error in chromium.errors if "409" not in error], [])

    def test_a_connection_that_was_lost_comes_back_with_everything(self):
        process = self.serve("--serve")
        with CutLine(self.port) as line, browser() as chromium:
            page = chromium.open(self.url.replace("127.0.0.1", "[::1]"))
            before = column(page, "loss", "iteration")[-1]
            line.cut()
            page.wait_for_function("() => document.querySelector('.link').textContent.includes('trying again')", timeout=60000)
            page.wait_for_function("() => document.querySelector('.link').textContent.startsWith('live')", timeout=120000)
            page.wait_for_function("(last) => Page.runs[0].totals.iterations > last + 500", arg=before, timeout=60000)
            self.assertGreaterEqual(sum(request.endswith("/events") for request in chromium.requests), 2)
            iterations = column(page, "loss", "iteration")
            self.assertEqual(iterations, sorted(iterations))
            gaps = [b - a for a, b in zip(iterations, iterations[1:])]
            self.assertLessEqual(max(gaps), 4 * min(gaps) + 64)
            self.stop(process)


class Strangers(LiveJob):
    def test_they_are_refused_and_training_goes_on(self):
        process = self.serve("--serve")
        own = {"Origin": self.address, "Content_Type": "application/json"}
        stop = json.dumps({"command": "stop"})
        self.assertEqual(self.ask("GET", "/")[0], 401)
        self.assertEqual(self.ask("GET", "/events")[0], 401)
        self.assertEqual(self.ask("GET", "/metrics", token="0" * len(self.token))[0], 401)
        self.assertEqual(self.ask("POST", "/command", stop, **own)[0], 401)
        self.assertEqual(self.ask("POST", "/command", stop, token=self.token, Content_Type="application/json", Origin="http://evil.example")[0], 403)
        self.assertEqual(self.ask("POST", "/command", stop, token=self.token, Content_Type="application/json", Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(self.ask("POST", "/command", "command=stop", token=self.token, Content_Type="application/x-www-form-urlencoded")[0], 415)
        self.assertEqual(self.ask("GET", "/", token=self.token, Host=f"evil.example:{self.port}")[0], 421)
        self.assertEqual(self.ask("POST", "/command", "[]", token=self.token, **own)[0], 400)
        self.assertEqual(self.ask("POST", "/command", '{"command": "erase"}', token=self.token, **own)[0], 409)
        for path in ("/../../../etc/passwd", "/%2e%2e/config.json", "/config.json", "//etc/passwd", "/logs/worker_0.log"):
            self.assertEqual(self.ask("GET", path, token=self.token)[0], 404)
        self.assertEqual(self.ask("POST", "/command", json.dumps({"command": "x" * 100_000}), token=self.token, **own)[0], 413)
        self.assertEqual(self.ask("GET", "/", token=self.token, X_Long="x" * 100_000)[0], 413)
        for rubbish in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\0" * 5000, b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port)) as stranger:
                stranger.sendall(rubbish)
                stranger.settimeout(20)
                try:
                    while stranger.recv(4096):
                        pass
                except ConnectionError:
                    pass
        self.assertNotIn("root:", self.ask("GET", "/../../../etc/passwd")[1])
        before = self.iteration()
        time.sleep(0.5)
        self.assertGreater(self.iteration(), before)
        self.stop(process)

    def test_a_thousand_idle_connections_are_bounded(self):
        process = self.serve("--serve")
        pid = process.pid
        idle = []
        try:
            for _ in range(1000):
                one = socket.socket()
                one.settimeout(5)
                one.connect(("127.0.0.1", self.port))
                idle.append(one)
            time.sleep(0.5)
            opened = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
            self.assertLess(opened, 200)
            before = self.iteration()
            time.sleep(0.5)
            self.assertGreater(self.iteration(), before)
        finally:
            for one in idle:
                one.close()
        # Its places come back.
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                if self.ask("GET", "/metrics", token=self.token)[0] == 200:
                    break
            except (ConnectionError, http.client.HTTPException):
                time.sleep(0.2)
        else:
            self.fail("no place came back")
        self.stop(process)

    def test_a_looker_on_that_takes_nothing_is_no_burden(self):
        process = self.serve("--serve")
        stuck = []
        for _ in range(8):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", self.port))
            one.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
            stuck.append(one)
        before = self.iteration()
        time.sleep(3)
        self.assertGreater(self.iteration(), before)
        memory = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])
        self.assertLess(memory, 400_000)
        self.assertEqual(self.ask("GET", "/metrics", token=self.token)[0], 200)
        self.stop(process)
        for one in stuck:
            one.close()


class Metrics(LiveJob):
    def test_a_real_prometheus_scrapes_the_job(self):
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            self.skipTest("no Prometheus is installed")
        token_file = self.folder / "token.txt"
        process = self.serve("--serve", "--serve-token", token_file)
        self.assertEqual(token_file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(token_file.read_text(), self.token)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.folder / "prometheus.yml").write_text(
            "global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: scavenger\n"
            f"    authorization: {{ credentials_file: {token_file} }}\n    static_configs: [{{ targets: [\"127.0.0.1:{self.port}\"] }}]\n")
        scraper = subprocess.Popen([prometheus, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}"],
                                   env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (scraper.kill(), scraper.wait()))

        def query(expression):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            try:
                connection.request("GET", "/api/v1/query?query=" + expression)
                return json.loads(connection.getresponse().read())["data"]["result"]
            finally:
                connection.close()

        deadline = time.monotonic() + 180
        result = []
        while not result and time.monotonic() < deadline:
            try:
                result = query("scavenger_samples_trained_total")
            except (OSError, ValueError):  # while it starts it takes no connection, then answers in words
                pass
            time.sleep(0.3)
        self.assertTrue(result, "Prometheus has scraped nothing")
        self.assertGreater(float(result[0]["value"][1]), 0)
        self.assertEqual(query("up")[0]["value"][1], "1")
        self.assertEqual(float(query("scavenger_workers")[0]["value"][1]), 2.0)
        self.assertEqual(query("scavenger_job_info")[0]["metric"]["name"], "synthetic_mlp")
        self.assertGreater(float(query("scavenger_iteration_seconds_count")[0]["value"][1]), 0)
        self.stop(process)

    def test_promtool_finds_no_fault_in_the_text(self):
        if shutil.which("promtool") is None:
            self.skipTest("no promtool is installed")
        process = self.serve("--serve")
        text = self.ask("GET", "/metrics", token=self.token)[1]
        self.stop(process)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ""))


class Tensorboard(LiveJob):
    def read(self, folder):
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            self.skipTest("the Python package tensorboard is not here")
        found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        found.Reload()
        return found

    def test_the_real_package_reads_the_scalars_of_a_job(self):
        self.run = self.run_folder()
        self.train(CONFIGS / "synthetic_mlp.json", "--run", self.run, "--tensorboard", "--set", 'stop={"max_epochs":3}')
        live = self.read(self.run / "tensorboard")
        subprocess.run([job.programs / "scavenger-report", self.run, "--tensorboard", self.folder / "later"], check=True)
        later = self.read(self.folder / "later")
        start = events(self.run, "start")[0]
        for found in (live, later):
            shown = [(one.step, one.value) for one in found.Scalars("accuracy/test")]
            expected = [(event["iteration"], event["accuracy"]) for event in events(self.run, "evaluation") if event["split"] == "test"]
            self.assertEqual([step for step, _ in shown], [step for step, _ in expected])
            for (_, value), (_, other) in zip(shown, expected):
                self.assertAlmostEqual(value, other, places=5)
            losses = [sum(event["loss"]) / len(event["loss"]) for event in events(self.run, "iterations")]
            self.assertEqual(len(found.Scalars("loss/training")), len(losses))
            for one, other in zip(found.Scalars("loss/training"), losses):
                self.assertAlmostEqual(one.value, other, places=4)
            utc = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(found.Scalars("loss/training")[0].wall_time))
            self.assertEqual(utc[:13], start["utc"][:13])


class WrongInput(LiveJob):
    def test_who_does_not_ask_gets_none(self):
        self.assertNotIn("live page", self.train(CONFIGS / "synthetic_mlp.json", "--run", self.run_folder()))

    def test_a_port_in_use_is_named_and_nothing_starts(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            said = self.train(CONFIGS / "synthetic_mlp.json", "--run", self.run_folder(), "--serve", taken.getsockname()[1], check=1)
        self.assertIn("in use", said)

    def test_a_token_that_others_may_read_is_refused(self):
        token = self.folder / "token.txt"
        token.write_text("0123456789abcdef0123")
        token.chmod(0o644)
        self.assertIn("others may read the token", self.train(CONFIGS / "synthetic_mlp.json", "--run", self.run_folder(), "--serve", "--serve-token", token, check=2))


if __name__ == "__main__":
    job.main()
