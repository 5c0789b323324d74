// What the page says of a run: from its data (docs/page.md) to the specifications of charts, tables and texts.

// ---- Horizontal axes. ----

const AXES = { time: "time", epoch: "epochs", iteration: "iterations" };

function axisSpec(axis, runs) {
  if (axis === "time") {
    const unit = timeUnit(Math.max(...runs.map((run) => run.totals.seconds)));
    return { from: 0, label: `time, ${unit.name}`, unit: unit.seconds, format: (value, digits) => Format.number(value / unit.seconds, digits), tip: Format.duration };
  }
  const name = AXES[axis];
  return { from: 0, label: name, integer: axis === "iteration", format: Format.number, tip: (value) => `${axis} ${axis === "iteration" ? Format.count(value) : Format.number(value)}` };
}

// Where a membership begins, and where the run ends, on an axis.
const phasePlace = (run, phase, axis) =>
  axis === "time" ? phase.begin : axis === "iteration" ? phase.first_iteration : phase.position / Math.max(1, run.identity.samples_per_epoch);
const runEnd = (run, axis) => (axis === "time" ? run.totals.seconds : axis === "iteration" ? run.totals.iterations : run.totals.epochs);

// What was done again after a resume is on the time axis only.
function phasesOn(run, axis) {
  if (axis === "time") return run.phases;
  return run.phases.filter((phase, i) => run.phases.slice(i + 1).every((later) => later.first_iteration > phase.first_iteration));
}

// From a stop of the job to its resume there was nothing, so on the time axis nothing is drawn there: an empty place.
const stopsBetween = (run, axis, from, to) => axis === "time" && run.resumes.some((resume) => from <= resume.time && resume.time < to);

function stepOf(run, axis, value) {
  const phases = phasesOn(run, axis);
  if (phases.length === 0) return { x: [], y: [] };
  const x = [], y = [];
  phases.forEach((phase, i) => {
    x.push(phasePlace(run, phase, axis)), y.push(value(phase));
    const next = phases[i + 1];
    if (next && stopsBetween(run, axis, phase.begin, next.begin)) x.push(Math.min(phase.begin + phase.seconds, next.begin)), y.push(null);
  });
  return { x: [...x, Math.max(runEnd(run, axis), x.at(-1))], y: [...y, y.at(-1)] };
}

// The places of a curve, as x, and lists of its values.
function curveOn(run, axis, curve, lists) {
  const x = curve[axis];
  const isCut = x.map((place, i) => i > 0 && stopsBetween(run, axis, x[i - 1], place));
  const cut = (list, empty) => list && list.flatMap((value, i) => (isCut[i] ? [empty(i), value] : [value]));
  const values = Object.entries(lists).map(([name, list]) => [name, cut(list, () => null)]);
  return { x: cut(x, (i) => (x[i - 1] + x[i]) / 2), ...Object.fromEntries(values) };
}

// Lines where the cluster changed, was hurt, or the noise settled.
function marksOf(run, axis) {
  const marks = phasesOn(run, axis).slice(1).map((phase) => ({ x: phasePlace(run, phase, axis), text: `${Format.configuration(phase.workers, phase.batch_size)}: ${phase.reason}` }));
  for (const stable of run.noise.stable) if (axis !== "epoch") marks.push({ x: stable[axis], text: "gradient noise is stable" });
  if (axis === "time") for (const { time, iteration } of run.resumes) marks.push({ x: time, text: `resumed from iteration ${Format.count(iteration)}` });
  if (axis === "time")
    for (const note of run.notes) if (note.problem) marks.push({ x: note.time, text: note.text.split("\n")[0], problem: true });
  return marks;
}

const curveTable = (curve, columns) => () => ({
  columns: ["iteration", "epoch", "seconds", ...Object.keys(columns)],
  rows: curve.iteration.map((iteration, i) => [iteration, curve.epoch[i], curve.time[i], ...Object.values(columns).map((list) => list?.[i] ?? Format.missing)]),
});

const namesOf = (runs) => runs.map((run, i) => (runs.length === 1 ? "" : `${run.identity.folder}`));

// ---- Learning. ----

