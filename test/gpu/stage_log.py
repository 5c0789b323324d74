"""The results of a stage of gpu_check.py: one JSON document and one table, whole at any instant.

A case is written down when it begins and when it ends, so that a run that is cut off goes on with the case that it was
in, and gives it up when it was cut off in it twice.
"""

import json
import os
import platform
import subprocess

MOST_ATTEMPTS = 2
DONE, FAILED, BEGUN = "done", "failed", "begun"


def replace_file(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def machine():
    """What the numbers were measured on."""
    gpus = []
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60, check=True)
        gpus = asked.stdout.strip().splitlines()
    except (OSError, subprocess.SubprocessError):
        pass  # a machine without a GPU has no such program
    return {"cores": len(os.sched_getaffinity(0)), "system": platform.platform(), "gpus": gpus}


class Check:
    """A number and its limit. A target says what is wanted; everything else is what must be."""

    def __init__(self, what, value, limit, at_least=False, is_target=False):
        self.what, self.value, self.limit = what, value, limit
        self.at_least, self.is_target = at_least, is_target

    def holds(self):
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def document(self):
        return {"what": self.what, "value": self.value, "limit": self.limit, "at_least": self.at_least,
                "is_target": self.is_target, "holds": self.holds()}


class StageLog:
    def __init__(self, folder, stage, fingerprint, on):
        self.stage = stage
        self.path = folder / f"{stage}.json"
        self.table = folder / f"{stage}.md"
        self.document = {"stage": stage, "fingerprint": fingerprint, "machine": on, "cases": {}}
        try:
            before = json.loads(self.path.read_text())
            if before["fingerprint"] == fingerprint:
                self.document["cases"] = before["cases"]
        except (OSError, ValueError, KeyError):
            pass  # nothing, or nothing that can be gone on with

    def is_over(self, case):
        return self.document["cases"].get(case, {}).get("state") in (DONE, FAILED)

    def begin(self, case):
        """Returns whether it may be tried (once more)."""
        entry = self.document["cases"].setdefault(case, {"state": BEGUN, "attempts": 0})
        if entry["attempts"] >= MOST_ATTEMPTS:
            self.end(case, FAILED, error=f"it was cut off {MOST_ATTEMPTS} times")
            return False
        entry["attempts"] += 1
        self.write()
        return True

    def end(self, case, state, values=None, checks=(), error="", seconds=0.0):
        entry = self.document["cases"][case]
        entry.update(state=state, values=values or {}, checks=[check.document() for check in checks], seconds=seconds)
        if error:
            entry["error"] = error
        self.write()

    def write(self):
        replace_file(self.path, json.dumps(self.document, indent=1) + "\n")
        replace_file(self.table, self.text())

    def has_failed(self):
        """A case failed, or a number is not what it must be; targets that are missed are no failure."""
        return any(case["state"] == FAILED or any(not check["holds"] and not check["is_target"] for check in case.get("checks", ()))
                   for case in self.document["cases"].values())

    def text(self):
        on = self.document["machine"]
        lines = [f"# {self.stage}", "", f"{', '.join(on['gpus']) or 'no GPU'}; {on['cores']} cores; {on['system']}", "",
                 "| case | value | number |", "| --- | --- | --- |"]
        for name, case in self.document["cases"].items():
            if case["state"] != DONE:
                lines.append(f"| {name} | {case['state']} | {case.get('error', '').splitlines()[-1:] or ''} |")
            lines += [f"| {name} | {key} | {shown(value)} |" for key, value in case.get("values", {}).items()]
        lines += ["", "| case | check | value | limit | |", "| --- | --- | --- | --- | --- |"]
        for name, case in self.document["cases"].items():
            for check in case.get("checks", ()):
                verdict = "holds" if check["holds"] else "target missed" if check["is_target"] else "FAILED"
                sign = ">=" if check["at_least"] else "<="
                lines.append(f"| {name} | {check['what']} | {shown(check['value'])} | {sign} {shown(check['limit'])} | {verdict} |")
        return "\n".join(lines) + "\n"


def shown(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)
