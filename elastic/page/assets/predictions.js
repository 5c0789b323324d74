// The search: what was predicted, what was chosen, how it turned out, and on which machines.

const isSame = (a, b) => a.workers === b.workers && a.batch_size === b.batch_size;
const isChosen = (prediction, candidate) => isSame(prediction, candidate);

// Times and costs of a prediction that knows no run to the target are in units of the epochs at its reference batch.
const timeAs = (prediction) => (prediction.relative ? Format.number : Format.duration);
const costAs = (prediction) => (prediction.relative ? Format.number : Format.dollars);

function candidateTip(prediction, one) {
  const time = timeAs(prediction), words = [];
  if (isChosen(prediction, one)) words.push("chosen");
  if (one.knee) words.push("knee");
  if (one.pareto) words.push("Pareto set");
  words.push(one.measured ? "iterations measured" : one.extrapolated ? "extrapolated" : "interpolated");
  return { title: Format.configuration(one.workers, one.batch_size), lines: [
    { text: `time ${time(one.seconds)} (${Format.interval(one.seconds_low, one.seconds_high, time)})` },
    { text: `cost ${costAs(prediction)(one.cost)}` },
    { text: `an iteration ${Format.brief(one.iteration_seconds)}, ${Format.number(one.epochs)} epochs` },
    { text: words.join(", ") }] };
}

// The configurations that the job had, one after the other.
function pathOf(run) {
  const path = [];
  for (const phase of run.phases) if (path.length === 0 || !isSame(path.at(-1), phase)) path.push(phase);
  return path;
}

function costTimeChart(run) {
  const prediction = run.prediction;
  if (!prediction || prediction.candidates.length === 0) return null;
  const known = prediction.candidates.filter((one) => one.seconds != null && one.cost != null);
  if (known.length === 0) return null;
  const unit = prediction.relative ? { seconds: 1, name: "relative" } : timeUnit(extent([known.map((one) => one.seconds)])[1]);
  const hasCost = known.some((one) => one.cost > 0);
  const batches = [...new Set(known.map((one) => one.batch_size))].sort((a, b) => a - b);
  const at = (one) => (hasCost ? one.cost : one.workers * one.seconds);
  const series = batches.map((batch, i) => {
    const list = known.filter((one) => one.batch_size === batch).sort((a, b) => a.workers - b.workers);
    return { kind: "points", joined: true, name: `B ${Format.count(batch)}`, color: i % 8, x: list.map((one) => one.seconds), y: list.map(at),
      tips: list.map((one) => candidateTip(prediction, one)),
      look: list.map((one) => ({ radius: isChosen(prediction, one) ? 7 : one.pareto ? 5 : 3,
        class: (one.extrapolated ? "hollow " : "") + (isChosen(prediction, one) ? "chosen" : ""),
        text: isChosen(prediction, one) ? "chosen" + (one.knee ? ", knee" : "") : one.knee ? "knee" : null })) };
  });
  const path = pathOf(run).map((phase) => known.find((one) => isSame(one, phase))).filter(Boolean);
  if (path.length > 1)
    series.unshift({ kind: "points", joined: true, mute: true, class: "path", name: "path of the job", color: 8, x: path.map((one) => one.seconds), y: path.map(at),
      look: path.map((_, i) => ({ radius: 0, text: i === 0 ? "start" : null })) });
  const front = known.filter((one) => one.pareto).sort((a, b) => a.seconds - b.seconds);
  series.push({ kind: "points", joined: true, mute: true, class: "dashed", name: "Pareto set", color: 7, x: front.map((one) => one.seconds), y: front.map(at), look: front.map(() => ({ radius: 0 })) });
  if (!prediction.relative && run.totals.target_reached)
    series.push({ kind: "points", name: "this run", color: 8, x: [run.totals.seconds], y: [hasCost ? run.totals.cost : null], look: [{ radius: 7, class: "chosen", text: "this run" }],
      tips: [{ title: "this run, with its search", lines: [{ text: `time ${Format.duration(run.totals.seconds)}` }, { text: `cost ${Format.dollars(run.totals.cost)}` }] }] });
  const widest = extent([known.map((one) => one.seconds)])[1] > 20 * extent([known.map((one) => one.seconds)])[0];
  return { id: "cost-time", spec: {
    title: "Cost and time of every configuration", wide: true, cloud: true, height: 380,
    hint: `Each curve is one global batch B; along it the workers K grow. Large points: Pareto set; ringed: chosen by ${prediction.policy}; hollow: extrapolated.`,
    x: { label: `time to the target, ${unit.name}`, unit: unit.seconds, log: widest, from: widest ? null : 0, format: (value) => Format.number(value / unit.seconds, 3) },
    y: { label: prediction.relative ? "cost, relative" : hasCost ? "cost, dollars" : "worker seconds (no price is known)", format: (value) => Format.number(value, 3), log: widest, zero: !widest },
    series,
    table: () => ({ columns: ["K", "B", "seconds/iteration", "low", "high", "epochs", "seconds", "low", "high", "cost", "marks"],
      rows: prediction.candidates.map((one) => [one.workers, one.batch_size, one.iteration_seconds ?? Format.missing, one.iteration_seconds_low ?? Format.missing, one.iteration_seconds_high ?? Format.missing,
        one.epochs ?? Format.missing, one.seconds ?? Format.missing, one.seconds_low ?? Format.missing, one.seconds_high ?? "open", one.cost ?? Format.missing, candidateTip(prediction, one).lines.at(-1).text]) }),
  } };
}

