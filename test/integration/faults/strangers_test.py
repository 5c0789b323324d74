"""Whoever does not know the job's secret gets nothing, costs nothing, and changes nothing."""

import os
import pathlib
import re
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from running_job import listening_ports  # noqa: E402


class StrangerTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.run_path = self.run_folder()
        self.process = self.start(job.CONFIGS / "synthetic_mlp.json", "--run", self.run_path,
                                  "--set", "stop.target=null", "--set", "stop.max_epochs=100000",
                                  "--set", "sync.transport=tcp")
        self.wait_for_event(self.run_path, "iterations")
        shard = job.events(self.run_path, "process_started")[0]
        assert shard["role"] == "shard"
        self.endpoints = listening_ports(self.process.pid) + listening_ports(shard["pid"])
        self.assertEqual(len(self.endpoints), 2)

    def tearDown(self):
        iterations = len(job.trained(self.run_path))
        self.wait_for_event(self.run_path, "iterations", count=iterations + 2)  # training goes on
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=180)
        self.assertEqual(self.process.returncode, 130, output)

    def answer_to(self, endpoint, sent):
        with socket.create_connection(endpoint) as stranger:
            stranger.settimeout(12)
            try:
                stranger.sendall(sent)
                answer = b""
                while True:
                    piece = stranger.recv(4096)
                    if not piece:
                        return answer
                    answer += piece
            except ConnectionError:
                return b""

    def test_all_endpoints_are_on_loopback(self):
        self.assertEqual({address for address, _ in self.endpoints}, {"127.0.0.1"})

    def test_a_stranger_who_sends_nothing_is_put_out_after_a_while(self):
        for endpoint in self.endpoints:
            began = time.monotonic()
            self.assertEqual(self.answer_to(endpoint, b""), b"")
            self.assertLess(time.monotonic() - began, 11)

    def test_garbage_and_a_huge_length_get_no_answer(self):
        for endpoint in self.endpoints:
            self.assertEqual(self.answer_to(endpoint, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4), b"")
            self.assertEqual(self.answer_to(endpoint, b"\xff" * 200), b"")
            self.assertEqual(self.answer_to(endpoint, b"SCV1" + b"\xff" * 44 + b"x" * 100000), b"")

    def test_a_hello_of_another_job_gets_no_answer(self):
        hello = b"SCVHELLO" + struct.pack("<I", 1) + bytes(16) + os.urandom(32)
        for endpoint in self.endpoints:
            self.assertEqual(self.answer_to(endpoint, hello), b"")

    def test_many_idle_strangers_do_not_stop_the_job(self):
        idle = [socket.create_connection(endpoint) for endpoint in self.endpoints for _ in range(100)]
        self.addCleanup(lambda: [connection.close() for connection in idle])
        # tearDown sees that training goes on.

    def test_the_secret_is_on_no_command_line_in_no_environment_and_in_no_log(self):
        for event in job.events(self.run_path, "process_started"):
            command = pathlib.Path(f"/proc/{event['pid']}/cmdline").read_bytes()
            self.assertEqual(command.count(b"\0"), 1, command)  # the program's name, no arguments
            environment = pathlib.Path(f"/proc/{event['pid']}/environ").read_bytes()
            self.assertNotIn(b"secret", environment.lower())
        for log in (self.run_path / "logs").iterdir():
            self.assertIsNone(re.search(rb"[0-9a-f]{64}", log.read_bytes()))


if __name__ == "__main__":
    job.main()