function lossChart(runs, axis) {
  const names = namesOf(runs);
  return {
    title: "Training loss", wide: true,
    hint: "Mean over the samples of each iteration. The band is from the least to the most where a point stands for several iterations.",
    x: axisSpec(axis, runs), y: { label: "loss", format: Format.number, clip: true },
    series: runs.map((run, i) => ({ kind: "line", name: names[i], color: i, ...curveOn(run, axis, run.loss, { y: run.loss.mean, low: run.loss.low, high: run.loss.high }) })),
    marks: runs.length === 1 ? marksOf(runs[0], axis) : [],
    table: tableOfRuns(runs, (run) => curveTable(run.loss, { loss: run.loss.mean, least: run.loss.low ?? run.loss.mean, most: run.loss.high ?? run.loss.mean })()),
  };
}

// One table of the tables of several runs.
function tableOfRuns(runs, tableOf) {
  return () => {
    const tables = runs.map(tableOf);
    if (runs.length === 1) return tables[0];
    return { columns: ["run", ...tables[0].columns], rows: tables.flatMap((one, i) => one.rows.map((row) => [runs[i].identity.folder, ...row])) };
  };
}

function metricCharts(runs, axis) {
  const metrics = [...new Set(runs.flatMap((run) => run.metrics.map((one) => one.metric)))];
  return metrics.map((metric) => {
    const curves = runs.flatMap((run, r) => run.metrics.filter((one) => one.metric === metric).map((one) => ({ run, r, one })));
    const target = runs.map((run) => run.identity.target).find((one) => one && one.metric === metric);
    const format = Format.isShare(metric) ? Format.percent : Format.number;
    const name = Format.metricTitle(metric), title = name[0].toUpperCase() + name.slice(1);
    return {
      id: "metric-" + metric,
      spec: {
        title: `${title} of evaluations`, hint: target ? `The target is ${format(target.value)} on ${target.split} data.` : null,
        x: axisSpec(axis, runs), y: { label: title.toLowerCase(), format, tip: (value) => Format.metric(metric, value) },
        series: curves.map(({ run, r, one }, i) => ({ kind: "line", color: runs.length > 1 ? r : i, ...curveOn(run, axis, one, { y: one.mean, low: one.low, high: one.high }),
          name: runs.length > 1 ? `${run.identity.folder} · ${one.split}` : one.split, class: runs.length > 1 && one.split === "train" ? "dashed" : null })),
        levels: target ? [{ y: target.value, text: "target" }] : [],
        table: () => ({ columns: ["run", "split", "iteration", "epoch", "seconds", metric],
          rows: curves.flatMap(({ run, one }) => one.iteration.map((iteration, i) => [run.identity.folder, one.split, iteration, one.epoch[i], one.time[i], one.mean[i] ?? Format.missing])) }),
      },
    };
  });
}

// ---- Decisions. ----

function clusterChart(runs, axis, { id, title, label, value, log }) {
  const names = namesOf(runs);
  return { id, spec: {
    title, x: axisSpec(axis, runs), y: { label, format: Format.count, integer: true, zero: !log, log },
    series: runs.map((run, i) => ({ kind: "step", name: names[i], color: i, ...stepOf(run, axis, value) })),
    marks: runs.length === 1 ? marksOf(runs[0], axis) : [], height: 220,
    table: tableOfRuns(runs, (run) => ({ columns: ["seconds", "iteration", label, "reason"], rows: run.phases.map((phase) => [phase.begin, phase.first_iteration, value(phase), phase.reason]) })),
  } };
}

function costChart(runs) {
  const names = namesOf(runs);
  const curve = (run) => {
    if (run.machines.some((one) => one.ready != null)) return machinesCost(run);
    const x = [], y = [];
    let sum = 0;
    for (const phase of run.phases) {
      x.push(phase.begin, phase.begin + phase.seconds);
      y.push(sum, (sum += phase.cost));
    }
    return { x, y };
  };
  return { id: "cost", spec: {
    title: "Cost so far", x: axisSpec("time", runs), y: { label: "dollars", format: Format.dollars, zero: true }, height: 220,
    series: runs.map((run, i) => ({ kind: "line", name: names[i], color: i, ...curve(run) })),
    table: tableOfRuns(runs, (run) => { const { x, y } = curve(run); return { columns: ["second", "dollars"], rows: x.map((second, i) => [second, y[i]]) }; }),
  } };
}

function sharesChart(run, axis) {
  const workers = [...new Set(run.phases.flatMap((phase) => phase.indices))].sort((a, b) => a - b).slice(0, 64);
  const share = (phase, index) => phase.shares[phase.indices.indexOf(index)] ?? null;
  return { id: "shares", spec: {
    title: "Samples of each worker", hint: "b_k: how the global batch is shared out.", height: 240,
    x: axisSpec(axis, [run]), y: { label: "samples", format: Format.count, zero: true, integer: true },
    series: workers.map((index) => ({ kind: "step", name: `worker ${index}`, color: index % 8, ...stepOf(run, axis, (phase) => share(phase, index)) })),
    table: () => ({ columns: ["seconds", "iteration", ...workers.map((index) => `worker ${index}`)], rows: run.phases.map((phase) => [phase.begin, phase.first_iteration, ...workers.map((index) => share(phase, index) ?? Format.missing)]) }),
  } };
}

