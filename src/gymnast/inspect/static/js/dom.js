// Elements from data. Text only ever arrives as text: nothing here parses HTML.

import { sentence } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** `h("button", {class: "primary", onclick: …, "aria-label": …}, "text", element, …)` */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "class") element.className = value;
    else if (["value", "checked", "disabled", "selected", "hidden", "indeterminate"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

export function clear(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
  return element;
}

/** Set a text only where it changed: the page does this for every view at every step. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const PATHS = {
  play: "M7 4.500v15l12-7.500z", pause: "M7 5h3.500v14H7zM13.500 5H17v14h-3.500z",
  first: "M6 5h2.500v14H6zM19 5v14L9.500 12z", last: "M15.500 5H18v14h-2.500zM5 5v14l9.500-7z",
  previous: "M15.500 5.500v13L7 12z", next: "M8.500 5.500v13L17 12z",
  runto: "M4 6v12l7-6zM11.500 6v12l7-6zM19 5.500h2v13h-2z", runback: "M20 6v12l-7-6zM12.500 6v12l-7-6zM3 5.500h2v13H3z",
};
const STROKES = {
  close: "M6 6l12 12M18 6L6 18", plus: "M12 5v14M5 12h14", check: "M5 12.500l4.500 4.500L19 7.500",
  download: "M12 4v11M7.500 11l4.500 4.500 4.500-4.500M5 20h14", search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20 20",
  sidebar: "M4 5h16v14H4zM9.500 5v14", theme: "M12 4a8 8 0 1 0 8 8 6.500 6.500 0 0 1-8-8z", help: "M9.500 9.200a2.600 2.600 0 1 1 3.700 2.500c-.8.4-1.200 1-1.200 1.900M12 17v.01",
  trash: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12", record: "M12 18a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM12 14.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z", columns: "M4 5h16v14H4zM12 5v14",
  link: "M9 12h6M8.500 8H7a4 4 0 0 0 0 8h1.500M15.500 8H17a4 4 0 0 1 0 8h-1.500", back: "M14.500 6L8.500 12l6 6",
};

/** One of our own icons; it has no name of its own, so its button needs an aria-label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon${STROKES[name] ? " stroke" : ""}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name] ?? STROKES[name] ?? "");
  svg.append(path);
  return svg;
}

export function iconButton(name, label, onclick, attributes = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...attributes }, icon(name));
}

/** A choice of few, as buttons in a row. `options`: [[value, label, title?]] */
export function segmented(label, options, value, onchange) {
  const group = h("div", { class: "segmented", role: "radiogroup", "aria-label": label });
  const buttons = options.map(([own, text, title]) => h("button", {
    type: "button", role: "radio", title, "aria-checked": String(own === value), dataset: { value: own },
    onclick: () => { group.set(own); onchange(own); },
  }, text));
  group.set = (wanted) => {
    buttons.forEach((button, index) => button.setAttribute("aria-checked", String(options[index][0] === wanted)));
  };
  group.append(...buttons);
  return group;
}

/** A message at the edge of the page that goes away by itself; errors stay until they are closed. */
export function notify(text, kind = "info") {
  const place = document.getElementById("notices");
  const close = () => box.remove();
  const box = h("div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : null },
    h("span", {}, sentence(text)), iconButton("close", "Close this message", close));
  while (place.children.length > 3) place.firstChild.remove();
  place.append(box);
  if (kind !== "error") setTimeout(close, 5000);
}

/** Call `fn` when an element's size changes, at most once per frame; returns what ends that. */
export function onResize(element, fn) {
  let asked = false;
  const observer = new ResizeObserver(() => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; fn(); });
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** A canvas as large as its element in real pixels; returns its context in CSS pixels. */
export function fitCanvas(canvas, width = canvas.clientWidth, height = canvas.clientHeight) {
  const ratio = window.devicePixelRatio || 1;
  const [w, hgt] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== hgt) { canvas.width = w; canvas.height = hgt; }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

let colours = null;

/** A colour of the theme, by the name of its variable. */
export function colour(name) {
  colours ??= new Map();
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

const themed = new Set();

/** Draw again when the theme changes; returns what ends that. */
export function onTheme(fn) {
  themed.add(fn);
  return () => themed.delete(fn);
}

export function themeChanged() {
  colours = null;
  for (const fn of [...themed]) fn();
}
