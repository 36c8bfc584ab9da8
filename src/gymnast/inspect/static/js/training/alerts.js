// Alerts in words, and on a line of time.

import { clear, h } from "../dom.js";
import { compact, integer } from "../format.js";

export function mountAlerts(element) {
  return {
    show(alerts, total) {
      if (!alerts.length) { clear(element, h("p", { class: "fine" }, "No alerts.")); return; }
      const end = Math.max(total || 0, ...alerts.map((alert) => alert.last_step ?? alert.first_step ?? 0), 1);
      const line = h("div", { class: "alert-line", role: "img", "aria-label": "When alerts were raised, over the run" });
      for (const alert of alerts) {
        const mark = h("i", { class: `alert-mark ${alert.severity}`, title: `${alert.id}: env steps ${integer(alert.first_step)} to ${integer(alert.last_step)}` });
        mark.style.left = `${(100 * (alert.first_step ?? 0)) / end}%`;
        mark.style.width = `${Math.max(0.4, (100 * ((alert.last_step ?? alert.first_step) - alert.first_step)) / end)}%`;
        line.append(mark);
      }
      clear(element, line, h("div", { class: "alert-list" }, alerts.map((alert) => h("details", { class: `alert ${alert.severity}` },
        h("summary", {}, h("i", { class: `dot ${alert.severity}` }), h("strong", {}, alert.id), h("span", { class: "alert-text" }, alert.message),
          h("span", { class: "muted number small" }, `${alert.count > 1 ? `${alert.count}× ` : ""}from ${compact(alert.first_step)} steps`)),
        h("div", { class: "alert-more" }, alert.metric ? h("p", { class: "muted small" }, "metric ", h("code", {}, alert.metric)) : null,
          [].concat(alert.advice ?? []).map((text) => h("p", {}, text)))))));
    },
  };
}
