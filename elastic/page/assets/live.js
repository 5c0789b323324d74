// A page that a job serves: its data come with server-sent events, and its buttons tell the job to change.

// What has been asked of the job once it has taken a command.
const TAKEN = {
  resize: "resizing, once the workers have come",
  checkpoint: "a checkpoint will be written at the next boundary",
  pause: "pausing at the next boundary, with a checkpoint",
  continue: "going on",
  stop: "stopping: a checkpoint is written first",
};

const Live = {
  sections: {},

  begin() {
    history.replaceState(null, "", location.pathname); // the cookie has the token now; it need not be seen over a shoulder
    Live.link = html("span", { class: "link away", role: "status" }, "connecting");
    Live.answer = html("span", { class: "answer", role: "status" });
    Live.pause = html("button", { type: "button", id: "control-pause", onclick: Live.askPause }, "Pause");
    Page.controls.hidden = false;
    Page.controls.append(Live.link, html("button", { type: "button", id: "control-resize", onclick: Live.askResize }, "Resize"),
      html("button", { type: "button", id: "control-checkpoint", onclick: Live.askCheckpoint }, "Checkpoint"), Live.pause,
      html("button", { type: "button", id: "control-stop", class: "grave", onclick: Live.askStop }, "Stop"), Live.answer);
    Live.connect();
  },

  // The browser connects again by itself; the job then sends everything there is.
  connect() {
    const source = new EventSource("events");
    source.addEventListener("open", () => Live.say(true, "live"));
    source.addEventListener("sections", (event) => {
      Object.assign(Live.sections, JSON.parse(event.data));
      Page.runs = [Live.sections];
      Live.showState();
      if (!Live.drawing) {
        Live.drawing = true;
        requestAnimationFrame(() => {
          Live.drawing = false;
          Page.render();
        });
      }
    });
    source.addEventListener("ended", () => {
      source.close();
      Live.say(false, "the job has ended");
      for (const button of Page.controls.querySelectorAll("button")) button.remove();
    });
    source.addEventListener("error", () => Live.say(false, "no connection; trying again"));
  },

  say(isThere, text) {
    Live.link.textContent = text;
    Live.link.classList.toggle("away", !isThere);
  },

  showState() {
    const { job } = Live.sections;
    if (!job) return;
    Live.paused = job.state === "paused";
    Live.pause.textContent = Live.paused ? "Continue" : "Pause";
    Live.say(true, `live: ${job.state}`);
  },

  // Asks before anything is done.
  ask(title, text, inputs, command) {
    const fields = inputs.map(({ name, label, value }) => html("label", {}, label, html("input", { type: "number", name, min: "1", step: "1", value: String(value), required: true })));
    const refusal = html("p", { class: "answer", role: "alert" });
    const dialog = html("dialog", { "aria-labelledby": "dialog-title" }, html("form", { method: "dialog", onsubmit: async (event) => {
      if (event.submitter?.value !== "yes") return;
      event.preventDefault(); // it stays open for another try where the job refuses
      refusal.textContent = await Live.send(command(Object.fromEntries(new FormData(event.currentTarget))));
      if (refusal.textContent === "") dialog.close();
    } }, html("h3", { id: "dialog-title" }, title), html("p", {}, text), fields, refusal,
      html("div", { class: "answers" }, html("button", { value: "no", formnovalidate: true }, "Cancel"), html("button", { value: "yes", class: "sure" }, title))));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  },

  askResize() {
    const phase = Live.sections.phases.at(-1) ?? { workers: 1, batch_size: 1 }, job = Live.sections.job;
    Live.ask("Resize", "Go on with other workers and another global batch, at the next boundary after they have come. Training goes on meanwhile.",
      [{ name: "workers", label: "workers K", value: job?.wanted_workers ?? phase.workers }, { name: "batch_size", label: "global batch B", value: job?.wanted_batch_size ?? phase.batch_size }],
      (values) => ({ command: "resize", workers: Number(values.workers), batch_size: Number(values.batch_size) }));
  },
  askCheckpoint() {
    Live.ask("Checkpoint", "Write a checkpoint at the next boundary.", [], () => ({ command: "checkpoint" }));
  },
  askPause() {
    if (Live.paused) Live.ask("Continue", "Go on training.", [], () => ({ command: "continue" }));
    else Live.ask("Pause", "Write a checkpoint, and then do nothing until told to continue. The machines stay, and are paid for.", [], () => ({ command: "pause" }));
  },
  askStop() {
    Live.ask("Stop", "Finish the iteration, write a checkpoint, and end the job. It can be resumed with scavenger-train --resume.", [], () => ({ command: "stop" }));
  },

  // What it did not do, and why; empty where it did.
  async send(command) {
    Live.answer.textContent = "…";
    try {
      const response = await fetch("command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(command) });
      const answer = await response.json();
      Live.answer.textContent = answer.error ? `refused: ${answer.error}` : TAKEN[command.command];
      return answer.error ? Live.answer.textContent : "";
    } catch (error) {
      Live.answer.textContent = `not sent: ${error.message}`;
      return Live.answer.textContent;
    }
  },
};
