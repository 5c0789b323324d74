"""Contestants measured in turns, so that all meet the same neighbours; their medians and ratios as a table and JSON."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "support"))
from stolen_time import StolenTime  # noqa: E402


@dataclasses.dataclass
class Case:
    """What was measured under one set of conditions: several values for each contestant, one per round."""

    name: str
    values: dict
    facts: dict = dataclasses.field(default_factory=dict)

    def median(self, contestant):
        return statistics.median(self.values[contestant])

    def ratio(self, contestant, reference):
        return self.median(contestant) / self.median(reference)


def measure_in_turns(contestants, rounds):
    """contestants: name -> function that measures once and returns a number. Each round begins with another one."""
    values = {name: [] for name in contestants}
    names = list(contestants)
    for round_ in range(rounds):
        for name in names[round_ % len(names):] + names[:round_ % len(names)]:
            values[name].append(contestants[name]())
    return values


def parser(description, rounds):
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), default=SOURCE / "build" / "release",
                           help="the build folder with the programs in bin/ and bench/ (default: %(default)s)")
    arguments.add_argument("--rounds", type=int, default=rounds, help="turns of each contestant (default: %(default)s)")
    arguments.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there, too")
    arguments.add_argument("--quick", action="store_true",
                           help="seconds instead of minutes: shows that it works; its numbers mean nothing")
    return arguments


def machine(build):
    """The circumstances that belong to every number."""
    with open("/proc/cpuinfo") as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    version = subprocess.run([build / "bin" / "scavenger-train", "--version"], capture_output=True, text=True).stdout
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_average": os.getloadavg(),
        "scavenger": version.strip(),
        "torch": torch_version(),
    }


def torch_version():
    try:
        import torch
    except ImportError:
        return None
    return torch.__version__


def table(header, rows):
    """Lines of text; the first column to the left, the others to the right."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [" | ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
             for row in cells]
    return [lines[0], "-|-".join("-" * width for width in widths), *lines[1:]]


class Report:
    """Prints what comes in, and writes all of it as JSON at the end."""

    def __init__(self, subject, unit, options):
        self.options = options
        self.stolen = StolenTime()
        self.document = {"benchmark": subject, "unit": unit, "quick": options.quick, "before": machine(options.build),
                         "cases": []}
        load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
        facts = self.document["before"]
        print(f"{subject}, in {unit}; {facts['cores']} cores of {facts['cpu']}; load average {load}; {facts['date']}")

    def add(self, case, ratios=()):
        """ratios: (what is compared, contestant, reference)."""
        compared = {label: case.ratio(contestant, reference) for label, contestant, reference in ratios
                    if contestant in case.values and reference in case.values}
        medians = {name: case.median(name) for name in case.values}
        self.document["cases"].append({"case": case.name, "medians": medians, "ratios": compared, **case.facts,
                                       "values": case.values})
        print(f"  {case.name}: " + ", ".join(f"{name} {number(value)}" for name, value in medians.items()), flush=True)

    def finish(self):
        for line in self.lines():
            print(line)
        self.document["load_average_after"] = os.getloadavg()
        self.document["stolen_share"] = self.stolen.share()
        print(f"other virtual machines took {100 * self.stolen.share():.1f} % of this one's processor time")
        if self.options.json:
            self.options.json.write_text(json.dumps(self.document, indent=1) + "\n")
        if self.options.quick:
            print("--quick: these numbers mean nothing", file=sys.stderr)

    def lines(self):
        cases = self.document["cases"]
        names = in_order_of_appearance(case["medians"] for case in cases)
        labels = in_order_of_appearance(case["ratios"] for case in cases)
        rows = [[case["case"], *(number(case["medians"].get(name)) for name in names),
                 *(number(case["ratios"].get(label)) for label in labels)] for case in cases]
        return ["", *table([self.document["unit"], *names, *labels], rows)]


def in_order_of_appearance(dictionaries):
    return list(dict.fromkeys(key for dictionary in dictionaries for key in dictionary))


def number(value):
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.1f}"
