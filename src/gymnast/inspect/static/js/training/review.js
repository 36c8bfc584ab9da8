// The review of a run by a language model: what would be sent, the answer while it is written, what it proposes.

import { address, download, getJson, getText, postStream } from "/web/api.js";
import { clear, h, notify, setText } from "../dom.js";
import { integer } from "../format.js";
import { eventsOf } from "./event_stream.js";
import { reviewView } from "./review_view.js";

export function mountReview(element, app) {
  const { run } = app;
  const leaving = new AbortController(); // when the panel is closed, all that is under way ends
  let asking = null; // of the question under way
  let preview = null;
  let looked = 0;
  let soon = null;

  const facts = h("dl", { class: "figures review-facts" });
  const missing = h("div", { class: "review-missing" });
  const model = h("input", { name: "model", "aria-label": "Model", placeholder: "model", spellcheck: "false", autocomplete: "off", maxlength: "200", oninput: () => lookSoon() });
  const ask = h("button", { type: "submit", class: "primary", disabled: true }, "Ask");
  const cancel = h("button", { type: "button", hidden: true, onclick: () => asking?.abort() }, "Cancel");
  const state = h("span", { class: "muted small", role: "status" });
  const form = h("form", { class: "review-form", onsubmit: (event) => { event.preventDefault(); start(); } },
    h("label", {}, h("span", { class: "muted small" }, "Model"), model), ask, cancel, state);
  const problem = h("p", { class: "problem", role: "alert" });
  const live = h("pre", { class: "review-live", "aria-label": "The answer as it is written", hidden: true });
  const result = h("div", { class: "review-result" });
  element.append(h("section", { class: "panel block review" },
    h("h3", {}, "Review by a language model"),
    h("p", { class: "muted" }, "What is sent: the run's report, the description of its environment, the settings that can be changed, and the end of its log. Nothing is sent before you ask."),
    facts, missing, form, bundle(run, leaving.signal), problem), live, result);

  const look = async () => {
    const own = (looked += 1);
    preview = null;
    ask.disabled = true;
    try {
      const found = await getJson(address(["runs", run, "review"], { model: model.value.trim() }), { signal: leaving.signal });
      if (own !== looked) return;
      preview = found;
      setText(problem, "");
      showPreview();
    } catch (error) {
      if (error.name !== "AbortError" && own === looked) setText(problem, error.message);
    }
  };
  const lookSoon = () => { // who is asked may depend on the model: nothing can be sent before that is shown
    looked += 1;
    preview = null;
    ask.disabled = true;
    clearTimeout(soon);
    soon = setTimeout(look, 300);
  };
  const showPreview = () => {
    const pair = (name, value, title) => h("div", { title }, h("dt", {}, name), h("dd", { class: "number" }, value));
    clear(facts, pair("size", `${(preview.bytes / 1000).toFixed(1)} kB`), pair("tokens, about", integer(preview.estimated_tokens), "Estimated: models differ"),
      pair("host", preview.host || "–", preview.is_local ? "This machine: nothing leaves it" : "From the environment of the inspector"), pair("model", preview.model || "–"));
    if (!model.value) model.placeholder = preview.model || "name a model";
    clear(missing, preview.missing.length ? [h("p", {}, h("strong", {}, "To ask a model:")),
      h("ul", {}, preview.missing.map((text) => h("li", {}, text))),
      h("p", { class: "muted small" }, "Variables are read where `gymnast inspect` is started: set them there and start it again. Without a key, the text below is for any chat.")] : []);
    ask.disabled = Boolean(asking) || preview.missing.length > 0;
  };
  const start = async () => {
    if (asking || !preview || preview.missing.length) return;
    asking = new AbortController();
    const stop = () => asking?.abort();
    leaving.signal.addEventListener("abort", stop);
    setText(problem, "");
    setText(state, `asking ${preview.model} at ${preview.host}…`);
    live.replaceChildren();
    clear(result);
    cancel.hidden = false;
    ask.disabled = true;
    try {
      const body = await postStream(address(["runs", run, "review"]), { model: preview.model, host: preview.host }, { signal: asking.signal });
      await follow(body);
      setText(state, "");
    } catch (error) {
      setText(state, error.name === "AbortError" ? "cancelled: nothing was kept" : "");
      if (error.name !== "AbortError") setText(problem, error.message);
    } finally {
      leaving.signal.removeEventListener("abort", stop);
      asking = null;
      cancel.hidden = true;
      ask.disabled = !preview || preview.missing.length > 0;
    }
  };
  const follow = async (body) => {
    for await (const { name, data } of eventsOf(body)) {
      if (name === "text") write(data.text);
      else if (name === "notice") setText(state, data.notice);
      else if (name === "error") throw new Error(data.error);
      else if (name === "review") {
        live.hidden = true;
        clear(result, reviewView(data.review, app));
        if (!data.kept) notify("The review could not be kept in the run's folder.", "error");
        return;
      }
    }
    throw new Error("the answer ended early: ask again");
  };
  const write = (text) => {
    live.hidden = false;
    const atEnd = live.scrollHeight - live.scrollTop - live.clientHeight < 30;
    live.append(text);
    if (atEnd) live.scrollTop = live.scrollHeight;
  };
  const showKept = async () => {
    try {
      const { review } = await getJson(address(["runs", run, "review", "kept"]), { signal: leaving.signal });
      if (review && !asking && !result.firstChild && live.hidden) clear(result, reviewView(review, app));
    } catch (error) {
      if (error.name !== "AbortError") notify(error.message, "error");
    }
  };
  look();
  showKept();
  return { destroy: () => { clearTimeout(soon); leaving.abort(); } };
}

/** The text for any chat, which needs no key. */
function bundle(run, signal) {
  const path = address(["runs", run, "review", "bundle"]);
  const text = h("pre", { class: "review-text", tabindex: "0", "aria-label": "The text for any chat" });
  const load = async () => { if (!text.textContent) text.textContent = await getText(path, { signal }); };
  const guarded = (act) => async () => {
    try { await act(); } catch (error) { if (error.name !== "AbortError") notify(error.message, "error"); }
  };
  const shown = h("details", { class: "review-bundle", ontoggle: guarded(() => (shown.open ? load() : null)) }, h("summary", {}, "The text for any chat"), text);
  const copy = async () => {
    await load();
    try {
      await navigator.clipboard.writeText(text.textContent);
      notify("Copied.");
    } catch { // not allowed, or not an address that browsers trust
      shown.open = true;
      getSelection().selectAllChildren(text);
      notify("The browser does not let the page copy: the text is selected, copy it with Ctrl-C.");
    }
  };
  return h("div", { class: "review-chat" }, shown, h("div", { class: "review-buttons" },
    h("button", { type: "button", onclick: guarded(copy) }, "Copy"),
    h("button", { type: "button", onclick: guarded(() => download(path, `${run}-review.md`)) }, "Download")));
}