// Seconds of an iteration: what the model says against what was measured, for each configuration that ran.
function measuredChart(run) {
  const prediction = run.prediction;
  if (!prediction) return null;
  const both = run.configurations.map((measured) => ({ measured, predicted: prediction.candidates.find((one) => isSame(one, measured)) })).filter((one) => one.predicted);
  if (both.length === 0) return null;
  const x = both.map((_, i) => i);
  const name = (i) => (both[i] ? `K${both[i].measured.workers} B${both[i].measured.batch_size}${both[i].measured.even ? "" : " unequal"}` : "");
  return { id: "measured", spec: {
    title: "An iteration: predicted against measured", hint: "Predicted with its 95 % interval; measured with the range of 90 % of the iterations.",
    x: { from: -0.5, to: both.length - 0.5, integer: true, format: (value) => (both.length <= 10 ? name(value) : ""), tip: name, label: both.length > 10 ? "configurations" : null },
    y: { label: "seconds", format: Format.brief, zero: true },
    series: [
      { kind: "points", name: "measured", color: 0, x: x.map((i) => i - 0.08), y: both.map((one) => one.measured.seconds), low: both.map((one) => one.measured.p5), high: both.map((one) => one.measured.p95),
        tips: both.map(({ measured }, i) => ({ title: name(i), lines: [{ color: 0, text: `measured ${Format.brief(measured.seconds)} in ${Format.count(measured.iterations)} iterations` }] })) },
      { kind: "points", name: "predicted", color: 1, x: x.map((i) => i + 0.08), y: both.map((one) => one.predicted.iteration_seconds), low: both.map((one) => one.predicted.iteration_seconds_low), high: both.map((one) => one.predicted.iteration_seconds_high),
        tips: both.map(({ predicted, measured }, i) => ({ title: name(i), lines: [{ color: 1, text: `predicted ${Format.brief(predicted.iteration_seconds)}` }, { text: `off by ${Format.percent(predicted.iteration_seconds / measured.seconds - 1, 2)}` }] })) }],
    cloud: true,
    table: () => ({ columns: ["K", "B", "measured seconds", "predicted seconds", "low", "high", "error"], rows: both.map(({ measured, predicted }) =>
      [measured.workers, measured.batch_size, measured.seconds, predicted.iteration_seconds, predicted.iteration_seconds_low, predicted.iteration_seconds_high, Format.percent(predicted.iteration_seconds / measured.seconds - 1, 3)]) }),
  } };
}

