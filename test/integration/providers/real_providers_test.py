"""Providers on what they are for: a real sshd, a real Slurm. Each passes the contract of providers, and trains a job."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import slurm_cluster  # noqa: E402
import ssh_server  # noqa: E402

SMALL = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "cluster.threads_per_worker=1", "--workers", 2]
ENDLESS = [*SMALL, "--set", "stop.target=null", "--set", "stop.max_epochs=100000"]


class ProviderTest(job.JobTest):
    """`self.extra`: environment in which the provider's service is found."""

    extra = {}

    def environment(self):
        return {**super().environment(), **self.extra}

    def assert_conforms(self, tag):
        conformance = job.programs.parent / "test" / "provider_test"
        done = subprocess.run([conformance, tag], env=self.environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("skipped", done.stdout)
        self.assertIn("All tests passed", done.stdout)

    def provider(self, **settings):
        return ["--set", "provider=" + json.dumps(settings)]

    def machines(self, change):
        return [event for event in job.events(self.run_folder(), "machine") if event["change"] == change]

    def assert_trains(self, provider):
        """With a worker that is killed on its way."""
        process = self.start(*ENDLESS, "--run", self.run_folder(), *provider)
        self.wait_for_event(self.run_folder(), "iterations", count=3)
        joined = job.events(self.run_folder(), "process_joined")
        os.kill(next(event["pid"] for event in joined if event["role"] == "worker"), signal.SIGKILL)
        self.wait_for_event(self.run_folder(), "membership", count=3, timeout=120)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        report = job.report(self.run_folder())
        self.assertEqual(report["totals"]["iterations_repeated"], 0)
        self.assertGreater(report["totals"]["cost"], 0)
        self.assertEqual(sorted(event["name"] for event in self.machines("ready")),
                         sorted(event["name"] for event in self.machines("released")
                                if not event["name"].startswith("request-")))
        return report


@unittest.skipIf(ssh_server.missing(), f"ssh: {ssh_server.missing()}")
class SshTest(ProviderTest):
    def setUp(self):
        super().setUp()
        self.server = ssh_server.Server()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.accepted = (self.server.folder / "log").read_text().count("Accepted publickey")  # of the server's own start
        self.extra = {"SCAVENGER_TEST_SSH_CONFIG": str(self.server.config), "SCAVENGER_TEST_PROGRAMS": str(job.programs)}

    def over_ssh(self, workers=2, **more):
        hosts = [{"destination": "127.0.0.1", "address": "127.0.0.1", "workers": workers, "price_per_hour": 0.5}]
        return self.provider(type="ssh", hosts=hosts, options=["-F", str(self.server.config)], **more)

    def test_ssh_keeps_the_contract(self):
        self.assert_conforms("[ssh]")

    def test_a_job_over_ssh_loses_a_worker_and_goes_on(self):
        self.assert_trains(self.over_ssh())

    def assert_ends_for(self, reasons, provider):
        """A job none of whose hosts can be used before the user has mended something."""
        said = self.train(*ENDLESS, "--run", self.run_folder(), *provider, check=1)
        for reason in reasons:
            self.assertIn(reason, said)
        self.assertEqual([event for event in job.events(self.run_folder(), "process_started") if event["role"] == "worker"], [])

    def test_hosts_without_the_programs_end_the_job_if_nobody_else_is_left(self):
        self.assert_ends_for(["there is no program /no/such/scavenger-worker"], self.over_ssh(program_folder="/no/such"))

    def test_many_workers_start_over_one_connection(self):
        process = self.start(*ENDLESS[:-1 - ENDLESS[::-1].index("--workers")], "--workers", 4, *ENDLESS[ENDLESS.index("--workers") + 2:],
                             "--run", self.run_folder(), *self.over_ssh(workers=4))
        self.wait_for_event(self.run_folder(), "process_joined", count=5, timeout=120)
        said = (self.server.folder / "log").read_text()
        begun = said.count("Accepted publickey") - self.accepted
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
        self.assertEqual(begun, 1, said)
        self.assertEqual(list(pathlib.Path("/tmp").glob(f"scavenger-ssh-{process.pid}-*")), [])

    def test_a_worker_has_the_words_of_its_site_before_it(self):
        said = self.folder / "said"
        prefix = ["sh", "-c", f'[ "$2" = --version ] || echo "$SITE" >> {said}; exec "$@"', "worker"]
        self.train(*SMALL, "--set", "stop=" + json.dumps({"max_iterations": 5}), "--run", self.run_folder(),
                   *self.over_ssh(prelude=["SITE='two words'", "export SITE"], launch_prefix=prefix))
        self.assertEqual(said.read_text(), 2 * "two words\n")

    def test_a_prelude_that_fails_is_told_before_a_worker_is_started(self):
        self.assert_ends_for(["no module cuda"], self.over_ssh(prelude=["echo no module cuda >&2; false"]))

    def test_a_host_whose_key_is_not_known_is_refused_with_the_remedy(self):
        (self.server.folder / "known_hosts").write_text("")
        self.assert_ends_for(["host key is not known", "known_hosts"], self.over_ssh())

    def test_a_job_goes_on_while_one_host_can_be_used(self):
        wrong = {"destination": "127.0.0.2", "address": "127.0.0.1"}
        right = {"destination": "127.0.0.1", "address": "127.0.0.1", "workers": 1}
        process = self.start(*ENDLESS, "--run", self.run_folder(),
                             *self.provider(type="ssh", hosts=[wrong, right], options=["-F", str(self.server.config)]))
        self.wait_for_event(self.run_folder(), "iterations", count=3, timeout=120)
        self.wait_for_event(self.run_folder(), "machine", count=5)  # it is asked again
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)

    def install(self, *words, check=0):
        done = subprocess.run([job.programs / "scavenger-ctl", "install", "127.0.0.1", "--ssh-option=-F", f"--ssh-option={self.server.config}", *words],
                              env=self.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def test_a_build_is_installed_on_a_host_and_replaced_as_a_whole(self):
        stage, there = self.folder / "stage", self.folder / "it's there"
        (stage / "bin").mkdir(parents=True)
        os.link(job.programs / "scavenger-ps", stage / "bin" / "scavenger-ps")
        (there / "bin").mkdir(parents=True)
        (there / "old").touch()
        self.assertIn("has this build", self.install("--from", stage, "--to", there))
        self.assertEqual(sorted(path.name for path in there.iterdir()), ["bin"])
        (stage / "bin" / "scavenger-ps").unlink()
        (stage / "bin" / "scavenger-ps").write_text("#!/bin/sh\necho scavenger-ps 99\n")
        (stage / "bin" / "scavenger-ps").chmod(0o755)
        self.assertIn("it says scavenger-ps 99", self.install("--from", stage, "--to", there, check=1))
        self.assertGreater((there / "bin" / "scavenger-ps").stat().st_size, 1000)  # the one of before
        self.assertEqual([path.name for path in self.folder.glob("it's there*")], ["it's there"])
        self.assertIn("name the folder of cmake --install", self.install("--from", there / "none", check=2))
        self.assertIn("is where this build was compiled", self.install(check=2))  # the folder of this scavenger-ctl

    def test_a_killed_controller_leaves_no_worker_on_the_hosts(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.over_ssh())
        self.wait_for_event(self.run_folder(), "iterations")
        process.kill()
        process.wait()  # and nothing may be left, as after each test


@unittest.skipIf(slurm_cluster.missing(), f"slurm: {slurm_cluster.missing()}")
class SlurmTest(ProviderTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(nodes=2)  # of two processors each
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.extra = {name: cls.cluster.environment[name] for name in ("PATH", "SLURM_CONF")}
        cls.extra["SCAVENGER_TEST_SLURM"] = "1"

    def assert_no_job_is_left(self):
        deadline = time.monotonic() + 180
        while self.cluster.jobs() and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(self.cluster.jobs(), [])

    def on_slurm(self):
        return self.provider(type="slurm", price_per_hour=0.5)

    def test_slurm_keeps_the_contract(self):
        self.assert_conforms("[slurm]")
        self.assert_no_job_is_left()

    def test_a_job_on_slurm_loses_a_worker_and_goes_on(self):
        self.assert_trains(self.on_slurm())
        self.assert_no_job_is_left()

    def test_a_slurm_job_that_is_signalled_is_left_at_a_boundary(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.on_slurm())
        self.wait_for_event(self.run_folder(), "iterations")
        name = next(event["name"] for event in self.machines("ready") if event["worker"] == 1)
        subprocess.run(["scancel", "--signal=TERM", name.split("-")[1]], env=self.environment(), check=True)
        memberships = self.wait_for_event(self.run_folder(), "membership", count=3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)
        self.assertEqual([event["reason"] for event in memberships[1:3]], ["a worker leaves", "a worker has come"])
        self.assertEqual(job.report(self.run_folder())["totals"]["iterations_repeated"], 0)
        self.assert_no_job_is_left()

    def slurm(self, *words):
        return subprocess.run(list(map(str, words)), env=self.environment(), check=True, capture_output=True, text=True).stdout

    def test_training_goes_on_through_the_end_of_a_job(self):
        """Two workers are in one job, whose time is about to be over: both move to the job that was submitted for them before."""
        provider = self.provider(type="slurm", price_per_hour=0.5, workers_per_job=2, time_limit_minutes=10)
        process = self.start(*ENDLESS, "--run", self.run_folder(), *provider)
        self.wait_for_event(self.run_folder(), "iterations")
        first = {event["name"].split("-")[1] for event in self.machines("ready")}
        self.assertEqual(len(first), 1, "two workers share a job")
        self.slurm("scontrol", "update", "TimeLimit=1", "JobId=" + first.pop())
        deadline = time.monotonic() + 120
        while len(self.machines("ready")) < 4 or len(self.machines("released")) < 2:
            self.assertLess(time.monotonic(), deadline, job.events(self.run_folder(), "machine"))
            time.sleep(0.1)
        done = len(job.trained(self.run_folder()))
        self.wait_for_event(self.run_folder(), "iterations", count=done + 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)
        # Slurm's own signal, or the known end, whichever came first: no third job was submitted.
        self.assertEqual(len({event["name"].split("-")[1] for event in self.machines("ready")}), 2,
                         job.events(self.run_folder(), "machine"))
        names = self.slurm("squeue", "--noheader", "--states=all", "--format=%j").split()
        self.assertEqual(len([name for name in names if name.endswith(f"-{process.pid}")]), 2, names)
        self.assertEqual(job.events(self.run_folder(), "process_lost"), [])
        self.assertEqual(job.report(self.run_folder())["totals"]["iterations_repeated"], 0)
        self.assert_no_job_is_left()

    def test_an_interface_that_no_node_has_ends_the_job_with_the_remedy(self):
        """The nodes here are this machine, so `ip` is asked there for another interface than the one that was named."""
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "ip").write_text(f'#!/bin/sh\nexec {shutil.which("ip")} -oneline address show dev nosuch0\n')
        (folder / "ip").chmod(0o755)
        self.extra = {**self.extra, "PATH": f"{folder}:{self.extra['PATH']}"}
        said = self.train(*ENDLESS, "--run", self.run_folder(), *self.provider(type="slurm", interface="lo"), check=None)
        self.assertIn('Device "nosuch0" does not exist', said)
        self.assertIn("name one that all nodes have, or leave it out", said)
        self.assert_no_job_is_left()

    def state_of(self, number):
        return self.slurm("squeue", "--noheader", "--states=all", "--format=%T", "--jobs=" + number).strip()

    def wait_for_state(self, number, states):
        deadline = time.monotonic() + 120
        while self.state_of(number) not in states:
            self.assertLess(time.monotonic(), deadline, (self.folder / "said").read_text())
            time.sleep(0.2)

    def start_now(self, number):
        """It would wait for two minutes, counted from when its end is complete, which may be after it says that it is pending."""
        deadline = time.monotonic() + 120
        while self.state_of(number) != "RUNNING":
            self.assertLess(time.monotonic(), deadline, (self.folder / "said").read_text())
            subprocess.run(["scontrol", "update", "StartTime=now", "JobId=" + number], env=self.environment(), capture_output=True)
            time.sleep(0.5)

    def test_the_controller_is_a_job_that_is_put_back_into_the_queue(self):
        run = self.run_folder()
        begin = " ".join(map(shlex.quote, self.command(*ENDLESS, "--set", "checkpoint.every_iterations=20", "--run", run, *self.on_slurm())))
        script = self.folder / "controller.sh"
        script.write_text(f"#!/bin/sh\n[ -e {run}/config.json ] || exec {begin}\nexec {shlex.join(self.command('--resume', run))} --quiet\n")
        number = self.slurm("sbatch", "--parsable", "--requeue", "--open-mode=append", f"--output={self.folder}/said", script).strip()
        self.addCleanup(subprocess.run, ["scancel", number], env=self.environment())
        self.wait_for_event(run, "checkpoint", timeout=120)
        before = {event["name"].split("-")[1] for event in self.machines("ready")}
        self.slurm("scontrol", "requeue", number)
        self.wait_for_state(number, ["PENDING", "REQUEUED"])
        self.start_now(number)
        self.assertGreater(self.wait_for_event(run, "start", count=2, timeout=120)[-1]["resumed_from_iteration"], 0)
        deadline = time.monotonic() + 120
        while len(self.machines("ready")) < 4:
            self.assertLess(time.monotonic(), deadline, (self.folder / "said").read_text())
            time.sleep(0.1)
        self.assertFalse(before & set(self.cluster.jobs()), "the jobs of the first controller are cancelled")
        subprocess.run([job.programs / "scavenger-ctl", run, "stop"], env=self.environment(), check=True, capture_output=True)
        self.wait_for_state(number, ["COMPLETED", "FAILED", ""])
        self.assert_no_job_is_left()

    def test_resume_of_a_finished_job_says_so_at_once(self):
        self.train(*SMALL, "--set", "stop=" + json.dumps({"max_iterations": 5}), "--run", self.run_folder(), *self.on_slurm())
        size = (self.run_folder() / "events.jsonl").stat().st_size
        said = self.train("--resume", self.run_folder())
        self.assertIn("this job is finished", said)
        self.assertEqual((self.run_folder() / "events.jsonl").stat().st_size, size)
        self.assert_no_job_is_left()

    def test_an_allocation_is_the_cluster(self):
        conformance = job.programs.parent / "test" / "provider_test"
        words = shlex.join(self.command(*SMALL, "--set", "stop=" + json.dumps({"max_iterations": 20}), "--run", self.run_folder(),
                                        *self.provider(type="slurm", allocation=True, price_per_hour=0.5)))
        done = subprocess.run(["sbatch", "--wait", "--nodes=2", "--ntasks-per-node=2", f"--output={self.folder}/said",
                               f"--wrap={conformance} 'slurm: the nodes of the job around a process are its places' && exec {words}"],
                              env=self.environment(), capture_output=True, text=True, timeout=180)
        said = (self.folder / "said").read_text()
        self.assertEqual(done.returncode, 0, said + done.stderr)
        self.assertIn("All tests passed", said)
        self.assertEqual(job.report(self.run_folder())["status"], "max_iterations")
        self.assertEqual({event["zone"] for event in self.machines("ready")}, {"w1"})  # it has room for both
        self.assert_no_job_is_left()

    def test_a_heterogeneous_allocation_is_refused_with_the_remedy(self):
        words = self.command(*SMALL, "--run", self.run_folder(), *self.provider(type="slurm", allocation=True))
        done = subprocess.run(["salloc", "--quiet", "--nodes=1", ":", "--nodes=1", *words], env=self.environment(), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("ask for all nodes in one component", done.stdout + done.stderr)
        self.assert_no_job_is_left()

    def test_what_a_killed_controller_leaves_in_slurm_is_cleaned(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.on_slurm())
        self.wait_for_event(self.run_folder(), "iterations")
        process.kill()
        process.wait()
        done = subprocess.run([job.programs / "scavenger-ctl", "clean"], env=self.environment(), capture_output=True, text=True)
        self.assertIn("Slurm job", done.stdout)
        self.assert_no_job_is_left()

    def test_what_a_killed_controller_leaves_ends_too_if_the_job_goes_on_elsewhere(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.on_slurm())
        self.wait_for_event(self.run_folder(), "iterations")
        process.kill()
        process.wait()
        self.assertNotEqual(self.cluster.jobs(), [])
        self.train("--resume", self.run_folder(), "--quiet", "--set", "provider=null", "--set", "stop.max_iterations=1")
        self.assert_no_job_is_left()

    def test_an_option_that_sbatch_does_not_know_ends_the_job_with_its_words(self):
        said = self.train(*ENDLESS, "--run", self.run_folder(), *self.provider(type="slurm", options=["--nosuch"]), check=1)
        self.assertIn("nrecognized option", said)

    def test_a_job_begins_with_the_nodes_that_are_free_and_ends_in_time(self):
        """The others are asked for as long as the queue is waited for, which is ten minutes."""
        six = [6 if word == 2 else word for word in ENDLESS]
        self.train(*six, "--run", self.run_folder(), *self.on_slurm(), "--max-time", "25s", timeout=120)
        first = job.events(self.run_folder(), "membership")[0]
        self.assertEqual(first["workers"], 4)
        self.assertEqual(job.report(self.run_folder())["status"], "max_time")
        self.assert_no_job_is_left()


@unittest.skipIf(slurm_cluster.missing(), f"slurm: {slurm_cluster.missing()}")
class SlurmWithGpusTest(ProviderTest):
    """Slurm counts and hands out device files as GPUs; what a worker would compute on is not looked at."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(nodes=1, gpus=2)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.extra = {name: cls.cluster.environment[name] for name in ("PATH", "SLURM_CONF")}

    def test_two_workers_of_a_job_have_a_gpu_each(self):
        prefix = ["sh", "-c", f'[ "$2" = --version ] || echo "$CUDA_VISIBLE_DEVICES" >> {self.folder}/gpus; exec "$@"', "worker"]
        self.train(*SMALL, "--set", "stop=" + json.dumps({"max_iterations": 20}), "--run", self.run_folder(),
                   *self.provider(type="slurm", gpus=1, gpu_type="a100", workers_per_job=2, launch_prefix=prefix, program_folder=str(job.programs)))
        self.assertEqual(sorted((self.folder / "gpus").read_text().split()), ["0", "1"])

    def test_a_type_that_no_node_has_is_refused_in_slurms_words(self):
        said = self.train(*SMALL, "--run", self.run_folder(), *self.provider(type="slurm", gpus=1, gpu_type="h100"), check=None)
        self.assertIn("Requested node configuration is not available", said)


@unittest.skipIf(slurm_cluster.missing(), f"slurm: {slurm_cluster.missing()}")
class SlurmByIpv6Test(ProviderTest):
    """In a network namespace of its own, in which nothing but the loopback has an IPv4 address."""

    def test_workers_reach_the_controller_from_nodes_and_at_the_address_of_an_interface(self):
        """Slurm's own daemons, too, are at an address of IPv6: without EnableIPv6 they would not start here."""
        runs = {"fd00:5ca::1": self.run_folder("of_nodes"), "fd00:5cb::1": self.run_folder("of_interface")}
        jobs = [self.command(*SMALL, "--set", "stop=" + json.dumps({"max_iterations": 20}), "--run", run, *self.provider(type="slurm", **more))
                for run, more in zip(runs.values(), ({}, {"interface": "ib1"}))]
        # Slurm ends what it has cancelled a moment later, and nobody would if its daemons had ended before.
        script = ("import subprocess, sys, time; sys.path.insert(0, sys.argv[1]); import slurm_cluster\n"
                  "with slurm_cluster.Cluster(nodes=1, address='fd00:5ca::1') as cluster:\n"
                  "    done = subprocess.run(['sh', '-e', '-c', sys.argv[2]], env=cluster.environment)\n"
                  "    while cluster.jobs(): time.sleep(0.2)\n"
                  "sys.exit(done.returncode)")
        inside = [sys.executable, "-c", script, str(job.SOURCE / "test/support"), " && ".join(map(shlex.join, jobs))]
        words = ["ip link set lo up", "ip link add ib0 type veth peer name ib1", "ip -6 addr add fd00:5ca::1/64 dev ib0 nodad",
                 "ip -6 addr add fd00:5cb::1/64 dev ib1 nodad", "ip link set ib1 up", "ip link set ib0 up", "exec " + shlex.join(inside)]
        done = subprocess.run(["unshare", "--net", "sh", "-e", "-c", "\n".join(words)], env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for address, run in runs.items():
            self.assertEqual(job.report(run)["status"], "max_iterations")
            self.assertIn(address, "".join(path.read_text(errors="replace") for path in run.rglob("*.log")))


if __name__ == "__main__":
    job.main()
