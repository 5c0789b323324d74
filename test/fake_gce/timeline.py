"""Time in the fake cloud: faster than ours by a factor, with things that happen at their time."""

import datetime
import heapq
import itertools
import threading
import time

EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class Timeline:
    """Seconds of the cloud since its start. All that is planned happens under one lock, in order of time."""

    def __init__(self, scale):
        self.scale = scale
        self.lock = threading.Condition()
        self._start = time.monotonic()
        self._planned = []
        self._number = itertools.count()
        threading.Thread(target=self._run, daemon=True).start()

    def now(self):
        return (time.monotonic() - self._start) * self.scale

    def plan(self, seconds, action):
        """`action` is called with the lock held. Call with the lock held."""
        heapq.heappush(self._planned, (self.now() + seconds, next(self._number), action))
        self.lock.notify_all()

    def wait(self, seconds):
        """Until something has happened, at most for that long. Call with the lock held."""
        self.lock.wait(max(0.0, seconds / self.scale))

    def text(self, seconds=None):
        moment = EPOCH + datetime.timedelta(seconds=self.now() if seconds is None else seconds)
        return moment.isoformat(timespec="milliseconds")

    def _run(self):
        with self.lock:
            while True:
                if not self._planned:
                    self.lock.wait()
                    continue
                due = self._planned[0][0]
                if due > self.now():
                    self.wait(due - self.now())
                    continue
                heapq.heappop(self._planned)[2]()
                self.lock.notify_all()
