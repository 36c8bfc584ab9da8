// Choose what to record, record it with progress, and list what was kept.

import { address, getJson, post, remove } from "/web/api.js";
import { clear, h, icon, iconButton, notify, segmented, setText } from "../dom.js";
import { ago, chosenBy, integer, score, sentence, short } from "../format.js";
import { parseOverrides, parseValue } from "./overrides.js";

export function mountRecord(element, app) {
  const place = h("div", { class: "record-page" });
  let none = false; // whether the folder is known to have no runs
  element.append(place);
  const render = () => {
    if (!app.run) clear(place, none ? noRuns() : emptyState());
    else if (!app.details) clear(place, h("div", { class: "record-grid" }, h("div", { class: "panel skeleton tall" }), h("div", { class: "panel skeleton tall" })));
  };
  app.on("run", render);
  app.on("run-error", (error) => clear(place, h("div", { class: "empty" }, h("h2", {}, "This run cannot be opened"), h("p", { role: "alert" }, sentence(error.message)))));
  let shown = null; // the form and the run that it is for
  app.on("details", (details) => {
    // While a live run trains its details come again: a form that is filled in, or records, only learns of new checkpoints.
    if (shown?.run === details.run.id) { shown.form.refresh(details); return; }
    const recordings = recordingList(app, details);
    shown = { run: details.run.id, form: form(app, details, recordings) };
    clear(place, h("div", { class: "record-grid" }, shown.form.element, recordings.element));
    recordings.load();
  });
  app.on("run", () => { shown = null; });
  app.on("runs", (found) => {
    if (found.none === none) return;
    none = found.none;
    if (!app.run) render();
  });
  render();
}

function emptyState() {
  return h("div", { class: "empty" },
    h("div", { class: "empty-mark" }, icon("record")),
    h("h2", {}, "Look inside an agent"),
    h("p", {}, "Choose a run on the left. Record an episode of one of its checkpoints, then step through it: what the policy saw, what it expected, what it did, and what it got."),
    h("ol", { class: "steps-list" },
      h("li", {}, h("strong", {}, "Pick "), "a run, a checkpoint and a seed"),
      h("li", {}, h("strong", {}, "Record "), "an episode; it is kept with the run"),
      h("li", {}, h("strong", {}, "Step "), "with the arrow keys, or run to the next reward or event")));
}

function noRuns() {
  return h("div", { class: "empty" },
    h("div", { class: "empty-mark" }, icon("record")),
    h("h2", {}, "No runs yet"),
    h("p", {}, "Train an agent in a terminal. It appears on the left as soon as it starts, and can be watched and recorded while it trains."),
    h("pre", { class: "command" }, "gymnast train CartPole-v1:ppo"),
    h("p", { class: "small" }, "Runs that are kept elsewhere: ", h("code", {}, "gymnast inspect --runs-dir FOLDER")));
}

const field = (label, control, help) => h("label", { class: "field" }, h("span", {}, label), control, help ? h("small", { class: "muted" }, help) : null);

