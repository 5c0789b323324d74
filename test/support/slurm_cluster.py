"""A real Slurm on this machine: slurmctld, slurmd for each of a few nodes, and munge, with all of their files in a folder of their own.

    reason = slurm_cluster.missing()         # a sentence where it cannot be had
    with slurm_cluster.Cluster(nodes=4) as cluster:
        subprocess.run(["sinfo"], env=cluster.environment)
"""

import os
import pathlib
import shutil
import socket
import stat
import subprocess
import tempfile
import time

PATH = os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")


def missing():
    for program in PROGRAMS:
        if shutil.which(program, path=PATH) is None:
            return f"there is no program {program}: install slurm-wlm and munge (scripts/setup.sh --test does)"
    if os.geteuid() != 0:
        return "Slurm's daemons need root here"
    return None


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, nodes=4, cores=2, gpus=0, address="127.0.0.1"):
        """`gpus` of type a100, of which each is one more /dev/null; `address`: of all nodes and the controller."""
        self.cores, self.gpus, self.address = cores, gpus, address  # of each node
        self.nodes = [f"w{i + 1}" for i in range(nodes)]
        self.processes = []

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_slurm_", dir="/tmp"))
        self.folder.chmod(0o755)  # munge's socket is for all
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        try:
            self.start_munge()
            self.write_configuration()
            self.start("slurmctld", "-D", "-i")
            for node in self.nodes:
                self.start("slurmd", "-D", "-N", node)
            self.wait_until_idle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, *words):
        log = open(self.folder / f"{words[0]}{len(self.processes)}.log", "wb")
        self.processes.append(subprocess.Popen([shutil.which(words[0], path=PATH), *map(str, words[1:])],
                                               env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        log.close()

    def start_munge(self):
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.munge_socket = folder / "socket"
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.munge_socket}",
                   f"--pid-file={folder}/pid", f"--log-file={folder}/log", f"--seed-file={folder}/seed")
        self.wait_for(self.munge_socket.exists, "munged")

    def write_configuration(self):
        host = socket.gethostname().split(".")[0]
        controller, *ports = free_ports(1 + len(self.nodes))
        gres = f" Gres=gpu:a100:{self.gpus}" if self.gpus else ""
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr={self.address} Port={port} CPUs={self.cores} RealMemory=500{gres} State=UNKNOWN"
                          for node, port in zip(self.nodes, ports))
        for i in range(self.gpus):
            os.mknod(self.folder / f"gpu{i}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        if self.gpus:
            nodes = "GresTypes=gpu\n" + nodes
            (self.folder / "gres.conf").write_text(f"Name=gpu Type=a100 File={self.folder}/gpu[0-{self.gpus - 1}]\n")
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text(f"""ClusterName=scavenger
SlurmctldHost={host}({self.address})
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.munge_socket}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool.%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=5
KillWait=5
{'CommunicationParameters=EnableIPv6' if ':' in self.address else ''}
{nodes}
PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP
""")

    def wait_until_idle(self):
        def are_idle():
            done = subprocess.run(["sinfo", "--noheader", "--format=%T %D"], env=self.environment, capture_output=True, text=True)
            return done.stdout.split() == ["idle", str(len(self.nodes))]
        self.wait_for(are_idle, "Slurm's nodes")

    def wait_for(self, is_reached, what):
        deadline = time.monotonic() + 40
        while not is_reached():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-600:]}" for path in self.folder.glob("*.log"))
                raise OSError(f"{what} did not come up\n{logs}")
            time.sleep(0.1)

    def jobs(self):
        done = subprocess.run(["squeue", "--noheader", "--format=%i %T"], env=self.environment, capture_output=True, text=True)
        return done.stdout.split()

    def __exit__(self, *failure):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
