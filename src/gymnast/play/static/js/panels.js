// Everything beside the picture: numbers, bars, keys, episodes. Writes text, never markup.

import { Rate } from "./rate.js";
import { Strip } from "./strip.js";
import { capital, choiceRows, driversText, keysNote, ledger, numberRows, pieces, shortNumber, veilOf } from "./texts.js";

const DRIVER_NAMES = { policy: "Policy", random: "Random", human: "You" };

function element(tag, { className, text, title } = {}, children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  if (title) made.title = title;
  made.append(...children);
  return made;
}

/** A label that is broken between its words where it is too long for one line. */
const breakable = (label) => pieces(label).flatMap((piece, at) => (at ? [document.createElement("wbr"), piece] : [piece]));

const keyCaps = (names) => names.map((name) => element("kbd", { text: name }));

export class Panels {
  constructor(byId) {
    this.byId = byId;
    this.strip = new Strip(byId("strip"));
    this.rate = new Rate();
    this.bars = [];
    this.episodesShown = "";
    this.noticeTimer = 0;
  }

  connection(state, ended, reason) {
    const badge = this.byId("connection");
    const texts = { open: "connected", closed: ended ? "over" : "not connected: trying again", refused: reason || "refused" };
    badge.textContent = texts[state] ?? state;
    badge.dataset.state = state;
    badge.hidden = state === "open";
    if (state === "refused") this.veil({ text: "Not let in", hint: "open the URL that was printed in the terminal" });
  }

  showRole(role, visitors) {
    const badge = this.byId("role");
    const watchers = visitors - 1;
    badge.textContent = role === "watch" ? "watching" : role === "free" ? "nobody has the controls" : `${watchers} watching`;
    badge.hidden = role === "control" && watchers < 1;
    this.byId("claim").hidden = role !== "free";
    for (const button of this.byId("bar").querySelectorAll("button, input")) button.disabled = role !== "control";
    this.byId("quit").disabled = role !== "control";
  }

