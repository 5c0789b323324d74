#!/usr/bin/env python3
"""Makes the built-in price catalog of Compute Engine from a table of list prices by machine type.

    .venv/bin/python scripts/derive_gcp_prices.py PRICES.csv --as-of 2026-07-30 > cloud_gcp/pricing/prices/2026-07-30.json

The table has machine_type, vcpu, mem_gib, gpu, gpu_count, region, usd_hour_ondemand, usd_hour_spot. Compute Engine sells vCPUs, GiB
and GPUs; least squares finds what each costs in a series, and a series is kept where that gives each listed price to 1e-6. Machines
with local disks have other parts and are left out, and so are bare ones of which this is not true.
"""
import argparse
import collections
import csv
import json
import re

import numpy

# Published prices of GPUs that are added to N1 machines, in dollars per hour: on demand, spot.
ADDED_GPUS = {"us-central1": {"nvidia-tesla-t4": [0.35, 0.175], "nvidia-tesla-v100": [2.48, 1.1458], "nvidia-tesla-p4": [0.60, 0.2484]}}
CUSTOM_FACTORS = {"n1": 1.05, "n2": 1.05, "n2d": 1.05, "e2": 1.0}
TOLERANCE = 1e-6


def series_of(machine_type):
    words = machine_type.split("-")
    return "-".join(words[:2]) if re.fullmatch("a[2-9]", words[0]) else words[0]


def is_made_of_parts(row):
    return "lssd" not in row["machine_type"] and row["machine_type"].split("-")[0] not in ("custom", "f1", "g1")


def parts_of(row):
    return [float(row["vcpu"]), float(row["mem_gib"]), float(row["gpu_count"])]


def unit_prices(rows, column):
    """[per vCPU, per GiB, per GPU] and hour, or None. Parts that always come together are charged to one of them."""
    rows = [row for row in rows if not row["machine_type"].endswith("-metal")]
    if not rows or not all(row[column] for row in rows):
        return None
    prices = numpy.array([float(row[column]) for row in rows])
    parts = numpy.array([parts_of(row) for row in rows])
    used = []
    for part in (2, 0, 1):
        if numpy.linalg.matrix_rank(parts[:, used + [part]], tol=1e-9) > len(used):
            used.append(part)
    found, *_ = numpy.linalg.lstsq(parts[:, used], prices, rcond=None)
    if numpy.max(numpy.abs(parts[:, used] @ found / prices - 1)) > TOLERANCE or numpy.min(found) < 0:
        return None
    return [float(f"{found[used.index(part)]:.10g}") if part in used else 0.0 for part in range(3)]


def is_priced(row, on_demand, spot):
    return all(row[column] and abs(numpy.dot(parts_of(row), prices) / float(row[column]) - 1) <= TOLERANCE
               for column, prices in (("usd_hour_ondemand", on_demand), ("usd_hour_spot", spot)))


def catalog(path, as_of, source):
    groups, types = collections.defaultdict(list), {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in filter(is_made_of_parts, csv.DictReader(file)):
            groups[row["region"], series_of(row["machine_type"])].append(row)
    regions = collections.defaultdict(lambda: {"series": {}, "gpus": {}})
    for (region, series), rows in sorted(groups.items()):
        on_demand, spot = unit_prices(rows, "usd_hour_ondemand"), unit_prices(rows, "usd_hour_spot")
        if on_demand is None or spot is None:
            continue
        regions[region]["series"][series] = [on_demand, spot]
        for row in (row for row in rows if is_priced(row, on_demand, spot)):
            shape = [float(row["vcpu"]), float(row["mem_gib"])]
            types[row["machine_type"]] = shape + [row["gpu"], float(row["gpu_count"])] if row["gpu"] else shape
    for region, gpus in ADDED_GPUS.items():
        regions[region]["gpus"] = gpus
    return {"as_of": as_of, "currency": "USD", "source": source, "custom_factors": CUSTOM_FACTORS,
            "machine_types": dict(sorted(types.items())), "regions": regions}


def print_catalog(made):
    """One line for each machine type and each series: a change of prices is a readable difference."""
    compact = lambda value: json.dumps(value, separators=(",", ":"))
    line = lambda key, value: f"{json.dumps(key)}: {compact(value)}"
    print("{")
    for key in ("as_of", "currency", "source", "custom_factors"):
        print(f"{json.dumps(key)}: {json.dumps(made[key])},")
    print('"machine_types": {\n' + ",\n".join(line(*item) for item in made["machine_types"].items()) + "\n},")
    print('"regions": {')
    print(",\n".join(f'{json.dumps(name)}: {{"gpus": {compact(region["gpus"])}, "series": {{\n'
                     + ",\n".join(line(*item) for item in region["series"].items()) + "\n}}" for name, region in made["regions"].items()))
    print("}\n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prices")
    parser.add_argument("--as-of", required=True)
    parser.add_argument("--source", default="list prices of the Cloud Billing Catalog, by Cyclenerd/google-cloud-pricing-cost-calculator (Apache-2.0)")
    arguments = parser.parse_args()
    print_catalog(catalog(arguments.prices, arguments.as_of, arguments.source))


if __name__ == "__main__":
    main()