function decisionsTable(run) {
  return table(["when", "iteration", "K", "B", "why", "lasted", "an iteration", "waiting", "cost"], run.phases.map((phase) => [
    Format.duration(phase.begin), Format.count(phase.first_iteration), Format.count(phase.workers), Format.count(phase.batch_size), phase.reason,
    Format.duration(phase.seconds), phase.iteration_seconds.count ? Format.brief(phase.iteration_seconds.p50) : Format.missing,
    phase.waiting_share == null ? Format.missing : Format.percent(phase.waiting_share, 2), Format.dollars(phase.cost)]), "What was decided, and why");
}

// ---- Where the time goes. ----

const PARTS = [["data", "waiting for data", 4], ["forward", "forward", 0], ["backward", "backward", 5], ["sync", "exposed synchronisation", 1]];

function timersChart(run, axis) {
  const timers = run.timers;
  const { mean, low, high, data, forward, backward, sync } = timers;
  const drawn = curveOn(run, axis, timers, { mean, low, high, data, forward, backward, sync });
  return { id: "timers", spec: {
    title: "An iteration's seconds", wide: true,
    hint: "Where they go, as means over the workers; the line is the whole iteration, its band from the least to the most. Triangles mark what is beyond the upper edge.",
    x: axisSpec(axis, [run]), y: { label: "seconds", format: Format.brief, zero: true, clip: true },
    series: [...PARTS.map(([key, name, color]) => ({ kind: "area", name, color, x: drawn.x, y: drawn[key] })),
      { kind: "line", name: "whole iteration", color: 7, x: drawn.x, y: drawn.mean, low: drawn.low, high: drawn.high }],
    marks: marksOf(run, axis),
    table: curveTable(timers, { "whole iteration": timers.mean, least: timers.low ?? timers.mean, most: timers.high ?? timers.mean, ...Object.fromEntries(PARTS.map(([key, name]) => [name, timers[key]])) }),
  } };
}

// What dynamic batches even out.
function paceChart(run, axis) {
  const workers = run.timers.by_worker ?? [];
  if (workers.length < 2) return null;
  return { id: "pace", spec: {
    title: "Seconds of each worker", hint: "Its own part of an iteration: data, forward and backward, without waiting for the others.", height: 240,
    x: axisSpec(axis, [run]), y: { label: "seconds", format: Format.brief, zero: true, clip: true },
    series: workers.map((worker) => ({ kind: "line", name: `worker ${worker.index}`, color: worker.index % 8, ...curveOn(run, axis, worker, { y: worker.mean }) })),
    marks: marksOf(run, axis),
    table: () => ({ columns: ["worker", "seconds", "iteration", "seconds of an iteration"], rows: workers.flatMap((worker) => worker.mean.map((mean, i) => [worker.index, worker.time[i], worker.iteration[i], mean ?? Format.missing])) }),
  } };
}

const WORKER_PARTS = [["data", "waiting for data", 4], ["forward", "forward", 0], ["backward", "backward", 5], ["transfer", "transfer and step", 1], ["straggler", "waiting for slower workers", 3]];

function workersChart(run) {
  const phases = run.phases.filter((phase) => phase.by_worker && phase.iteration_seconds.count > 0).slice(-2);
  if (phases.length === 0) return null;
  const rows = phases.flatMap((phase) => phase.by_worker.slice(0, 32).map((worker) => {
    let from = 0;
    const bars = WORKER_PARTS.map(([key, kind, color]) => ({ kind, color, from, to: (from += worker[key] ?? 0), text: `${kind}: ${Format.brief(worker[key])} of ${worker.share} samples` }));
    return { name: `${phases.length > 1 ? `K${phase.workers} B${phase.batch_size} ` : ""}worker ${worker.index}`, bars };
  }));
  const most = Math.max(...rows.map((row) => row.bars.at(-1).to), 1e-9);
  return { id: "workers", rows: true, spec: {
    title: "Worker by worker", hint: "Mean seconds of an iteration of the latest memberships.", wide: rows.length > 12,
    x: { to: most * 1.03, label: "seconds", format: Format.brief }, rows, kinds: WORKER_PARTS.map((part) => part[1]),
    table: () => ({ columns: ["from second", "K", "B", "worker", "samples", ...WORKER_PARTS.map((part) => part[1])],
      rows: phases.flatMap((phase) => phase.by_worker.map((worker) => [phase.begin, phase.workers, phase.batch_size, worker.index, worker.share, ...WORKER_PARTS.map(([key]) => worker[key] ?? Format.missing)])) }),
  } };
}