// How the prediction of the whole job's time changed while it ran, against how it ended.
function foresightChart(run, axis) {
  const choices = run.choices.filter((one) => !one.relative && one.seconds != null);
  if (choices.length === 0) return null;
  const spec = { ...axisSpec("time", [run]), to: run.totals.seconds }, unit = timeUnit(Math.max(run.totals.seconds, ...choices.map((one) => one.seconds)));
  const values = (key) => [...choices.map((one) => one[key]), choices.at(-1)[key]];
  const x = [...choices.map((one) => one.time), Math.max(run.totals.seconds, choices.at(-1).time)];
  return { id: "foresight", spec: {
    title: "Predicted time to the target", hint: "Of the configuration that was chosen, each time a prediction was made, with its 95 % interval. It is of the whole job at that configuration.",
    x: spec, y: { label: unit.name, unit: unit.seconds, format: (value) => Format.number(value / unit.seconds, 3), tip: Format.duration, zero: true },
    series: [{ kind: "step", name: "predicted", color: 1, x, y: values("seconds"), low: values("seconds_low"), high: values("seconds_high"), openAbove: true }],
    levels: run.totals.target_reached ? [{ y: run.totals.seconds, text: `took ${Format.duration(run.totals.seconds)}` }] : [],
    table: () => ({ columns: ["second", "K", "B", "predicted seconds", "low", "high", "cost", "reason"], rows: choices.map((one) => [one.time, one.workers, one.batch_size, one.seconds, one.seconds_low ?? Format.missing, one.seconds_high ?? "open", one.cost ?? Format.missing, one.reason]) }),
  } };
}

// "12 % less", "3 % more".
const lessText = (part) => (part == null ? Format.missing : `${Format.number(Math.abs(part) * 100, 2)} % ${part >= 0 ? "less" : "more"}`);
// The same with its 95 % interval, if that is known: "12 % less (3 % more to 25 % less)".
const lessTextWithin = (part, low, high) =>
  low == null || high == null ? lessText(part) : `${lessText(part)} (${lessText(low)} to ${lessText(high)})`;

// What the job would have cost otherwise.
function savingsBlock(run) {
  const { on_demand: spot, naive } = run.savings;
  if (!spot && !naive) return null;
  const parts = [];
  if (spot)
    parts.push(html("p", {}, `The same seconds of the same machines would have cost ${Format.dollars(spot.cost)} on demand; on spot they cost ${Format.dollars(run.totals.cost)}, ${lessText(spot.cost_saved)}.`));
  if (naive) {
    const { prediction } = run, time = timeAs(prediction), cost = costAs(prediction), own = naive.measured ? "this run" : "the chosen one";
    const chosen = prediction.candidates.find((one) => isChosen(prediction, one));
    const row = (name, one, ...saved) => [name, Format.configuration(one.workers, one.batch_size), `${time(one.seconds)} (${Format.interval(one.seconds_low, one.seconds_high, time)})`, cost(one.cost), ...saved];
    const rows = [row(`chosen by ${prediction.policy}`, chosen, "", ""), ...naive.configurations.map((one) => row(one.why, one, lessTextWithin(one.seconds_saved, one.seconds_saved_low, one.seconds_saved_high),
        lessTextWithin(one.cost_saved, one.cost_saved_low, one.cost_saved_high)))];
    if (naive.measured) rows.unshift(["this run, with its search: measured", "", time(naive.seconds), cost(naive.cost), "", ""]);
    parts.push(html("p", { class: "hint" }, `All but a run's own numbers are predictions, made at iteration ${Format.count(prediction.iteration)}`,
      prediction.relative ? "; relative, since no run to the target is known." : ".", run.identity.price_per_worker_hour > 0 ? "" : " No price is set: a worker-hour counts as a dollar."),
      table(["configuration", "K and B", "time", "cost", `time of ${own}`, "and cost"], rows, "Against other configurations"));
  }
  return html("div", {}, parts);
}

function searchTable(run) {
  return table(["when", "iteration", "phase", "next", "why"], run.search.map((step) =>
    [Format.duration(step.time), Format.count(step.iteration), Format.words(step.phase), Format.configuration(step.workers, step.batch_size), step.reason]), "Search");
}

