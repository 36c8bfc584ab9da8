// Where to run to: the rows at which something that a person asked for happens.

import { compile, ConditionError } from "./condition.js";
import { range } from "./decimate.js";

export const KINDS = [
  { kind: "reward", title: "reward", help: "the next step whose reward is not zero" },
  { kind: "reward-change", title: "reward changes", help: "the next step whose reward is not that of the step before" },
  { kind: "value-drop", title: "value drop", help: "the critic's estimate falls by at least a tenth of its range" },
  { kind: "event", title: "event", help: "an episode ends, or a flag, text or count in the info changes" },
  { kind: "action", title: "action", help: "the next time that this action is taken" },
  { kind: "condition", title: "condition", help: "for example: value < 10 and reward != 0" },
];

/** The function `stops(row)` for one breakpoint; throws ConditionError, in words, if it cannot be made. */
export function breakpoint(recording, { kind, action, text }) {
  if (kind === "condition") {
    const test = compile(text ?? "", recording.columns);
    const read = (name, step) => recording.cell(name, step);
    return (row) => recording.stepOfRow[row] >= 0 && test(read, recording.stepOfRow[row]);
  }
  if (kind === "action") {
    if (!action) throw new ConditionError("Choose an action to run to.");
    return (row) => recording.label(row) === action;
  }
  if (kind === "value-drop") return valueDrop(recording);
  if (kind === "event") return event(recording);
  if (kind === "reward") return (row) => !recording.isLast(row) && recording.number("reward", row) !== 0;
  if (kind === "reward-change") {
    return (row) => !recording.isLast(row) && recording.stepInEpisode(row) > 0
      && recording.number("reward", row) !== recording.number("reward", row - 1);
  }
  throw new ConditionError(`There is no breakpoint called ${kind}.`);
}

/** The next row after `from` where `stops(row)`, or -1. */
export function next(recording, stops, from) {
  for (let row = from + 1; row < recording.rows; row += 1) if (stops(row)) return row;
  return -1;
}

/** The last row before `from` where `stops(row)`, or -1. */
export function previous(recording, stops, from) {
  for (let row = from - 1; row >= 0; row -= 1) if (stops(row)) return row;
  return -1;
}

function valueDrop(recording) {
  const value = recording.arrays.value?.data;
  const bounds = value && range([value]);
  if (!bounds) throw new ConditionError("This policy has no critic, so there is no value that could drop.");
  const fall = (bounds.high - bounds.low) * 0.1;
  return (row) => recording.stepInEpisode(row) > 0 && fall > 0 && value[row - 1] - value[row] >= fall;
}

/** Keys of an info that change seldom: flags, texts and whole numbers, in at most a fifth of the steps. */
export function eventKeys(infos) {
  const changes = new Map();
  infos.forEach((info, row) => {
    const before = infos[row - 1];
    for (const [key, value] of Object.entries(info ?? {})) {
      if (!changes.has(key)) changes.set(key, 0);
      const discrete = typeof value === "boolean" || typeof value === "string" || Number.isInteger(value);
      if (!discrete) changes.set(key, Infinity);
      else if (before && key in before && before[key] !== value) changes.set(key, changes.get(key) + 1);
    }
  });
  const most = Math.max(3, infos.length / 5);
  return [...changes].filter(([, count]) => count > 0 && count <= most).map(([key]) => key);
}

function event(recording) {
  const keys = eventKeys(recording.infos);
  return (row) => {
    if (recording.ended(row)) return true;
    if (!recording.stepInEpisode(row)) return false;
    const [now, before] = [recording.infos[row] ?? {}, recording.infos[row - 1] ?? {}];
    return keys.some((key) => key in now && key in before && now[key] !== before[key]);
  };
}

/** The actions that occur in a recording, in words, the most frequent first. */
export function actionLabels(recording, most = 50) {
  const counts = new Map();
  for (const row of recording.rowOfStep) {
    const label = recording.label(row);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, most).map(([label]) => label);
}
