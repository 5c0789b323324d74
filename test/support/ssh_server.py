"""A real sshd of this machine, at a port of its own, with keys of its own: nothing of the user's or the system's is used or changed.

    reason = ssh_server.missing()            # a sentence where it cannot be had
    with ssh_server.Server() as server:
        subprocess.run(["ssh", "-F", server.config, "127.0.0.1", "true"])
"""

import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


def missing():
    if SSHD is None:
        return "there is no program sshd: install openssh-server (scripts/setup.sh --test does)"
    if shutil.which("ssh") is None:
        return "there is no program ssh: install openssh-client"
    if os.geteuid() != 0:
        return "a sshd that takes commands for its user needs root here"
    return None


class Server:
    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_sshd_"))
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # of privilege separation
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        (self.folder / "authorized_keys").write_text((self.folder / "user_key.pub").read_text())
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (self.folder / "sshd_config").write_text(f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.folder}/host_key
PidFile {self.folder}/pid
AuthorizedKeysFile {self.folder}/authorized_keys
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
AcceptEnv SCAVENGER_TEST_FOLDER
""")
        key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}\n[localhost]:{self.port} {key}\n")
        self.config = self.folder / "ssh_config"
        self.config.write_text(f"""Host *
  User {getpass.getuser()}
  Port {self.port}
  IdentityFile {self.folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {self.folder}/known_hosts
  StrictHostKeyChecking yes
  SendEnv SCAVENGER_TEST_FOLDER
""")
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", self.folder / "sshd_config"], stderr=self.log)
        deadline = time.monotonic() + 10
        while subprocess.run(["ssh", "-F", self.config, "127.0.0.1", "true"], capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                raise OSError((self.folder / "log").read_text())
            time.sleep(0.1)
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
