// A finished review: findings with their evidence, proposals with the verdict of the settings' loader. Text only.

import { address, post } from "/web/api.js";
import { h, setText } from "../dom.js";
import { ago, integer } from "../format.js";

export function reviewView(review, app) {
  return h("article", { class: "panel block review-done" },
    h("p", { class: "review-summary" }, review.summary),
    review.findings.length ? h("h3", {}, "Findings") : null,
    review.findings.map(finding),
    h("h3", {}, "Proposals"),
    review.proposals.length ? review.proposals.map((one, index) => proposal(one, index + 1, app)) : h("p", { class: "fine" }, "None."),
    about(review));
}

function finding({ severity, title, detail, evidence }) {
  return h("section", { class: `finding ${severity}`, dataset: { severity } },
    h("h4", {}, h("i", { class: `dot ${severity}` }), h("span", { class: "muted" }, severity), title),
    detail ? h("p", {}, detail) : null,
    evidence.length ? h("ul", { class: "evidence" }, evidence.map(({ text, found }) => h("li", { class: found ? "" : "not-found" },
      h("code", {}, text), found ? null : h("span", { class: "chip doubt" }, "not in what was sent")))) : null);
}

function proposal(one, number, app) {
  const verdict = one.ready ? h("span", { class: "chip accepted" }, "settings are valid") : h("span", { class: "chip rejected" }, "rejected");
  return h("section", { class: `proposal ${one.ready ? "ready" : "refused"}`, dataset: { proposal: number } },
    h("h4", {}, `${number}. ${one.title}`, verdict),
    one.why ? h("p", {}, one.why) : null,
    one.ready ? h("pre", { class: "command" }, one.command)
      : [one.overrides.length ? h("p", { class: "mono small" }, one.overrides.join("  ")) : null, h("p", { class: "problem" }, one.problem)],
    one.ready ? starter(one, app) : null);
}

/** The button that trains a proposal; afterwards the run that it became. */
function starter(one, app) {
  const problem = h("p", { class: "problem", role: "alert" });
  const place = h("div", { class: "review-buttons" });
  const button = h("button", { type: "button", onclick: async () => {
    button.disabled = true;
    setText(problem, "");
    setText(button, "Starting…");
    try {
      const { run } = await post(address(["runs", one.run, "review", "start"]), { overrides: one.overrides });
      place.replaceChildren(h("span", {}, "Started as run ", h("a", {
        href: `#run=${run}`, class: "mono", onclick: (event) => { event.preventDefault(); app.chooseRun(run); },
      }, run)));
    } catch (error) {
      setText(problem, error.message);
      setText(button, "Start this run");
      button.disabled = false;
    }
  } }, "Start this run");
  place.append(button);
  return h("div", {}, place, problem);
}

function about(review) {
  const counts = [[review.input_tokens, "tokens read"], [review.output_tokens, "written"]]
    .filter(([count]) => count !== null).map(([count, what]) => `${integer(count)} ${what}`).join(", ");
  const others = review.runs.length > 1 ? ` of ${review.runs.join(", ")}` : "";
  return h("p", { class: "muted small review-about" },
    `Written by ${review.answered_by || review.model} at ${review.host}, `, h("time", { datetime: review.created, title: review.created }, ago(review.created)),
    `${counts ? `, ${counts}` : ""}${others}. A language model can be wrong: evidence was looked up and settings were checked, conclusions were not.`);
}
