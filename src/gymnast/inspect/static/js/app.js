// What the whole page knows: the chosen run, runs to compare it with, and the recordings that are open.

import { address, getBinary, getJson } from "/web/api.js";
import { decode } from "/web/wire.js";
import { Recording } from "./recording.js";
import { StepGroup, StepStore } from "./store.js";

const MOST_OPEN = 4;

export class App {
  constructor() {
    this.session = null;
    this.run = null; // id of the chosen run
    this.checkpoint = null; // the one of it that is chosen at first, by name; its best where none is
    this.details = null; // what /api/runs/ID says of it
    this.compared = new Map(); // id → summary, of further runs in the training picture
    this.group = new StepGroup();
    this.tab = "record";
    this.handlers = {};
  }

  on(event, handler) { (this.handlers[event] ??= []).push(handler); }
  emit(event, detail) { for (const handler of this.handlers[event] ?? []) handler(detail); }

  showTab(tab) {
    if (this.tab === tab) return;
    this.tab = tab;
    this.emit("tab", tab);
  }

  async chooseRun(id, { checkpoint = null } = {}) {
    Object.assign(this, { run: id, checkpoint });
    this.details = null;
    this.compared.delete(id);
    this.emit("run", id);
    await this.refreshRun();
  }

  /** Choose a run where runs are listed: the views of recordings that are open do not change with it, so leave them. */
  turnTo(id) {
    if (["step", "network"].includes(this.tab)) this.showTab("record");
    return this.chooseRun(id);
  }

  /** Ask for the chosen run again; an answer that comes after another choice is dropped. */
  async refreshRun() {
    const id = this.run;
    if (!id) return;
    try {
      const details = await getJson(address(["runs", id]));
      if (this.run !== id) return;
      this.details = details;
      this.emit("details", details);
    } catch (error) {
      if (this.run === id) this.emit("run-error", error);
    }
  }

  toggleCompared(run) {
    if (this.compared.has(run.id)) this.compared.delete(run.id);
    else if (run.id !== this.run) this.compared.set(run.id, run);
    this.emit("compared");
  }

  async load(summary, { gamma, lam } = {}) {
    const buffer = await getBinary(address(["recordings", summary.id, "data"], { gamma, lam }));
    const recording = new Recording(summary.id, decode(buffer), summary);
    recording.bytes = buffer.byteLength;
    if (this.details?.run.id === recording.meta.run) recording.namePartsBy(this.details.settings);
    return new StepStore(recording);
  }

  /** Open a recording alone, or beside those that are open. */
  async open(summary, { beside = false, gamma, lam } = {}) {
    const store = await this.load(summary, { gamma, lam });
    Object.assign(store, { gamma, lam });
    const stores = [...this.group.stores];
    if (!beside) stores.forEach((one) => this.group.remove(one));
    else if (stores.length >= MOST_OPEN) this.group.remove(stores[0]);
    this.group.add(store);
    this.emit("opened");
    this.showTab("step");
    return store;
  }

  /** The same recording with another discount, at the same step. */
  async discount(store, { gamma, lam }) {
    const fresh = await this.load(store.recording.summary, { gamma, lam });
    Object.assign(fresh, { gamma, lam });
    this.group.replace(store, fresh);
    this.emit("opened");
  }

  close(store) {
    this.group.remove(store);
    this.emit("opened");
  }
}
