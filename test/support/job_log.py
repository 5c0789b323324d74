"""What a job has logged: events.jsonl of its run folder, which may still be written."""

import json
import pathlib


def events(run, name=None):
    """All of them, or those of this name. A line without an end is not read."""
    path = pathlib.Path(run) / "events.jsonl"
    if not path.exists():
        return []
    whole = path.read_text().rsplit("\n", 1)[0]
    parsed = [json.loads(line) for line in whole.splitlines() if line]
    return [event for event in parsed if name is None or event["event"] == name]
