#!/usr/bin/env python3
"""scavenger-md beside what others published: NIST's Lennard-Jones fluid, conserved energy, LAMMPS profiles of ions.

    test/study/simulations.py build/release/bin --out DIR [--data SHARED_DATA/md] [--processes 2]

About half an hour of one core. Simulations that are in DIR already only go on if they are not complete, so it can be interrupted.
Prints the tables of docs/results/simulations.md. A profile agrees in a bin if the difference is within the published error bar; own
profiles are folded about the middle and averaged over five published points, as their statistical error is larger.
"""

import argparse
import concurrent.futures
import csv
import gzip
import json
import pathlib
import subprocess

FLUIDS = [(0.85, 0.776), (0.85, 0.86), (0.9, 0.776), (0.9, 0.86)]
IONS = {(4.0, 1.0, -0.01): 1000000, (4.0, 0.1, -0.02): 1000000, (5.0, 0.1, -0.01): 1000000, (4.4, 0.5, -0.02): 1000000,
        (5.0, 1.0, -0.02): 600000, (4.0, 2.0, -0.01): 300000}


def simulate(programs, folder, *arguments):
    words = [programs / "scavenger-md", *arguments, "--folder", folder, "--checkpoint-every", 20000]
    print(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout, end="", flush=True)
    return json.loads((folder / "result.json").read_text())


def fluid(arguments, temperature, density):
    return simulate(arguments.programs, arguments.out / f"lj_{temperature}_{density}", "fluid", "--temperature", temperature, "--density",
                    density, "--until", 60000, "--time-step", 0.004, "--equilibration-steps", 5000, "--sample-every", 10,
                    "--samples-per-block", 250)


def conserved(arguments):
    """The energy of five stretches of 20,000 steps each."""
    common = ("fluid", "--force", "shifted-force", "--cutoff", 2.5, "--ensemble", "nve", "--time-step", 0.002, "--equilibration-steps",
              10000, "--sample-every", 10, "--samples-per-block", 2000)
    totals = []
    for until in range(30000, 110001, 20000):
        result = simulate(arguments.programs, arguments.out / "nve", *common, "--until", until)
        totals.append(result["energy"] * result["samples"])
    counts = [2000] * 5
    return [(total - before) / count for total, before, count in zip(totals, [0.0, *totals], counts)]


def ions(arguments, point):
    slit, concentration, charge = point
    folder = arguments.out / f"ions_{slit}_{concentration}_{charge}"
    simulate(arguments.programs, folder, "electrolyte", "--slit", slit, "--concentration", concentration, "--surface-charge", charge,
             "--until", IONS[point], "--equilibration-steps", 40000, "--samples-per-block", 1000)
    with open(folder / "profile.csv", encoding="utf-8") as file:
        return [tuple(float(row[name]) for name in ("z_nm", "positive_M", "negative_M")) for row in csv.DictReader(file)]


def published(data):
    found = {}
    with gzip.open(data / "density_profiles_162.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            point = tuple(float(row[name]) for name in ("Z_nm", "c_M", "sigma_C_per_m2"))
            found.setdefault(point, []).append(tuple(float(row[name]) for name in (
                "z_nm", "pos_density_M", "neg_density_M", "pos_err_M", "neg_err_M")))
    return found


def interpolated(profile, species, z):
    if z <= profile[0][0] or z >= profile[-1][0]:
        return 0.0
    step = profile[1][0] - profile[0][0]
    k = min(int((z - profile[0][0]) / step), len(profile) - 2)
    share = (z - profile[k][0]) / step
    return profile[k][species] * (1 - share) + profile[k + 1][species] * share


def smooth(values, width):
    half = width // 2
    return [sum(values[max(0, i - half):i + half + 1]) / len(values[max(0, i - half):i + half + 1]) for i in range(len(values))]


def agreement(own, theirs, species):
    folded = [(interpolated(own, species, p[0]) + interpolated(own, species, -p[0])) / 2 for p in theirs]
    other = [p[species] for p in theirs]
    other_folded = [(a + b) / 2 for a, b in zip(other, reversed(other))]
    errors = [p[species + 2] for p in theirs]
    within = [abs(a - b) <= error for a, b, error in zip(smooth(folded, 5), smooth(other_folded, 5), errors)]
    filled = [hit for hit, value in zip(within, other) if value > 0]
    rms = (sum((a - b) ** 2 for a, b in zip(folded, other_folded)) / len(folded)) ** 0.5
    return sum(within) / len(within), sum(filled) / len(filled), sum(folded) / sum(other) - 1, rms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "md")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", choices=("fluids", "energy", "ions"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pool = concurrent.futures.ThreadPoolExecutor(arguments.processes)
    if arguments.only in (None, "fluids"):
        with open(arguments.data / "nist_lj_nvt_rc3_lrc.csv", encoding="utf-8") as file:
            nist = {(float(row["T"]), float(row["rho"])): row for row in csv.DictReader(file)}
        print("| T, rho | U | U of NIST | P | P of NIST |\n| --- | --- | --- | --- | --- |")
        results = pool.map(lambda point: fluid(arguments, *point), FLUIDS)
        for point, result in zip(FLUIDS, results):
            print(f"| {point[0]}, {point[1]} | {result['potential_energy']:.4f} +- {result['potential_energy_error']:.4f} | "
                  f"{nist[point]['U_per_atom']} | {result['pressure']:.4f} +- {result['pressure_error']:.4f} | {nist[point]['pressure']} |")
    if arguments.only in (None, "energy"):
        energies = conserved(arguments)
        print("energy per atom in five stretches:", " ".join(f"{energy:.6f}" for energy in energies),
              f"; drift {(energies[-1] - energies[0]) / abs(energies[0]) / 4 * 5:+.1e} of it in 1e5 steps")
    if arguments.only in (None, "ions"):
        group = published(arguments.data)
        print("| Z nm, c mol/l, C/m^2 | ions | all bins | bins with ions | total | rms mol/l |\n| --- | --- | --- | --- | --- | --- |")
        for point, own in zip(IONS, pool.map(lambda point: ions(arguments, point), IONS)):
            for species, name in ((1, "+"), (2, "-")):
                within, filled, total, rms = agreement(own, group[point], species)
                print(f"| {point[0]}, {point[1]}, {point[2]} | {name} | {within:.3f} | {filled:.3f} | {total:+.4f} | {rms:.4f} |")


if __name__ == "__main__":
    main()
