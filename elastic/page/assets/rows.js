// Charts with a row for each thing: lives over time, and sums of parts.

class RowChart extends Figure {
  heightFor() {
    return 30 + this.spec.rows.length * this.rowHeight() + (this.spec.x.label ? 44 : 26);
  }

  rowHeight() {
    return this.spec.rows.length > 24 ? 16 : 24;
  }

  rowFrame(width, height) {
    const longest = Math.max(4, ...this.spec.rows.map((row) => row.name.length));
    const left = Math.min(width * 0.32, longest * 7 + 18);
    return { left, right: width - 14, top: 8, bottom: height - (this.spec.x.label ? 44 : 26) };
  }

  rowMiddle(i) {
    return this.frame.top + 11 + (i + 0.5) * this.rowHeight();
  }

  content(width, height) {
    const frame = (this.frame = this.rowFrame(width, height)), { x, rows } = this.spec;
    const sx = (this.sx = linearScale(x.from ?? 0, x.to, frame.left, frame.right, { wanted: (frame.right - frame.left) / 90, unit: x.unit }));
    this.bars = [];
    const bars = svg("g", {});
    rows.forEach((row, i) => {
      const y = this.rowMiddle(i), thick = this.rowHeight() - 7;
      for (const bar of row.bars) {
        if (this.hidden.has(bar.kind)) continue;
        const left = sx(bar.from), wide = Math.max(bar.mark ? 0 : 1, sx(bar.to) - left);
        this.bars.push({ left, wide, y, row, bar });
        bars.append(bar.mark
          ? svg("path", { class: `event c${bar.color}`, d: `M${px(left)},${px(y - thick / 2 - 3)}l5,5l-5,5l-5,-5z` })
          : svg("rect", { class: `bar c${bar.color}${bar.faint ? " faint" : ""}`, x: px(left), y: px(y - thick / 2), width: px(wide), height: thick, rx: 2 }));
      }
    });
    return [xAxis(frame, sx, x.format, x.label), bars, ...rowNames(frame, rows, (i) => this.rowMiddle(i))];
  }

  legendEntries() {
    const seen = new Map();
    for (const row of this.spec.rows) for (const bar of row.bars) if (!seen.has(bar.kind)) seen.set(bar.kind, bar.color);
    return [...(this.spec.kinds ?? seen.keys())].filter((kind) => seen.has(kind)).map((name) => ({ name, color: seen.get(name), kind: "area" }));
  }

  stops() {
    return this.bars.length;
  }

  find(x, y) {
    let best = null;
    this.bars.forEach((one, i) => {
      const reach = one.bar.mark ? 7 : 2;
      if (Math.abs(one.y - y) <= this.rowHeight() / 2 && x >= one.left - reach && x <= one.left + one.wide + reach) best = i;
    });
    return best;
  }

  tipAt(index) {
    const one = this.bars[index];
    if (!one) return null;
    const mark = svg("rect", { class: "cursor", x: one.left - 3, y: one.y - this.rowHeight() / 2, width: one.wide + 6, height: this.rowHeight(), rx: 3 });
    return { x: one.left + one.wide / 2, y: one.y, mark, title: one.row.name, lines: [{ color: one.bar.color, text: one.bar.text }] };
  }
}
