// Elements, scales and axes: what every chart is drawn with. Text enters the page as text nodes only, so nothing in a
// name or a message is ever taken for markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3))
    if (child != null && child !== false) element.append(child.nodeType ? child : String(child));
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// ---- Scales: from values to pixels. ----

// A round step that makes about `wanted` ticks.
function roundStep(span, wanted) {
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => rough <= factor * power * 1.0001) * power;
}

function linearScale(from, to, low, high, { integer = false, wanted = 5, unit = 1 } = {}) {
  if (!(to > from)) (from -= 0.5), (to += 0.5);
  const scale = (value) => low + ((value - from) / (to - from)) * (high - low);
  scale.invert = (pixel) => from + ((pixel - low) / (high - low)) * (to - from);
  scale.domain = [from, to];
  let step = roundStep((to - from) / unit, Math.max(2, wanted)) * unit;
  if (integer) step = Math.max(1, Math.round(step));
  scale.ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) scale.ticks.push(i * step || 0);
  return scale;
}

function logScale(from, to, low, high) {
  if (!(to > from)) (from /= 2), (to *= 2);
  const a = Math.log10(from), b = Math.log10(to);
  const scale = (value) => low + ((Math.log10(Math.max(value, 1e-300)) - a) / (b - a)) * (high - low);
  scale.invert = (pixel) => 10 ** (a + ((pixel - low) / (high - low)) * (b - a));
  scale.domain = [from, to];
  const factors = b - a > 3 ? [1] : b - a > 1.2 ? [1, 3] : [1, 2, 5];
  scale.ticks = [];
  for (let power = Math.floor(a); power <= Math.ceil(b); power++)
    for (const factor of factors)
      if (factor * 10 ** power >= from * 0.999 && factor * 10 ** power <= to * 1.001) scale.ticks.push(factor * 10 ** power);
  if (scale.ticks.length < 2) scale.ticks = [from, to];
  return scale;
}

// ---- Axes. ----

// A text for each value, with as many significant digits as neighbours need to differ; `format` takes a value and, if it
// has a choice, the number of digits.
function tickLabels(values, format) {
  const mostDigits = 15;  // that a double has
  let labels = values.map((value) => format(value));
  for (let digits = 4; digits <= mostDigits && new Set(labels).size < labels.length; digits++)
    labels = values.map((value) => format(value, digits));
  return labels;
}

function xAxis(frame, scale, format, label) {
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  const labels = tickLabels(scale.ticks, format);
  for (const [i, value] of scale.ticks.entries()) {
    const x = scale(value);
    group.append(svg("line", { class: "grid", x1: x, x2: x, y1: frame.top, y2: frame.bottom }));
    group.append(svg("text", { x, y: frame.bottom + 17, "text-anchor": "middle" }, labels[i]));
  }
  group.append(svg("line", { class: "rule", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }));
  if (label)
    group.append(svg("text", { class: "label", x: (frame.left + frame.right) / 2, y: frame.bottom + 35, "text-anchor": "middle" }, label));
  return group;
}

function yAxis(frame, scale, format, label) {
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  const labels = tickLabels(scale.ticks, format);
  for (const [i, value] of scale.ticks.entries()) {
    const y = scale(value);
    group.append(svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y, y2: y }));
    group.append(svg("text", { x: frame.left - 7, y: y + 4, "text-anchor": "end" }, labels[i]));
  }
  if (label) group.append(svg("text", { class: "label", x: 2, y: frame.top - 12 }, label));
  return group;
}

// Names of rows at the left, cut where they are too long for the frame.
function rowNames(frame, rows, y) {
  const most = Math.max(4, Math.floor((frame.left - 8) / 6.8));
  return rows.map((row, i) =>
    svg("text", { class: "row-name", x: frame.left - 8, y: y(i) + 4, "text-anchor": "end" },
      row.name.length > most ? row.name.slice(0, most - 1) + "…" : row.name, svg("title", {}, row.name)));
}

// ---- Lines. ----

const px = (value) => Math.round(value * 10) / 10;

// A path through the points; a missing value breaks it.
function linePath(xs, ys, isStep) {
  let path = "", pen = false;
  for (let i = 0; i < xs.length; i++) {
    if (ys[i] == null || xs[i] == null) {
      if (pen && isStep) path += `H${px(xs[i])}`;
      pen = false;
      continue;
    }
    if (!pen) path += `M${px(xs[i])},${px(ys[i])}`;
    else if (isStep) path += `H${px(xs[i])}V${px(ys[i])}`;
    else path += `L${px(xs[i])},${px(ys[i])}`;
    pen = true;
  }
  return path;
}

// The area between two lines, in pieces where a value is missing.
function bandPath(xs, lows, highs) {
  let path = "";
  for (let from = 0; from < xs.length; from++) {
    if (lows[from] == null || highs[from] == null) continue;
    let to = from;
    while (to + 1 < xs.length && lows[to + 1] != null && highs[to + 1] != null) to++;
    const points = [];
    for (let i = from; i <= to; i++) points.push(`${px(xs[i])},${px(highs[i])}`);
    for (let i = to; i >= from; i--) points.push(`${px(xs[i])},${px(lows[i])}`);
    path += `M${points.join("L")}Z`;
    from = to;
  }
  return path;
}

// ---- Tables. ----

function table(columns, rows, caption) {
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    html("table", {},
      html("caption", { class: "unseen" }, caption),
      html("thead", {}, html("tr", {}, columns.map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, rows.map((row) =>
        html("tr", {}, row.map((cell) => html("td", { class: typeof cell === "number" || /^[−$\d]/.test(cell) ? "number" : null }, cell)))))));
}

// The nearest index of a sorted list.
function nearest(sorted, value) {
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle;
    else high = middle;
  }
  return Math.abs(sorted[high] - value) < Math.abs(sorted[low] - value) ? high : low;
}

function extent(lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const value of list)
      if (value != null && Number.isFinite(value)) (low = Math.min(low, value)), (high = Math.max(high, value));
  return low <= high ? [low, high] : null;
}
