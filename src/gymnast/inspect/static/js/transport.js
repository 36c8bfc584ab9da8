// Play, pause, speed, slider, breakpoints: the bar below the views. Whatever it does is one `setStep` of the store.

import { actionLabels, breakpoint, KINDS, next, previous } from "./breakpoints.js";
import { quoted } from "./condition.js";
import { colour, fitCanvas, h, iconButton, icon, onResize, onTheme, setText } from "./dom.js";
import { integer } from "./format.js";
import { Player, SPEEDS } from "./player.js";

export function mountTransport(element, app) {
  const { group } = app;
  const active = () => group.active;
  let stops = null; // the armed breakpoint's function, for the active recording
  const player = new Player({ move: (by) => advance(by), atEnd: () => !active() || lead().step >= lead().rows - 1 });
  const lead = () => (group.together ? group.stores.reduce((a, b) => (b.rows > a.rows ? b : a)) : active());

  const advance = (by) => {
    const store = lead();
    if (stops && pauseThere.checked) {
      const own = active();
      for (let ahead = 1; ahead <= by; ahead += 1) {
        const row = own.step + ahead;
        if (row < own.rows && stops(row)) { store.setStep(row); return false; }
      }
    }
    store.move(by);
    return true;
  };
  const act = (fn) => () => { if (active()) fn(active()); };
  const seek = (row) => act(() => lead().setStep(row))();

  const play = iconButton("play", "Play (space)", act(() => {
    if (!player.playing && lead().step >= lead().rows - 1) lead().setStep(0);
    player.toggle();
  }), { class: "icon-button play" });
  const speed = h("select", { "aria-label": "Steps per second", title: "Steps per second (↑ ↓)", onchange: () => player.setSpeed(Number(speed.value)) },
    SPEEDS.map((value) => h("option", { value, selected: value === 30 }, `${value}/s`)));
  const slider = h("input", {
    type: "range", min: "0", value: "0", step: "1", class: "slider", "aria-label": "Step", dataset: { keys: "own-slider" },
    oninput: () => { player.pause(); seek(Number(slider.value)); },
  });
  const ticks = h("canvas", { class: "slider-ticks", "aria-hidden": "true" });
  const place = h("output", { class: "number place" }, "");
  const rate = h("span", { class: "number muted rate", title: "Frames drawn per second while playing" }, "");
  const together = h("button", {
    type: "button", class: "quiet toggle", "aria-pressed": "true", title: "Step all open recordings together, or only the one that was clicked last",
    onclick: () => group.setTogether(!group.together),
  }, icon("link"), "together");

  const kind = h("select", { "aria-label": "Breakpoint", onchange: () => arm() },
    KINDS.map(({ kind: own, title, help }) => h("option", { value: own, title: help }, title)));
  const action = h("select", { "aria-label": "Action to run to", hidden: true, onchange: () => arm() });
  const condition = h("input", {
    type: "text", placeholder: "value < 10 and reward != 0", "aria-label": "Condition on columns of the table", hidden: true, spellcheck: "false",
    class: "mono", list: "columns-of-table", oninput: () => arm(), onkeydown: (event) => { if (event.key === "Enter") run(1); },
  });
  const names = h("datalist", { id: "columns-of-table" });
  const pauseThere = h("input", { type: "checkbox", id: "pause-there" });
  const said = h("span", { class: "said", role: "status" });

  const arm = () => {
    action.hidden = kind.value !== "action";
    condition.hidden = kind.value !== "condition";
    stops = null;
    if (!active()) return;
    try {
      stops = breakpoint(active().recording, { kind: kind.value, action: action.value, text: condition.value });
      setText(said, "");
    } catch (error) {
      setText(said, kind.value === "condition" && !condition.value ? "" : error.message);
    }
  };
  const run = (direction) => {
    arm();
    if (!active() || !stops) { if (kind.value === "condition" && !condition.value) setText(said, "Write a condition first."); return; }
    const store = active();
    const find = direction > 0 ? next : previous;
    const row = find(store.recording, stops, store.step);
    player.pause();
    if (row < 0) setText(said, direction > 0 ? "None after this step." : "None before this step.");
    else { store.setStep(row); setText(said, ""); }
  };

  element.append(h("div", { class: "transport", role: "toolbar", "aria-label": "Stepping" },
    h("div", { class: "transport-row" },
      h("div", { class: "buttons" },
        iconButton("first", "First step (Home)", act(() => seek(0))),
        iconButton("previous", "One step back (←)", act(() => { player.pause(); lead().move(-1); })), play,
        iconButton("next", "One step forward (→)", act(() => { player.pause(); lead().move(1); })),
        iconButton("last", "Last step (End)", act(() => seek(Infinity)))),
      speed, h("div", { class: "slider-place" }, ticks, slider), place, rate),
    h("div", { class: "transport-row breakpoints" },
      h("span", { class: "label" }, "Run to"), kind, action, condition, names,
      iconButton("runback", "To the one before (P)", () => run(-1)), iconButton("runto", "To the next one (N)", () => run(1)),
      h("label", { class: "check", title: "Playing stops where the breakpoint is" }, pauseThere, "pause there"), said, h("span", { class: "spring" }), together)));

  const draw = () => {
    const store = lead0();
    const context = fitCanvas(ticks);
    const [width, height] = [ticks.clientWidth, ticks.clientHeight];
    context.clearRect(0, 0, width, height);
    if (!store) return;
    for (let row = 0; row < store.rows; row += 1) {
      const how = store.recording.ended(row);
      if (!how) continue;
      context.fillStyle = colour(how === "terminated" ? "bad" : "warn");
      context.fillRect(Math.min(1, (row + 1) / (store.rows - 1)) * width - 1, 0, 2, height);
    }
  };
  const lead0 = () => (active() ? lead() : null);
  let shownStore = null;
  const show = () => {
    const store = lead0();
    element.hidden = !store;
    if (!store) { player.pause(); shownStore = null; return; }
    if (shownStore !== active()) {
      shownStore = active();
      const kept = action.value;
      const labels = actionLabels(shownStore.recording);
      action.replaceChildren(...labels.map((label) => h("option", { value: label }, label)));
      if (labels.includes(kept)) action.value = kept;
      names.replaceChildren(...shownStore.recording.columns.map((name) => h("option", { value: quoted(name) })));
      arm();
      requestAnimationFrame(draw);
    }
    together.hidden = group.stores.length < 2;
    together.setAttribute("aria-pressed", String(group.together));
    slider.max = String(store.rows - 1);
    slider.value = String(store.step);
    setText(place, `${integer(store.step)} / ${integer(store.rows - 1)}`);
    if (player.playing) setText(rate, `${Math.round(player.rate)} fps`);
  };
  player.onChange = () => {
    play.replaceChildren(icon(player.playing ? "pause" : "play"));
    play.setAttribute("aria-label", player.playing ? "Pause (space)" : "Play (space)");
    play.setAttribute("aria-pressed", String(player.playing));
    speed.value = String(player.speed);
    if (!player.playing) setText(rate, "");
  };
  group.subscribe(show);
  app.on("opened", show);
  onResize(element, draw);
  onTheme(draw);
  show();
  return {
    player,
    keys: {
      " ": () => play.click(), ArrowLeft: (big) => { player.pause(); seek(lead().step - (big ? 10 : 1)); },
      ArrowRight: (big) => { player.pause(); seek(lead().step + (big ? 10 : 1)); }, Home: () => seek(0), End: () => seek(Infinity),
      ArrowUp: () => faster(1), ArrowDown: () => faster(-1), n: () => run(1), p: () => run(-1),
    },
  };

  function faster(by) {
    const at = Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(player.speed) + by));
    player.setSpeed(SPEEDS[at]);
  }
}