function form(app, details, recordings) {
  const { env_options: options = [], tasks = [], run } = details;
  const describe = (one) => `${integer(one.env_steps)} steps${one.score === null || one.score === undefined ? "" : ` · ${score(one.score)}`}${one.is_best ? " · best" : ""}${one.is_last ? " · last" : ""}`;
  let picked = false; // until one is, the best is chosen, also when another becomes it
  const checkpoint = h("select", { name: "checkpoint", onchange: () => { picked = true; } });
  const second = h("select", { name: "second" });
  const without = h("p", { class: "muted" }, "This run has no checkpoint yet. A live run can make one: see Training.");
  let stochastic = false;
  const mode = segmented("How actions are chosen", [[false, "greedy", "the most likely action"], [true, "sampled", "drawn from the probabilities, as in training"]], false,
    (value) => { stochastic = value; });
  const input = (name, value, attributes = {}) => h("input", { type: "number", name, value, class: "number", ...attributes });
  const seed = input("seed", "", { min: "0", step: "1", placeholder: "as evaluated", title: "Empty: the seed that training evaluates with", list: "known-seeds" });
  const known = h("datalist", { id: "known-seeds" }, details.seeds ? [
    h("option", { value: String(details.seeds.evaluation) }, "training's evaluations"), h("option", { value: String(details.seeds.held_out) }, "the checkpoint's table of steps")] : []);
  const steps = input("steps", "1000", { min: "1", max: "20000", step: "1" });
  const episodes = input("episodes", "1", { min: "1", max: "100", step: "1" });
  const gamma = input("gamma", details.gamma ?? "", { min: "0", max: "1", step: "any" });
  const lam = input("lam", details.lam ?? "", { min: "0", max: "1", step: "any" });
  const frames = h("input", { type: "checkbox", checked: true });
  const task = tasks.length ? h("select", { name: "task" }, tasks.map((name) => h("option", { value: name }, name))) : null;
  const optionFields = options.map((option) => [option, optionControl(option)]);
  const overrides = h("textarea", { name: "overrides", rows: "2", spellcheck: "false", class: "mono", placeholder: "env.kwargs.gravity=5" });
  const problem = h("p", { class: "problem", role: "alert" });
  const button = h("button", { type: "submit", class: "primary big" }, icon("record"), "Record");
  const bar = h("progress", { max: "1", value: "0", "aria-label": "Steps recorded" });
  const said = h("span", { class: "number muted" });
  const cancel = h("button", { type: "button", class: "quiet", onclick: () => job?.cancel() }, "Cancel");
  const progress = h("div", { class: "progress", hidden: true }, bar, said, cancel);
  let job = null;

  const send = async (event) => {
    event.preventDefault();
    if (job) return;
    setText(problem, "");
    let changed;
    try {
      changed = { ...optionChanges(optionFields), ...parseOverrides(overrides.value) };
    } catch (error) {
      setText(problem, error.message);
      return;
    }
    const request = (name) => ({
      run: run.id, checkpoint: name, seed: seed.value === "" ? null : Number(seed.value), stochastic, steps: Number(steps.value), episodes: Number(episodes.value), frames: frames.checked,
      task: task?.value ?? null, overrides: changed,
    });
    const discount = { gamma: gamma.value === "" ? undefined : Number(gamma.value), lam: lam.value === "" ? undefined : Number(lam.value) };
    const wanted = [checkpoint.value, second.value].filter(Boolean);
    job = new Job((done, total) => { bar.value = total ? done / total : 0; setText(said, `${integer(done)} / ${integer(total)}`); });
    button.disabled = true;
    progress.hidden = false;
    try {
      for (const [index, name] of wanted.entries()) {
        const recording = await job.record(request(name));
        await app.open(recording, { beside: index > 0, ...discount });
      }
    } catch (error) {
      if (!job.cancelled) setText(problem, sentence(error.message));
      else notify("The recording was cancelled.");
    }
    job = null;
    button.disabled = !checkpoint.options.length;
    progress.hidden = true;
    recordings.load();
  };
  const built = h("form", { class: "panel record-form", onsubmit: send, novalidate: true },
    h("h2", {}, "Record an episode"),
    without,
    h("div", { class: "fields two" }, field("Checkpoint", checkpoint), field("Beside it", second, "the same seed with another checkpoint")),
    h("div", { class: "fields four" }, field("Seed", seed), known, h("div", { class: "field" }, h("span", {}, "Actions"), mode), field("Steps at most", steps), field("Episodes", episodes)),
    h("div", { class: "fields four" }, field("γ", gamma), field("λ", lam), task ? field("Task", task) : null,
      h("div", { class: "field" }, h("span", {}, "Pictures"), h("label", { class: "check", title: "Without them a recording is faster and smaller" }, frames, "frames"))),
    optionFields.length ? h("fieldset", {}, h("legend", {}, "Environment"), h("div", { class: "fields three" },
      optionFields.map(([option, control]) => field(option.key.replace(/^env\.(kwargs\.)?/, ""), control, option.help || null)))) : null,
    field("Other settings", overrides, "one key=value per line, as on the command line"),
    problem, h("div", { class: "record-actions" }, button, progress));
  const refresh = ({ checkpoints }) => {
    const newest = [...checkpoints].sort((a, b) => b.env_steps - a.env_steps);
    const first = newest.find((one) => one.name === app.checkpoint) ?? newest.find((one) => one.is_best) ?? newest[0];
    const fill = (control, usual, ...extra) => {
      const kept = picked || control === second ? control.value : null;
      control.replaceChildren(...extra, ...newest.map((one) => h("option", { value: one.name }, describe(one))));
      control.value = newest.some((one) => one.name === kept) ? kept : usual;
    };
    fill(checkpoint, first?.name ?? "");
    fill(second, "", h("option", { value: "" }, "none"));
    without.hidden = checkpoints.length > 0;
    button.disabled = Boolean(job) || !checkpoints.length;
  };
  refresh(details);
  return { element: built, refresh };
}

