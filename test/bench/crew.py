"""The K processes of one contestant: started once, they work on command and wait in between, costing nothing.

A process says "ready", perhaps with a value, when it is set up. It then reads commands from its standard input, one a line, answers each with one
line of JSON, and ends when the input does. Whatever else it has to say goes to its standard error.
"""

import json
import subprocess
import tempfile


class Crew:
    """A context manager. commands: one list of arguments for each process, in the order of ranks."""

    def __init__(self, commands, secrets=None, inherited_files=()):
        self.commands = commands
        self.inherited_files = inherited_files  # descriptors
        self.secrets = secrets or [""] * len(commands)  # written to standard input first
        self.processes = []
        self.ready = []  # the values that came with "ready"

    def __enter__(self):
        try:
            for command, secret in zip(self.commands, self.secrets):
                self.start(command, secret)
            self.ready = [self.read_ready(rank) for rank in range(len(self.processes))]
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, command, secret=""):
        errors = tempfile.TemporaryFile("w+")
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=errors, text=True, pass_fds=self.inherited_files)
        process.errors = errors
        self.processes.append(process)
        process.stdin.write(secret)
        process.stdin.flush()

    def read_ready(self, rank):
        word, *value = self.read_line(rank).split()
        if word != "ready":
            raise RuntimeError(f"{self.commands[rank]} said {word!r} instead of being ready")
        return value[0] if value else None

    def read_line(self, rank):
        line = self.processes[rank].stdout.readline()
        if not line:
            process = self.processes[rank]
            process.wait(timeout=10)
            process.errors.seek(0)
            raise RuntimeError(f"{self.commands[rank]} ended with {process.returncode}:\n{process.errors.read()}")
        return line

    def run(self, command):
        """Has all of them carry out the same command; returns their answers in the order of ranks."""
        for process in self.processes:
            process.stdin.write(command + "\n")
            process.stdin.flush()
        return [json.loads(self.read_line(rank)) for rank in range(len(self.processes))]

    def __exit__(self, *_):
        for process in self.processes:
            try:
                process.stdin.close()
            except OSError:
                pass  # it is gone already
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            process.errors.close()
