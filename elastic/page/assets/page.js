// The page: its heading, its sections, and where its data come from: the document itself, or the job that serves it.

const Page = {
  runs: [], axis: "time", figures: new Map(), sections: new Map(), live: null,

  // The followed metric of a run: the target's, else accuracy, else loss; on test data where there are.
  followed(run) {
    const { target } = run.identity;
    const curves = run.metrics.filter((one) => (target ? one.metric === target.metric && one.split === target.split : true));
    const pick = (split, metric) => curves.find((one) => one.split === split && one.metric === metric);
    return pick("test", "accuracy") ?? pick("test", "loss") ?? curves[0] ?? null;
  },

  measures(run) {
    const { totals, identity, noise } = run, phase = run.phases.at(-1), rows = [];
    const followed = Page.followed(run), { on_demand: spot, naive } = run.savings;
    if (Page.runs.length > 1 || totals.reason) rows.push(["status", Format.words(totals.status), totals.reason]);
    rows.push(["time", Format.duration(totals.seconds), `of it start-up ${Format.duration(totals.start_up_seconds)}`]);
    rows.push(["cost", identity.price_per_worker_hour > 0 || totals.cost > 0 ? Format.dollars(totals.cost) : "free", identity.price_per_worker_hour > 0 ? `${Format.dollars(identity.price_per_worker_hour)} a worker and hour` : "no price is set"]);
    if (spot) rows.push(["saved by spot machines", lessText(spot.cost_saved), `${Format.dollars(spot.cost)} on demand`]);
    for (const other of (naive?.configurations ?? []).slice(0, 1))
      rows.push(["saved against " + other.why, `${lessText(other.seconds_saved)} time`, `${lessText(other.cost_saved)} cost than ${Format.configuration(other.workers, other.batch_size)}${naive.measured ? " as predicted" : "; all predicted"}`]);
    if (totals.to_target) rows.push(["to the target", Format.duration(totals.to_target.seconds), `${Format.interval(totals.to_target.seconds_low, totals.to_target.seconds_high, Format.duration)}${totals.to_target.cost > 0 ? `; ${Format.dollars(totals.to_target.cost)}` : ""}, predicted`]);
    if (totals.to_go) rows.push(["to go", (totals.to_go.at_most ? "≤ " : "") + Format.duration(totals.to_go.seconds), totals.to_go.cost > 0 ? Format.dollars(totals.to_go.cost) : ""]);
    if (followed) {
      const last = followed.mean.at(-1), values = followed.mean.filter((value) => value != null);
      const isUp = Format.isBetterWhenHigh(followed.metric);
      const best = isUp ? Math.max(...(followed.high ?? values)) : Math.min(...(followed.low ?? values));
      const target = identity.target ? `; target ${Format.metric(identity.target.metric, identity.target.value)}` : "";
      rows.push([Format.metricName(followed.split, followed.metric), Format.metric(followed.metric, last), `best ${Format.metric(followed.metric, best)}${target}`]);
    }
    rows.push(["epochs", Format.number(totals.epochs), `${Format.count(totals.iterations)} iterations`]);
    if (phase) rows.push(["workers and batch", Format.configuration(phase.workers, phase.batch_size), run.phases.length > 1 ? `${run.phases.length} memberships` : "from the start"]);
    rows.push(["speed", Format.count(totals.pace && totals.status === "running" ? totals.pace.samples_per_second : totals.samples_per_second), "samples a second" + (totals.pace && totals.status === "running" ? " now" : ", all in all")]);
    const last = noise.value.length - 1;
    if (last >= 0) rows.push(["noise scale", Format.number(noise.value[last], 3), `${Format.interval(Format.number(noise.low[last], 3), noise.high[last] && Format.number(noise.high[last], 3), String)} samples${noise.stable.length ? "" : "; not stable yet"}`]);
    const step = run.search.at(-1);
    if (step) rows.push(["search", Format.words(step.phase), step.reason]);
    if (totals.losses + totals.warnings + totals.checkpoints_failed + totals.checkpoints_damaged > 0)
      rows.push(["problems", Format.count(totals.losses + totals.warnings + totals.checkpoints_failed + totals.checkpoints_damaged), [[totals.losses, "process lost", "processes lost"], [totals.warnings, "warning", "warnings"], [totals.checkpoints_failed + totals.checkpoints_damaged, "checkpoint", "checkpoints"]]
        .filter(([count]) => count > 0).map(([count, one, many]) => `${count} ${count === 1 ? one : many}`).join(", ")]);
    return rows;
  },

  summary(runs) {
    if (runs.length === 1)
      return html("dl", { class: "tiles" }, Page.measures(runs[0]).map(([name, value, more]) =>
        html("div", { class: name === "problems" ? "tile problem" : "tile" }, html("dt", {}, name), html("dd", {}, html("b", {}, value), more ? html("small", {}, more) : null))));
    const all = runs.map((run) => new Map(Page.measures(run).map(([name, value, more]) => [name, more && name !== "status" ? `${value} (${more})` : value])));
    const names = [...new Set(all.flatMap((one) => [...one.keys()]))];
    return table(["", ...runs.map((run) => run.identity.folder)], names.map((name) => [name, ...all.map((one) => one.get(name) ?? Format.missing)]), "Side by side");
  },

  facts(run) {
    const { identity } = run, facts = [["run folder", identity.folder], ["job", identity.job_id], ["started", identity.utc], ["version", `${identity.version} (${identity.commit})`],
      ["host", `${identity.host}: ${identity.cpu}, ${identity.cores} cores, ${Format.bytes(identity.memory_bytes)}`], ["parameters", Format.count(identity.parameter_count)],
      ["samples in an epoch", Format.count(identity.samples_per_epoch)], ["precision of products", identity.precision ?? Format.missing], ["digest of the configuration", identity.config_digest]];
    return html("dl", { class: "facts" }, facts.map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
  },

  notes(run) {
    return html("ol", { class: "notes", tabindex: "0", "aria-label": "What happened, and when" }, run.notes.map((note) => html("li", { class: note.problem ? "problem" : null },
      html("time", {}, Format.duration(note.time)), html("span", {}, note.text))));
  },

  // [{ id, title, items }]; an item is a chart's { id, spec } or { id, block, title }.
  plan() {
    const { runs, axis } = Page, plan = [], one = runs.length === 1;
    const add = (id, title, items) => (items = items.filter(Boolean)).length && plan.push({ id, title, items });
    const block = (id, element, title) => element && { id, block: element, title };
    add("summary", one ? "Summary" : "Side by side", [block("measures", Page.summary(runs)), one && block("savings", savingsBlock(runs[0]), "What it would have cost otherwise")]);
    add("learning", "Learning", [{ id: "loss", spec: lossChart(runs, axis) }, ...metricCharts(runs, axis)]);
    const workers = { title: "Workers K", label: "workers", value: (phase) => phase.workers }, batch = { title: "Global batch B", label: "samples", value: (phase) => phase.batch_size };
    if (!one) add("together", "Configurations and cost", [clusterChart(runs, axis, { id: "workers-all", ...workers }), clusterChart(runs, axis, { id: "batch-all", ...batch }), costChart(runs)]);
    runs.forEach((run, r) => {
      const own = (item) => item && { ...item, id: one ? item.id : `${item.id}-${r}` };
      const section = (id, title, items) => add(one ? id : `${id}-${r}`, one ? title : `${title} · ${run.identity.folder}`, items.map(own));
      section("decisions", "Decisions", [one && clusterChart(runs, axis, { id: "workers-k", ...workers }), one && clusterChart(runs, axis, { id: "batch", ...batch }),
        run.search.length > 0 && block("search", searchTable(run), "The search"), block("decisions-table", decisionsTable(run), "What was decided, and why")]);
      section("prediction", "Predictions", [costTimeChart(run), measuredChart(run), foresightChart(run)]);
      section("timing", "Where the time goes", [timersChart(run, axis), workersChart(run), run.phases.length > 0 && sharesChart(run, axis), paceChart(run, axis)]);
      section("noise-section", "Gradient noise", [noiseChart(run, axis)]);
      section("machines-section", "Machines", [machinesChart(run), processesChart(run), run.machines.length > 0 && block("places", placesTable(run), "Zones and machine types tried"), run.recoveries.length > 0 && block("recoveries", recoveriesTable(run), "Going on after losses and changes"), one && run.totals.cost > 0 && costChart(runs)]);
      section("checkpoints-section", "Checkpoints", [checkpointsChart(run)]);
      section("notes-section", "What happened", [block("notes", Page.notes(run)), block("facts", Page.facts(run), "About this run")]);
    });
    return plan;
  },

  render() {
    if (Page.runs.length === 0) return;
    const plan = Page.plan(), wanted = new Set(plan.map((section) => section.id));
    for (const [id, section] of Page.sections)
      if (!wanted.has(id)) section.element.remove(), Page.sections.delete(id);
    Page.heading();
    let before = Page.nav;
    for (const { id, title, items } of plan) {
      let section = Page.sections.get(id);
      if (!section) {
        const grid = html("div", { class: "grid" });
        section = { grid, element: html("section", { id: "section-" + id, "aria-labelledby": "heading-" + id }, html("h2", { id: "heading-" + id }, title), grid) };
        Page.sections.set(id, section);
      }
      if (before.nextElementSibling !== section.element) before.after(section.element);
      before = section.element;
      Page.place(section.grid, items);
    }
    const links = html("nav", {}, plan.filter(({ id }) => !/-[1-9]\d*$/.test(id)).map(({ id, title }) => html("a", { href: "#section-" + id }, title.split(" · ")[0])));
    if (!Page.links.isEqualNode(links)) Page.links.replaceChildren(...links.childNodes);
  },

  // Two charts share a row; one that is left over has it for itself.
  widen(items) {
    const alone = (item) => !item || item.block || item.spec.wide;
    items.forEach((item, i) => {
      let from = i;
      while (from > 0 && !alone(items[from - 1])) from--;
      if (!alone(item) && alone(items[i + 1]) && (i - from) % 2 === 0) item.spec.filling = true;
    });
  },

  place(grid, items) {
    Page.widen(items);
    const wanted = new Set(items.map((item) => item.id));
    for (const child of [...grid.children]) if (!wanted.has(child.dataset.item)) child.remove();
    items.forEach((item, i) => {
      let figure = Page.figures.get(item.id);
      if (!figure) Page.figures.set(item.id, (figure = item.block ? new Block(item.id) : item.rows ? new RowChart(item.id) : new PlaneChart(item.id)));
      figure.element.dataset.item = item.id;
      if (grid.children[i] !== figure.element) grid.insertBefore(figure.element, grid.children[i] ?? null);
      item.block ? figure.update(item) : figure.update(item.spec);
    });
  },

  heading() {
    const { runs } = Page;
    const statusOf = (run) => (run.totals.status === "running" && run.job?.state === "paused" ? "paused" : run.totals.status);
    document.title = runs.map((run) => `${run.identity.name}: ${Format.words(statusOf(run))}`).join(" | ");
    Page.name.textContent = runs.length === 1 ? runs[0].identity.name : `${runs.length} runs`;
    Page.status.textContent = runs.length === 1 ? Format.words(statusOf(runs[0])) : "";
    Page.status.className = "badge " + (runs.length === 1 ? statusOf(runs[0]) : "");
    Page.outcome.textContent = runs.length === 1 ? runs[0].totals.outcome : runs.map((run) => run.identity.folder).join(", ");
  },

  build() {
    Page.name = html("h1", {});
    Page.status = html("span", { class: "badge" });
    Page.outcome = html("p", { class: "outcome" });
    Page.links = html("nav", {});
    const axes = html("div", { class: "segments", role: "group", "aria-label": "horizontal axis" }, Object.entries(AXES).map(([axis, name]) =>
      html("button", { type: "button", "aria-pressed": String(axis === Page.axis), onclick: (event) => {
        Page.axis = axis;
        for (const button of axes.children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
        Page.render();
      } }, name)));
    Page.nav = html("div", { class: "topbar" }, Page.links, axes);
    Page.controls = html("div", { class: "controls", hidden: true });
    document.getElementById("page").append(html("header", {}, html("div", { class: "names" }, Page.name, Page.status), Page.outcome, Page.controls), Page.nav);
  },
};

// A table or text among the charts; what has not changed is left alone, so that a selection in it stays.
class Block {
  constructor(id) {
    this.title = html("h3", {});
    this.body = html("div", {});
    this.element = html("div", { id, class: "block wide" }, this.title, this.body);
  }
  update({ block, title }) {
    this.title.textContent = title ?? "";
    this.title.hidden = !title;
    if (!this.body.firstChild?.isEqualNode(block)) this.body.replaceChildren(block);
  }
}

Page.build();
const given = JSON.parse(document.getElementById("data").textContent);
if (given.live) Live.begin();
else {
  Page.runs = given.runs;
  Page.render();
}
