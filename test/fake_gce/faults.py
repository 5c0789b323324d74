"""What goes wrong, and how often: drawn from a seed, so that a run can be had again.

Each rate is the share of requests (or of VMs, or of operations) that it happens to.
"""

import random

RATES = {
    "reply_lost": "a change is carried out, and the connection ends without a reply",
    "late": "the connection ends, and the change is carried out a while later",
    "duplicate": "a change is delivered a second time a while later",
    "error_before": "503, and nothing is done",
    "error_after": "503 for a change that is carried out",
    "rate_limit": "429, for this request and the next two",
    "stock_out": "the operation fails: no such machine now",
    "operation_error": "the operation fails with an internal error",
    "slow_wait": "wait answers at once, though the operation goes on",
    "lost_operation": "wait knows no such operation",
    "token_expiry": "the token is not taken any more",
    "no_notice": "a VM is taken without a word before",
}
BURST = 3


class FaultPlan:
    """Call with the cloud's lock held."""

    def __init__(self, rates, seed):
        unknown = set(rates) - set(RATES)
        if unknown:
            raise ValueError(f"unknown faults {sorted(unknown)}; known: {sorted(RATES)}")
        self._rates = rates
        self._random = random.Random(f"{seed} faults")
        self._burst = 0
        self.happened = dict.fromkeys(RATES, 0)

    def strikes(self, name):
        if name == "rate_limit" and self._burst > 0:
            self._burst -= 1
            return True
        if self._random.random() >= self._rates.get(name, 0.0):
            return False
        self.happened[name] += 1
        if name == "rate_limit":
            self._burst = BURST - 1
        return True


def quantile(table, share):
    """The value below which `share` of a measured distribution lies; between its points, linearly."""
    for (low, least), (high, most) in zip(table, table[1:]):
        if share <= high:
            return least + (most - least) * (share - low) / (high - low)
    return table[-1][1]


# Of 1,440 real inserts in 2019 (seconds from request to the operation's end), and of stops.
INSERT_SECONDS = [(0.0, 3.0), (0.05, 5.0), (0.25, 13.0), (0.5, 20.5), (0.75, 29.0), (0.95, 47.0), (0.99, 76.0), (1.0, 113.0)]
DELETE_SECONDS = [(0.0, 20.0), (0.5, 78.0), (0.95, 132.0), (1.0, 180.0)]


class SpotLives:
    """How long a spot VM lives: many are taken in the first hour, the others at a constant rate. Or as a table says, whose
    rows are hours and the share of VMs that are gone by then; those beyond its last share live on."""

    def __init__(self, early_share=0.22, early_hours=1.1, mean_hours=16.9, table=None):
        self._early_share, self._early_hours, self._mean_hours = early_share, early_hours, mean_hours
        self._table = table and [(share, hours) for hours, share in [(0, 0), *table]]

    def draw(self, stream):
        """Seconds."""
        if self._table:
            share = stream.random()
            return 3600.0 * quantile(self._table, share) if share <= self._table[-1][0] else float("inf")
        late = stream.expovariate(1.0 / self._mean_hours)
        early = stream.expovariate(1.0 / self._early_hours) if stream.random() < self._early_share else float("inf")
        return 3600.0 * min(early, late)