function machinesChart(run) {
  if (run.machines.length === 0) return null;
  const end = run.totals.seconds, lives = new Map();
  for (const machine of run.machines) {
    const name = machine.name || `for worker ${machine.worker}`;
    if (!lives.has(name)) lives.set(name, []);
    const bars = lives.get(name), to = machine.ended ?? end, ready = machine.ready ?? to;
    const about = `${machine.type} ${machine.zone} ${machine.spot ? "spot " : ""}${Format.dollars(machine.price_per_hour)}/h, worker ${machine.worker}`;
    bars.push({ kind: "asked for", color: 4, faint: true, from: machine.requested, to: ready, text: `asked for: ${Format.duration(ready - machine.requested)}; ${about}` });
    for (const refusal of machine.refusals) bars.push({ kind: "refused", color: 1, mark: true, from: refusal.time, to: refusal.time, text: `refused at ${Format.duration(refusal.time)}: ${refusal.reason}` });
    if (machine.ready != null) bars.push({ kind: machine.spot ? "spot machine" : "machine", color: machine.spot ? 5 : 0, from: ready, to, text: `${Format.duration(ready)} to ${Format.duration(to)}: ${Format.dollars(machine.cost)}; ${about}` });
    if (machine.notice != null) bars.push({ kind: "notice", color: 4, mark: true, from: machine.notice, to: machine.notice, text: `notice at ${Format.duration(machine.notice)}: ${machine.reason}` });
    if (machine.last === "lost") bars.push({ kind: "lost", color: 1, mark: true, from: to, to, text: `lost at ${Format.duration(to)}: ${machine.reason}` });
  }
  return { id: "machines", rows: true, spec: {
    title: "Lives of machines", x: { ...axisSpec("time", [run]), to: end }, wide: true, rows: [...lives].slice(-64).map(([name, bars]) => ({ name, bars })), kinds: ["asked for", "machine", "spot machine", "notice", "lost", "refused"],
    table: () => ({ columns: ["machine", "worker", "type", "zone", "spot", "dollars/hour", "requested", "ready", "ended", "last", "reason", "seconds charged", "dollars", "dollars on demand"], rows: run.machines.map((one) =>
      [one.name, one.worker, one.type, one.zone, one.spot ? "spot" : "", one.price_per_hour, one.requested, one.ready ?? Format.missing, one.ended ?? Format.missing, one.last, one.reason, one.seconds, one.cost, one.on_demand_cost]) }),
  } };
}

// Dollars at any second: each machine from ready to its end, and for its minimum in any case.
function machinesCost(run) {
  const rented = run.machines.filter((one) => one.ready != null), end = run.totals.seconds;
  const costOf = (one, time) => (time < one.ready ? 0 : (one.price_per_hour / 3600) * Math.max(one.minimum_seconds, Math.min(time, one.ended ?? end) - one.ready + one.charged_before));
  const costAt = (time) => rented.reduce((sum, one) => sum + costOf(one, time), 0);
  const times = [0, end, ...rented.flatMap((one) => [one.ready - 1e-6, one.ready, Math.min(end, one.ready + Math.max(0, one.minimum_seconds - one.charged_before)), one.ended ?? end])].filter((time) => time >= 0 && time <= end);
  const x = [...new Set(times)].sort((a, b) => a - b);
  const earlier = Math.max(0, run.totals.cost - costAt(end));  // of machines that are not listed any more
  return { x, y: x.map((time) => earlier + costAt(time)) };
}

// Each zone and machine type that was asked: what it gave, and why not more.
function placesTable(run) {
  const places = new Map();
  const placeOf = (zone, type) => {
    const key = `${zone} ${type}`;
    if (!places.has(key)) places.set(key, { zone, type, granted: 0, refused: 0, lost: 0, seconds: 0, cost: 0, word: "" });
    return places.get(key);
  };
  for (const one of run.machines) {
    for (const refusal of one.refusals) {
      const place = placeOf(refusal.zone, refusal.type);
      place.refused++;
      place.word = refusal.reason;
    }
    if (one.ready == null) continue;
    const place = placeOf(one.zone, one.type);
    place.granted++;
    place.lost += one.last === "lost";
    place.seconds += one.seconds;
    place.cost += one.cost;
  }
  if (places.size === 0) return null;
  return table(["zone", "machine type", "granted", "refused", "lost", "seconds charged", "cost", "last refusal"], [...places.values()].map((one) =>
    [one.zone || "here", one.type || Format.missing, one.granted, one.refused, one.lost, Format.number(one.seconds), Format.dollars(one.cost), one.word]), "Zones and machine types tried");
}