function optionControl({ key, value, choices }) {
  const text = optionText(value);
  const unset = text === "" ? "as trained" : "unset";
  if (!choices?.length) return h("input", { type: "text", name: `option ${key}`, value: text, class: "mono", spellcheck: "false", placeholder: unset });
  const texts = choices.map(optionText);
  const all = texts.includes(text) ? texts : [text, ...texts];
  return h("select", { name: `option ${key}` }, all.map((choice) => h("option", { value: choice, selected: choice === text }, choice || unset)));
}

/** A value of a setting as a form has it; nothing where it is not set. */
function optionText(value) {
  return value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** Only what differs from the run's own. */
function optionChanges(fields) {
  const changed = {};
  for (const [{ key, value }, control] of fields) {
    if (control.value !== optionText(value)) changed[key] = control.value === "" ? null : parseValue(control.value);
  }
  return changed;
}

/** One recording after another, followed until it is done; `cancel()` ends the one under way. */
class Job {
  constructor(onProgress) { this.onProgress = onProgress; }

  async record(request) {
    const { job } = await post("/api/recordings", request);
    this.id = job;
    for (let wait = 60; ; wait = Math.min(400, wait * 1.3)) {
      await new Promise((resolve) => { setTimeout(resolve, wait); });
      if (this.cancelled) throw new Error("cancelled");
      const state = await getJson(address(["jobs", job]));
      this.onProgress(state.done ?? 0, state.total ?? request.steps);
      if (state.state === "done") return typeof state.recording === "string" ? { id: state.recording, ...request } : state.recording;
      if (!["running", "queued"].includes(state.state)) throw new Error(state.error ?? `The recording ended: ${state.state}.`);
    }
  }

  async cancel() {
    this.cancelled = true;
    try { await remove(address(["jobs", this.id])); } catch (error) { notify(error.message, "error"); }
  }
}

function recordingList(app, { run }) {
  const list = h("div", { class: "kept-list" });
  const element = h("section", { class: "panel kept", "aria-label": "Recordings" }, h("h2", {}, "Recordings of this run"), list);
  const load = async () => {
    try {
      const { recordings } = await getJson(address(["recordings"], { run: run.id }));
      clear(list, recordings.length ? recordings.map(line) : [h("p", { class: "nothing" }, "None yet. What you record is kept with the run and listed here.")]);
    } catch (error) {
      clear(list, h("p", { class: "problem" }, sentence(error.message)));
    }
  };
  const open = async (recording, beside) => {
    try { await app.open(recording, { beside }); } catch (error) { notify(error.message, "error"); }
  };
  const line = (one) => h("div", { class: "kept-line", dataset: { recording: one.id } },
    h("button", { type: "button", class: "kept-main", onclick: () => open(one, false), title: "Open" },
      h("span", { class: "kept-top" }, h("strong", { class: "number" }, `return ${short(one.return)}`), h("span", { class: "number" }, `${integer(one.steps)} steps`)),
      h("span", { class: "muted small" }, one.checkpoint === null || one.checkpoint === undefined ? "" : `checkpoint ${integer(one.checkpoint)} · `,
        `seed ${one.seed} · ${chosenBy(one.player, one.stochastic)} · ${ago(one.created)}`)),
    h("button", { type: "button", class: "quiet", title: "Open beside what is open", onclick: () => open(one, true) }, icon("columns"), "beside"),
    iconButton("trash", "Delete this recording", async () => {
      try { await remove(address(["recordings", one.id])); } catch (error) { notify(error.message, "error"); }
      load();
    }));
  return { element, load };
}
