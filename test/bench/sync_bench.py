"""Synchronisation and SGD-momentum step alone, in milliseconds: ours against Gloo's all-reduce and PyTorch's step, in turns.

    .venv/bin/python test/bench/sync_bench.py [--megabytes 1 11 45 100] [--workers 2 4] [--json FILE]

K processes on this machine, each with a gradient of so many megabytes that it has just written; all begin at the same time.

  shared memory  ours between processes of one host
  TCP, S = n     ours over TCP on loopback, with n shards, as on a host of their own
  TCP, spread    ours over TCP on loopback, as between K hosts with a worker and a shard on each
  Gloo           one all-reduce, then torch.optim.SGD's fused step; "Gloo / 4" makes four all-reduces at the same time
  memory limit   a triad that moves as many bytes as summing and stepping does, on all cores
  wire limit     the same bytes through plain sockets between the workers and one server, nothing computed
"""

import contextlib

import comparison
import sync_contestants as contestants
from sync_contestants import Place, Setting

RATIOS = [("Gloo / shared memory", "Gloo", "shared memory"), ("shared memory / memory limit", "shared memory", "memory limit"),
          ("Gloo / TCP, spread", "Gloo", "TCP, spread"), ("Gloo / TCP, S = 1", "Gloo", "TCP, S = 1"), ("Gloo / TCP, S = 2", "Gloo", "TCP, S = 2"),
          ("TCP, S = 1 / wire limit", "TCP, S = 1", "wire limit")]


def parse():
    parser = comparison.parser(__doc__, rounds=5)
    parser.add_argument("--megabytes", nargs="+", type=float, default=[1, 11, 45, 100])
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2], help="for TCP (default: %(default)s)")
    parser.add_argument("--turn-megabytes", type=float, default=1000,
                        help="a turn synchronises as often as adds up to this, 5 to 100 times (default: %(default)s)")
    options = parser.parse_args()
    if options.quick:
        options.megabytes, options.workers, options.shards, options.rounds, options.turn_megabytes = [1], [2], [1], 1, 5
    return options


def measure(options, megabytes, workers):
    turns = min(100, max(5, round(options.turn_megabytes / megabytes)))
    setting = Setting(options.build, contestants.floats_of(megabytes), [Place()] * workers, turns)
    contexts = {"shared memory": contestants.in_shared_memory(setting)}
    contexts |= {f"TCP, S = {shards}": contestants.over_tcp(setting, [Place()] * shards) for shards in options.shards
                 if shards <= contestants.chunks_of(setting.floats)}
    if workers <= contestants.chunks_of(setting.floats):
        contexts["TCP, spread"] = contestants.over_tcp(setting, setting.places, spread=True)
    contexts |= {"Gloo": contestants.gloo(setting), "Gloo / 4": contestants.gloo(setting, pieces=4),
                 "memory limit": contestants.memory_limit(setting), "wire limit": contestants.wire_limit(setting)}
    with contextlib.ExitStack() as stack:
        turn_of = {name: stack.enter_context(context) for name, context in contexts.items()}
        values = comparison.measure_in_turns(turn_of, options.rounds)
    facts = {"megabytes": megabytes, "workers": workers, "turns": turns}
    milliseconds = {name: [1e3 * seconds for seconds in series] for name, series in values.items()}
    return comparison.Case(f"{megabytes:g} MB, K = {workers}", milliseconds, facts)


def main():
    options = parse()
    report = comparison.Report("Synchronisation and SGD-momentum step", "ms", options)
    for workers in options.workers:
        for megabytes in options.megabytes:
            report.add(measure(options, megabytes, workers), RATIOS)
    report.finish()


if __name__ == "__main__":
    main()
