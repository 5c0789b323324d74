"""A plot (SVG) of a job whose worker was throttled and freed: samples and seconds of each worker over time."""

import math

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 960, 240, 70, 130, 50, 60
COLORS = ("#1f6fb4", "#d1495b", "#2e8b57", "#8a5fbf")


def polyline(points, color, width=1.5):
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{text}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def label(x, y, text, anchor="start", color="#222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{text}</text>'


def round_top(most):
    """The end of an axis of four steps, each of them 1, 2, 2.5 or 5 times a power of ten, of at least `most`."""
    power = 10 ** math.floor(math.log10(most / 4))
    return next(4 * factor * power for factor in (1, 2, 2.5, 5, 10) if 4 * factor * power >= most)


class Panel:
    def __init__(self, number, title, unit, end, most):
        self.top = TOP + number * (PANEL + GAP)
        self.end, self.most = end, round_top(most)
        self.parts = [f'<rect x="{LEFT}" y="{self.top}" width="{WIDTH - LEFT - RIGHT}" height="{PANEL}" fill="none" stroke="#999"/>',
                      label(LEFT, self.top - 8, f"{title}, {unit}")]
        for step in range(5):
            value = self.most * step / 4
            self.parts.append(label(LEFT - 8, self.y(value) + 4, f"{value:g}", "end"))
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}" stroke="#eee"/>')

    def x(self, time):
        return LEFT + (WIDTH - LEFT - RIGHT) * time / self.end

    def y(self, value):
        return self.top + PANEL * (1 - min(value, self.most) / self.most)

    def line(self, points, color):
        self.parts.append(polyline([(self.x(time), self.y(value)) for time, value in points], color))

    def steps(self, points, color):
        path = []
        for (time, value), (after, _) in zip(points, [*points[1:], (self.end, None)]):
            path += [(time, value), (after, value)]
        self.line(path, color)

    def mark(self, time, text):
        x = self.x(time)
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{self.top + PANEL}" stroke="#555" stroke-dasharray="4 3"/>')
        self.parts.append(label(x + 4, self.top + 14, text, color="#555"))


def draw(title, shares, seconds, marks, end):
    """shares: (time, b_k of each worker) of each change; seconds: (time, each worker's own, the iteration's), smoothed by the
    caller; marks: (time, text). All times in seconds from the same begin."""
    workers = len(shares[0][1])
    upper = Panel(0, "samples of each worker", "b_k", end, 1.05 * max(max(each) for _, each in shares))
    peak = sorted(value for _, _, value in seconds)[int(0.99 * (len(seconds) - 1))]
    lower = Panel(1, "time of an iteration", "ms", end, 1.1e3 * peak)
    for k in range(workers):
        color = COLORS[k % len(COLORS)]
        upper.steps([(time, each[k]) for time, each in shares], color)
        lower.line([(time, 1e3 * own[k]) for time, own, _ in seconds], color)
        upper.parts.append(label(WIDTH - RIGHT + 10, upper.top + 20 + 20 * k, f"worker {k}", color=color))
    lower.line([(time, 1e3 * whole) for time, _, whole in seconds], "#222")
    lower.parts.append(label(WIDTH - RIGHT + 10, lower.top + 20, "whole iteration"))
    lower.parts.append(label(WIDTH - RIGHT + 10, lower.top + 40, "colours: own time"))
    for time, text in marks:
        upper.mark(time, text)
        lower.mark(time, text)
    for seconds_mark in range(0, int(end) + 1, 20):
        lower.parts.append(label(lower.x(seconds_mark), lower.top + PANEL + 18, f"{seconds_mark} s", "middle"))
    height = lower.top + PANEL + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">'
            f'<rect width="100%" height="100%" fill="white"/>{label(LEFT, 22, title)}{"".join(upper.parts + lower.parts)}</svg>\n')