// ---- Gradient noise. ----

function noiseChart(run, axis) {
  const noise = run.noise;
  if (noise.iteration.length === 0) return null;
  return { id: "noise", spec: {
    title: "Gradient noise scale", wide: true,
    hint: "B_s: up to about this global batch, twice the batch learns nearly twice as much an iteration. The band is its 95 % interval.",
    x: axisSpec(axis, [run]), y: { label: "samples", format: Format.number, log: noise.low.every((low) => low == null || low > 0), clip: true },
    series: [{ kind: "line", name: "noise scale B_s", color: 3, ...curveOn(run, axis, noise, { y: noise.value, low: noise.low, high: noise.high }), openAbove: true },
      { kind: "step", name: "global batch B", color: 7, class: "dashed", ...stepOf(run, axis, (phase) => phase.batch_size) }],
    marks: marksOf(run, axis).filter((mark) => mark.text.includes("noise")),
    table: curveTable(noise, { "B_s": noise.value, low: noise.low, high: noise.high }),
  } };
}

// ---- Processes and checkpoints. ----

function processesChart(run) {
  if (run.processes.length === 0) return null;
  const axis = axisSpec("time", [run]), end = run.totals.seconds, lives = new Map();
  for (const life of run.processes) {
    const name = `${life.role} ${life.index}`;
    if (!lives.has(name)) lives.set(name, []);
    const bars = lives.get(name), to = life.ended ?? end, joined = life.joined ?? to;
    bars.push({ kind: "starting", color: 4, faint: true, from: life.started, to: joined, text: `pid ${life.pid}, starting: ${Format.duration(joined - life.started)}` });
    if (life.joined != null) bars.push({ kind: life.role === "shard" ? "parameter shard" : "working", color: life.role === "shard" ? 2 : 0, from: joined, to, text: `pid ${life.pid}: ${Format.duration(joined)} to ${Format.duration(to)}` });
    if (life.lost) bars.push({ kind: "lost", color: 1, mark: true, from: to, to, text: `pid ${life.pid} lost at ${Format.duration(to)}: ${life.how}` });
  }
  const rows = [...lives].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([name, bars]) => ({ name, bars }));
  return { id: "processes", rows: true, spec: {
    title: "Lives of processes", x: { ...axis, to: end }, rows: rows.slice(0, 64), wide: true, kinds: ["starting", "working", "parameter shard", "lost"],
    table: () => ({ columns: ["process", "pid", "started", "joined", "ended", "how"], rows: run.processes.map((life) => [`${life.role} ${life.index}`, life.pid, life.started, life.joined ?? Format.missing, life.ended ?? Format.missing, life.lost ? life.how : ""]) }),
  } };
}

function recoveriesTable(run) {
  return table(["when", "lost", "from iteration", "iterations lost", "until the next iteration"], run.recoveries.map((one) =>
    [Format.duration(one.time), one.lost.join(", ") || "nobody: the cluster changed", Format.count(one.iteration), Format.count(one.iterations_lost), Format.brief(one.seconds)]), "Recoveries");
}

function checkpointsChart(run) {
  const list = run.checkpoints;
  if (list.length === 0) return null;
  const x = list.map((one) => one.time);
  return { id: "checkpoints", spec: {
    title: "Checkpoints", hint: "What each stopped training for, and how long until it was safe on disk, beside training.",
    x: axisSpec("time", [run]), y: { label: "seconds", format: Format.brief, log: list.every((one) => one.stall_seconds > 0 && one.write_seconds > 0) },
    series: [{ kind: "points", joined: false, name: "on disk after", color: 2, x, y: list.map((one) => one.write_seconds) },
      { kind: "points", name: "training stood still", color: 1, x, y: list.map((one) => one.stall_seconds) }],
    table: () => ({ columns: ["seconds", "iteration", "folder", "bytes", "stood still", "written after", "best"], rows: list.map((one) => [one.time, one.iteration, one.folder, one.bytes, one.stall_seconds, one.write_seconds, one.best ? "best" : ""]) }),
  } };
}