  notice(text) {
    this.byId("notice").textContent = text ?? "";
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => (this.byId("notice").textContent = ""), 6000);
  }

  introduce(about, command) {
    const { byId } = this;
    document.title = `${about.env} – Gymnast player`;
    byId("title").textContent = about.task ? `${about.env} · ${about.task}` : about.env;
    const weights = about.run ? `${about.run} at ${about.checkpoint.toLocaleString("en-US")} steps` : "no policy";
    const how = about.run ? (about.stochastic ? ", actions sampled" : ", greedy") : "";
    byId("subtitle").textContent = `${weights}${how} · ${about.training ? "env as in training" : "env as in evaluation"}`;
    byId("drivers").replaceChildren(
      ...about.drivers.map((driver) => {
        const button = element("button", { text: DRIVER_NAMES[driver] });
        button.dataset.driver = driver;
        button.setAttribute("role", "radio");
        button.addEventListener("click", () => command("driver", driver));
        return button;
      }),
    );
    for (const name of ["take_over", "pause", "step", "restart", "slower", "faster", "screenshot", "quit"]) {
      const button = byId(name);
      button.onclick = () => command(name);
      if (about.controls[name]) button.title = `${about.controls[name].key}: ${about.controls[name].does}`;
    }
    byId("keys").replaceChildren(
      ...about.bindings.map(({ keys, codes, does }) => {
        const row = element("div", { className: "key-row" }, [
          element("span", { className: "caps" }, keyCaps(keys)),
          element("span", {}, breakable(does)),
        ]);
        row.dataset.codes = codes.join(" ");
        return row;
      }),
    );
    byId("keys").classList.toggle("many", about.bindings.length > 6);
    byId("n-action").classList.toggle("several", about.factors.length > 1);
    const hold = keysNote(about);
    byId("keys-note").textContent = about.note ? `${hold} ${about.note}` : hold;
    byId("control-keys").replaceChildren(
      ...Object.values(about.controls).map(({ key, does }) =>
        element("div", { className: "key-row" }, [element("span", { className: "caps" }, keyCaps([key])), element("span", { text: does })]),
      ),
    );
    byId("policy-panel").hidden = !about.run;
    byId("parts-panel").hidden = about.parts.length === 0;
    this.partNames = about.parts;
    byId("take_over").hidden = about.drivers.length < 2;
    byId("strip-name").textContent = about.run ? "value" : "return";
  }

  show(about, moment) {
    const { byId } = this;
    byId("n-episode").textContent = shortNumber(moment.episode);
    byId("n-step").textContent = shortNumber(moment.step);
    byId("n-return").textContent = shortNumber(moment.return);
    byId("n-reward").textContent = shortNumber(moment.reward);
    byId("n-value").textContent = shortNumber(moment.over ? null : moment.value);
    byId("n-action").textContent = byId("n-action").title = moment.action ?? "–";
    const rate = this.rate.add(performance.now() / 1000, moment.step);
    byId("n-rate").textContent = rate === null || moment.paused ? "–" : rate.toFixed(0);
    byId("speed").textContent = `${moment.speed}×`;
    byId("pause").textContent = moment.paused ? "Continue" : "Pause";
    byId("take_over").textContent = moment.driver === "human" ? (about.run ? "Hand back" : "Let chance play") : "Take over";
    if (document.activeElement !== byId("seed")) byId("seed").value = moment.seed;
    for (const button of byId("drivers").children) {
      const own = button.dataset.driver === moment.driver;
      button.setAttribute("aria-checked", own);
      button.classList.toggle("chosen", own);
    }
    document.body.dataset.driver = moment.driver;
    if (moment.notice) this.notice(capital(moment.notice));
    this.veil(veilOf(moment, about.controls, about.versus));
    this.choices(about, moment);
    this.parts(moment);
    this.episodes(moment);
    this.strip.add(moment);
    this.strip.draw();
  }

  veil(what) {
    this.byId("veil").hidden = !what;
    if (!what) return;
    this.byId("veil-text").textContent = what.text;
    this.byId("veil-hint").textContent = what.hint;
  }

  choices(about, moment) {
    const rows = choiceRows(about, moment);
    const numbers = numberRows(about, moment);
    if (!rows.length && !numbers.length) { // an episode is over: the bars stay where they are
      this.bars.forEach(({ row, fill, mark, value }) => {
        fill.style.width = "0";
        mark.hidden = true;
        value.textContent = "–";
        row.classList.remove("would", "masked");
      });
      return;
    }
    const box = this.byId("choices");
    const shape = rows.map(({ label }) => label).join("\n") + numbers.length;
    if (box.dataset.shape !== shape) {
      box.dataset.shape = shape;
      this.bars = [...rows, ...numbers].map(({ label, at }) => {
        const isNumber = at !== undefined;
        const fill = element("i");
        const mark = element("i", { className: "mark" });
        const value = element("b", { className: "number" });
        const row = element("div", { className: isNumber ? "bar-row real" : "bar-row" }, [
          element("span", { title: label }, breakable(label)),
          element("div", { className: "track" }, isNumber ? [fill, mark] : [fill]),
          value,
        ]);
        return { row, fill, mark, value };
      });
      box.replaceChildren(...this.bars.map(({ row }) => row));
    }
    rows.forEach(({ probability, masked, index }, at) => {
      const { row, fill, value } = this.bars[at];
      fill.style.width = `${100 * probability}%`;
      value.textContent = masked ? "masked" : `${Math.round(100 * probability)} %`;
      row.classList.toggle("masked", masked);
      row.classList.toggle("would", about.numbers.length === 0 && moment.would?.length === 1 && moment.would[0] === index);
    });
    numbers.forEach(({ text, from, to, at }, index) => {
      const { fill, mark, value } = this.bars[rows.length + index];
      value.textContent = text;
      fill.style.left = `${100 * from}%`;
      fill.style.width = `${100 * (to - from)}%`;
      mark.hidden = at === null;
      mark.style.left = `${100 * (at ?? 0)}%`;
    });
  }

  parts(moment) {
    const rows = ledger(moment.parts, moment.part_sums, this.partNames);
    const body = this.byId("parts").tBodies[0];
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach(({ name, now, sum, share }, at) => {
      const row = body.rows[at] ?? body.insertRow();
      const texts = [name, shortNumber(now), shortNumber(sum), `${Math.round(100 * share)} %`];
      texts.forEach((text, column) => ((row.cells[column] ?? row.insertCell()).textContent = text));
      row.classList.toggle("paid", now !== 0);
    });
  }

  episodes(moment) {
    const shown = `${moment.played}`;
    if (shown === this.episodesShown) return;
    this.episodesShown = shown;
    this.byId("played").textContent = moment.played ? `${moment.played} played` : "";
    const first = moment.played - moment.episodes.length;
    this.byId("episodes").replaceChildren(
      ...moment.episodes
        .map(({ return: total, length, ended, drivers }, index) => {
          const item = element("li", {}, [
            element("b", { className: "number", text: shortNumber(total) }),
            element("span", { className: "muted", text: ` ${length} ${length === 1 ? "step" : "steps"} · ${driversText(drivers)}${ended === "cut" ? " · left" : ""}` }),
          ]);
          item.value = first + index + 1;
          return item;
        })
        .reverse(),
    );
  }
}
