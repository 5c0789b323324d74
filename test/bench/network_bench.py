"""Synchronisation and SGD-momentum step between hosts with links of 1 Gbit/s, in seconds against K: ours and Gloo, in turns.

    sudo .venv/bin/python test/bench/network_bench.py [--workers 2 4 8] [--megabytes 45] [--rate 1gbit] [--json FILE]

A host is a network namespace of this machine behind a shaped link (tc tbf, both directions), so it needs root. One worker runs on
each of K hosts, with a gradient of so many megabytes.

  one shard       ours, with one shard on a host of its own: it receives and sends K models
  spread shards   ours, with a shard on each worker's host: a host receives and sends 2 (K - 1) / K models
  Gloo            all-reduce, whose ring moves as much per host as spread shards, and torch.optim.SGD's fused step

"of the link" is the least time that those bytes need at the speed of one plain TCP stream between two hosts, measured in the same
rounds, over the time that was measured: 1 is the limit. It can come out above 1 by what a queue holds.
"""

import contextlib
import sys

import comparison
import sync_contestants as contestants
from sync_contestants import Place, Setting

sys.path.insert(0, str(comparison.SOURCE / "test" / "support"))
import namespaces  # noqa: E402


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--megabytes", type=float, default=45)
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--rate", default="1gbit", help="of each link and direction, as tc writes it (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="synchronisations in a turn (default: %(default)s)")
    options = parser.parse_args()
    if options.quick:
        options.megabytes, options.workers, options.rounds, options.turns = 2, [2], 1, 1
    return options


def limits(floats, workers, bytes_per_second):
    """Seconds that a host's link needs for the bytes it must carry in each direction."""
    seconds = 4 * floats / bytes_per_second
    spread = 2 * (workers - 1) / workers * seconds
    return {"one shard": workers * seconds, "spread shards": spread, "Gloo": spread}


def measure(options, workers):
    with namespaces.Network(hosts=workers + 1, rate=options.rate) as network:
        places = [Place(host.address, host.prefix, "eth0") for host in network.hosts]
        setting = Setting(options.build, contestants.floats_of(options.megabytes), places[:workers], options.turns)
        contexts = {"one shard": contestants.over_tcp(setting, places[workers:]), "Gloo": contestants.gloo(setting)}
        if workers <= contestants.chunks_of(setting.floats):
            contexts["spread shards"] = contestants.over_tcp(setting, places[:workers], spread=True)
        with contextlib.ExitStack() as stack:
            turn_of = {name: stack.enter_context(context) for name, context in contexts.items()}
            turn_of["link"] = lambda: namespaces.link_gigabytes_per_second(*network.hosts[:2], seconds=0.5)
            values = comparison.measure_in_turns(turn_of, options.rounds)
    link = values.pop("link")
    case = comparison.Case(f"K = {workers}", values)
    least = limits(setting.floats, workers, 1e9 * sorted(link)[len(link) // 2])
    case.facts = {"workers": workers, "megabytes": options.megabytes, "rate": options.rate, "turns": options.turns,
                  "link_gigabytes_per_second": link,
                  "of_the_link": {name: least[name] / case.median(name) for name in values}}
    return case


def main():
    options = parse()
    reason = namespaces.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    report = comparison.Report(f"Synchronisation of {options.megabytes:g} MB over links of {options.rate}", "seconds", options)
    shares = []
    for workers in options.workers:
        case = measure(options, workers)
        report.add(case, [("Gloo / spread", "Gloo", "spread shards")])
        shares.append([case.name, *(f"{share:.2f}" for share in case.facts["of_the_link"].values())])
        names = list(case.facts["of_the_link"])
    report.finish()
    print("", *comparison.table(["of the link", *names], shares), sep="\n")


if __name__ == "__main__":
    main()
