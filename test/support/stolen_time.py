"""Processor time that the host gave to other virtual machines while this one wanted it: seconds measured meanwhile say nothing."""

import time

TICKS = "/proc/stat"
STEAL = 7  # of the counters in its first line
ACCOUNTED = 8  # those after it are parts of others


def _counters():
    with open(TICKS) as lines:
        return [int(word) for word in lines.readline().split()[1:1 + ACCOUNTED]]


class StolenTime:
    """From its making on."""

    def __init__(self):
        self.begin = _counters()

    def share(self):
        """Of all processors' time."""
        spent = [now - before for before, now in zip(self.begin, _counters())]
        return spent[STEAL] / sum(spent) if sum(spent) else 0.0


def busy_for(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def wait_until_undisturbed(most_stolen, notice=print, probe_seconds=3):
    """Nothing is stolen from who wants nothing, so each probe keeps a processor busy, and then lets it rest for longer."""
    told = False
    while True:
        stolen = StolenTime()
        busy_for(probe_seconds)
        if (share := stolen.share()) <= most_stolen:
            return
        if not told:
            notice(f"other virtual machines take {100 * share:.0f} % of this one's time: waiting until they do not")
            told = True
        time.sleep(3 * probe_seconds)
