// Charts: figures with a drawing that is read by mouse, touch or keyboard, and a table of the same numbers.
// A specification says what is drawn; update() takes a new one and keeps cursor, legend and open tables.

class Figure {
  constructor(id) {
    this.id = id;
    this.hidden = new Set(); // names of series that the legend has switched off
    this.title = html("h3", { id: id + "-title" });
    this.hint = html("p", { class: "hint" });
    this.legend = html("div", { class: "legend" });
    this.drawing = svg("svg", { role: "img", tabindex: "0", "aria-labelledby": id + "-title", "aria-describedby": id + "-said" });
    this.tip = html("div", { class: "tip", hidden: true });
    this.said = html("div", { class: "unseen", id: id + "-said", role: "status" });
    this.tools = html("div", { class: "tools" });
    this.table = html("details", { class: "numbers", ontoggle: () => this.fillTable() }, html("summary", {}, "Numbers"));
    this.stage = html("div", { class: "stage" }, this.drawing, this.tip);
    this.element = html("figure", { id, class: "chart" },
      html("figcaption", {}, html("div", { class: "heading" }, this.title, this.tools), this.hint),
      this.legend, this.stage, this.said, this.table);
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.stage);
  }

  update(spec) {
    this.spec = spec;
    this.title.textContent = spec.title;
    this.hint.replaceChildren(...(spec.hint ? [].concat(spec.hint) : []));
    this.element.classList.toggle("wide", Boolean(spec.wide || spec.filling));
    this.drawLegend();
    this.draw();
    this.fillTable();
  }

  resized() {
    if (this.spec && this.stage.clientWidth !== this.drawnWidth) this.draw();
  }

  draw() {
    const width = this.stage.clientWidth || 640;
    this.drawnWidth = this.stage.clientWidth;
    this.width = width;
    const height = this.heightFor(width);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.replaceChildren(...this.content(width, height));
    if (this.cursor != null) this.show(this.cursor, this.byKeyboard);
  }

  legendEntries() {
    return [];
  }

  drawLegend() {
    const entries = this.legendEntries();
    this.legend.hidden = entries.length < 2;
    const items = entries.map(({ name, color, kind }) =>
      html("button", { type: "button", class: `key ${kind || "line"} c${color}`, "aria-pressed": String(!this.hidden.has(name)),
        title: "show or hide", onclick: () => this.toggle(name) }, name));
    const now = this.legend;
    const next = html("div", {}, items);
    if (!next.isEqualNode(html("div", {}, ...[...now.children].map((child) => child.cloneNode(true))))) now.replaceChildren(...items);
  }

  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    for (const key of this.legend.children)
      if (key.textContent === name) key.setAttribute("aria-pressed", String(!this.hidden.has(name)));
    this.draw();
  }

  fillTable() {
    if (!this.table.open || !this.spec) return;
    const { columns, rows } = this.spec.table();
    const made = table(columns, rows, `${this.spec.title}: numbers`);
    if (this.table.children.length < 2) this.table.append(made);
    else if (!this.table.children[1].isEqualNode(made)) this.table.children[1].replaceWith(made);
  }

  listen() {
    const pointed = (event) => {
      const box = this.drawing.getBoundingClientRect();
      const scale = this.width / (box.width || 1);
      const found = this.find((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
      found == null ? this.hide() : this.show(found, false);
    };
    this.drawing.addEventListener("pointermove", pointed);
    this.drawing.addEventListener("pointerdown", pointed);
    this.drawing.addEventListener("pointerleave", () => this.hide());
    this.drawing.addEventListener("blur", () => this.hide());
    this.drawing.addEventListener("keydown", (event) => {
      const count = this.stops();
      if (event.key === "Escape") return this.hide();
      const from = this.cursor ?? (event.key === "ArrowLeft" ? count : -1);
      const step = event.shiftKey ? Math.max(1, Math.round(count / 20)) : 1;
      const to = { ArrowRight: from + step, ArrowDown: from + step, ArrowLeft: from - step, ArrowUp: from - step, Home: 0, End: count - 1 }[event.key];
      if (to == null || count === 0) return;
      event.preventDefault();
      this.show(Math.min(count - 1, Math.max(0, to)), true);
    });
  }

  // Shows the tip of stop `index`: { x, y, title, lines: [{ text, color }] }, and what marks it in the drawing.
  show(index, byKeyboard) {
    const tip = this.tipAt(index);
    if (!tip) return this.hide();
    this.cursor = index;
    this.byKeyboard = byKeyboard;
    this.drawing.querySelector(".cursor")?.remove();
    this.drawing.append(tip.mark);
    this.tip.replaceChildren(html("b", {}, tip.title), ...tip.lines.map((line) => html("span", { class: line.color == null ? null : `dot c${line.color}` }, line.text)));
    this.tip.hidden = false;
    const left = tip.x > this.width * 0.55;
    this.tip.style.left = left ? "" : `${tip.x + 12}px`;
    this.tip.style.right = left ? `${this.width - tip.x + 12}px` : "";
    this.tip.style.top = `${Math.max(0, tip.y - 10)}px`;
    if (byKeyboard) this.said.textContent = [tip.title, ...tip.lines.map((line) => line.text)].join("; ");
  }

  hide() {
    this.cursor = null;
    this.tip.hidden = true;
    this.drawing.querySelector(".cursor")?.remove();
  }
}

// ---- Curves, steps, bands, stacked areas and points over two axes. ----

class PlaneChart extends Figure {
  heightFor(width) {
    return this.spec.height ?? Math.max(220, Math.min(340, width * 0.46));
  }

  legendEntries() {
    return this.spec.series.filter((one) => one.name).map((one) => ({ name: one.name, color: one.color, kind: one.kind }));
  }

  shown() {
    return this.spec.series.filter((one) => !this.hidden.has(one.name));
  }

  // Stacked areas stand on each other.
  stacked(series) {
    const sums = new Map();
    return series.map((one) => {
      if (one.kind !== "area") return one;
      const base = sums.get(one.x) || one.x.map(() => 0);
      const top = one.y.map((value, i) => (value == null ? null : base[i] + value));
      sums.set(one.x, top.map((value, i) => value ?? base[i]));
      return { ...one, base, top };
    });
  }

  xScale(frame) {
    const { x } = this.spec;
    const found = extent(this.shown().map((one) => one.x));
    const [from, to] = [x.from ?? found?.[0] ?? 0, x.to ?? found?.[1] ?? 1];
    if (x.log) return logScale(from, to, frame.left, frame.right);
    return linearScale(from, to, frame.left, frame.right, { wanted: (frame.right - frame.left) / 90, integer: x.integer, unit: x.unit });
  }

  yScale(frame, series) {
    const { y } = this.spec;
    const lists = series.flatMap((one) => [one.top ?? one.y, y.clip ? [] : one.low ?? [], y.clip ? [] : one.high ?? []]);
    let [from, to] = extent([...lists, (this.spec.levels ?? []).map((level) => level.y)]) ?? [0, 1];
    if (y.clip) {
      // A single pause must not flatten all else: what is far above is marked at the edge.
      const tops = lists.flat().filter((value) => value != null).sort((a, b) => a - b);
      const usual = tops[Math.floor(tops.length * 0.98)];
      if (to > 2.5 * usual) to = 1.6 * usual;
      const most = extent(series.map((one) => one.high ?? []))?.[1];
      if (most > to && most < 1.6 * to) to = most;
    }
    if (y.log && from > 0) return logScale(from / 1.1, to * 1.1, frame.bottom, frame.top);
    if (y.zero || (from > 0 && from < 0.35 * to)) from = Math.min(0, from);
    else if (!y.integer) from -= (to - from) * 0.06;
    to += (to - from || Math.abs(to) || 1) * 0.06;
    return linearScale(y.from ?? from, y.to ?? to, frame.bottom, frame.top, { wanted: (frame.bottom - frame.top) / 45, integer: y.integer, unit: y.unit });
  }

  content(width, height) {
    const { x, y } = this.spec;
    const series = (this.drawn = this.stacked(this.shown()));
    const frame = (this.frame = { left: 58, right: width - 14, top: 26, bottom: height - (x.label ? 44 : 26) });
    const sx = (this.sx = this.xScale(frame)), sy = (this.sy = this.yScale(frame, series));
    const clip = this.id + "-clip";
    const parts = [
      svg("clipPath", { id: clip }, svg("rect", { x: frame.left - 5, y: frame.top - 1, width: Math.max(0, frame.right - frame.left + 10), height: frame.bottom - frame.top + 5 })),
      xAxis(frame, sx, x.format, x.label), yAxis(frame, sy, y.format, y.label)];
    const inside = svg("g", { "clip-path": `url(#${clip})` });
    for (const mark of this.spec.marks ?? [])
      inside.append(svg("line", { class: "mark" + (mark.problem ? " problem" : ""), x1: sx(mark.x), x2: sx(mark.x), y1: frame.top, y2: frame.bottom }, svg("title", {}, mark.text)));
    for (const level of this.spec.levels ?? [])
      inside.append(svg("line", { class: "level", x1: frame.left, x2: frame.right, y1: sy(level.y), y2: sy(level.y) }),
        svg("text", { class: "level-name", x: frame.right - 4, y: sy(level.y) + (sy(level.y) < frame.top + 16 ? 14 : -5), "text-anchor": "end" }, level.text));
    for (const one of series) inside.append(this.seriesShape(one, sx, sy, frame));
    return [...parts, inside, svg("g", {}, series.map((one) => this.clipped(one, sx, sy, frame)))];
  }

  seriesShape(one, sx, sy, frame) {
    const xs = one.x.map(sx), at = (value) => (value == null ? null : sy(value));
    const group = svg("g", { class: `series ${one.kind} c${one.color} ${one.class ?? ""}` });
    if (one.kind === "area") {
      group.append(svg("path", { class: "fill", d: bandPath(xs, one.base.map(at), one.top.map(at)) }));
      return group;
    }
    if (one.low) {
      const open = one.high.map((value, i) => (value == null && one.low[i] != null && one.openAbove ? frame.top : at(value)));
      if (one.kind === "points")
        for (let i = 0; i < xs.length; i++)
          group.append(svg("path", { class: "whisker", d: `M${px(xs[i])},${px(at(one.low[i]) ?? at(one.y[i]))}V${px(open[i] ?? frame.top)}` }));
      else group.append(svg("path", { class: "band", d: bandPath(xs, one.low.map(at), open) }));
    }
    const ys = one.y.map(at);
    if (one.kind !== "points" || one.joined) group.append(svg("path", { class: "line", d: linePath(xs, ys, one.kind === "step") }));
    const isSparse = one.kind === "line" && xs.length <= 24;
    if (one.kind === "points" || isSparse)
      for (let i = 0; i < xs.length; i++) {
        if (ys[i] == null) continue;
        const look = one.look?.[i] ?? {};
        group.append(svg("circle", { class: "point " + (look.class ?? ""), cx: px(xs[i]), cy: px(ys[i]), r: look.radius ?? (isSparse ? 3 : 4) }));
        if (look.text) group.append(svg("text", { class: "point-name", x: px(xs[i]) + 9, y: px(ys[i]) - 8 }, look.text));
      }
    return group;
  }

  // Marks at the upper edge for values that lie beyond it.
  clipped(one, sx, sy, frame) {
    const most = sy.domain[1], highs = one.high ?? one.top ?? one.y;
    if (!this.spec.y.clip || one.kind === "area" || one.openAbove) return [];
    return one.x.filter((_, i) => highs[i] > most).map((value) =>
      svg("path", { class: `beyond c${one.color}`, d: `M${px(sx(value)) - 4},${frame.top - 2}h8l-4,-6z` }));
  }

  // Where the cursor can stand: every x of a curve; every point of a cloud.
  places() {
    if (this.drawn !== this.placesOf) {
      this.placesOf = this.drawn;
      this.placeList = this.spec.cloud
        ? this.drawn.flatMap((one) => one.x.map((x, i) => ({ one, i, x: this.sx(x), y: one.y[i] == null ? null : this.sy(one.y[i]) }))).filter((place) => place.y != null && !place.one.mute)
        : [...new Set(this.drawn.flatMap((one) => one.x.filter((x, i) => x != null && one.y[i] != null)))].sort((a, b) => a - b);
    }
    return this.placeList;
  }

  stops() {
    return this.places().length;
  }

  find(x, y) {
    const places = this.places();
    if (places.length === 0 || x < this.frame.left - 12 || x > this.frame.right + 12) return null;
    if (!this.spec.cloud) return nearest(places, this.sx.invert(x));
    let best = null, least = 40 ** 2;
    places.forEach((place, i) => {
      const far = (place.x - x) ** 2 + (place.y - y) ** 2;
      if (far < least) (least = far), (best = i);
    });
    return best;
  }

  tipAt(index) {
    const place = this.places()[index];
    if (place == null) return null;
    if (this.spec.cloud) {
      const mark = svg("circle", { class: "cursor", cx: place.x, cy: place.y, r: 11 });
      return { x: place.x, y: place.y, mark, ...place.one.tips[place.i] };
    }
    const { x, y } = this.spec, at = this.sx(place), lines = [];
    const mark = svg("g", { class: "cursor" }, svg("line", { x1: at, x2: at, y1: this.frame.top, y2: this.frame.bottom }));
    for (const one of this.drawn) {
      if (one.x.length === 0) continue;
      let i = nearest(one.x, place);
      if (one.kind === "step") while (i > 0 && one.x[i] > place) i--;
      else if (one.x[i] !== place && Math.abs(this.sx(one.x[i]) - at) > 6) continue;
      if (one.y[i] == null) continue;
      mark.append(svg("circle", { class: `c${one.color}`, cx: at, cy: this.sy((one.top ?? one.y)[i]), r: 4 }));
      const range = one.low && one.low[i] != null ? ` (${Format.interval(one.low[i], one.high[i], y.tip ?? y.format)})` : "";
      lines.push({ color: one.color, text: `${one.name || y.label}: ${(y.tip ?? y.format)(one.y[i])}${range}` });
    }
    const near = (this.spec.marks ?? []).filter((one) => one.text && Math.abs(this.sx(one.x) - at) < 5);
    for (const one of near.slice(0, 3)) lines.push({ text: one.text });
    return { x: at, y: this.frame.top, mark, lines, title: (x.tip ?? x.format)(place) };
  }
}
