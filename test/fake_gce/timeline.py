"""Time in the fake cloud: faster than ours by a factor, with things that happen at their time."""

import datetime
import heapq
import itertools
import threading
import time

EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


TICK_SECONDS = 0.005
LONGEST_STEP_SECONDS = 0.02


class Timeline:
    """Seconds of the cloud since its start. All that is planned happens under one lock, in order of time.

    Where this machine is too busy for us, the cloud's time slows down instead of jumping: else a second in which nobody could answer
    would be minutes of a cloud that is faster by hundreds, and its clients would be blamed for them.
    """

    def __init__(self, scale):
        self.scale = scale
        self.lock = threading.Condition()
        self._now, self._looked = 0.0, time.monotonic()
        self._planned = []
        self._number = itertools.count()
        threading.Thread(target=self._run, daemon=True).start()

    def now(self):
        """Call with the lock held."""
        looked = time.monotonic()
        self._now += min(looked - self._looked, LONGEST_STEP_SECONDS) * self.scale
        self._looked = looked
        return self._now

    def plan(self, seconds, action):
        """`action` is called with the lock held. Call with the lock held."""
        heapq.heappush(self._planned, (self.now() + seconds, next(self._number), action))

    def wait(self, seconds):
        """Until something has happened, at most for that long. Call with the lock held."""
        self.lock.wait(max(0.0, seconds / self.scale))

    def text(self, seconds=None):
        moment = EPOCH + datetime.timedelta(seconds=self.now() if seconds is None else seconds)
        return moment.isoformat(timespec="milliseconds")

    def _run(self):
        while True:
            time.sleep(TICK_SECONDS)
            with self.lock:
                now = self.now()
                while self._planned and self._planned[0][0] <= now:
                    heapq.heappop(self._planned)[2]()
                    self.lock.notify_all()
