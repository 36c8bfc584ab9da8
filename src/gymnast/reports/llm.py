"""A run as one compact text for a language model, within a hard limit of bytes.

Numbers instead of pictures: a model reads `first → last  min@step max@step  slope  [means]` better than a
sparkline, and it costs fewer tokens than rows of CSV. What does not fit is left out by importance, and the
text says how much that is.
"""

from __future__ import annotations

from collections.abc import Sequence

from gymnast.metrics.alerts.alert import Alert
from gymnast.reports.changed_settings import ChangedSetting
from gymnast.reports.facts import Evaluation, RunFacts, outcome_line, priority, trends
from gymnast.reports.history import N_BUCKETS, Trend
from gymnast.reports.text import clean, cut_bytes, figure, setting_text

SHORT_BYTES, FULL_BYTES = 8_000, 32_000
_LONGEST_LINE = 600  # bytes
# Shares of the limit that a part may take at most; metrics take what is left.
_SHARES = {"problems": 0.06, "alerts": 0.40, "settings": 0.20, "evaluations": 0.08}


def llm_text(facts: RunFacts, *, full: bool = False) -> str:
    """The text; never more than SHORT_BYTES, or FULL_BYTES with `full`, in UTF-8."""
    limit = FULL_BYTES if full else SHORT_BYTES
    text = _Text(limit)
    text.add(cut_bytes(outcome_line(facts), _LONGEST_LINE))
    text.add(cut_bytes(_about(facts), _LONGEST_LINE))
    text.add(_timing(facts))
    text.add(
        cut_bytes(f"files: {', '.join([*facts.files, 'checkpoints/', *facts.videos[:3]])}", _LONGEST_LINE)
    )
    text.part("could not be read", [clean(problem) for problem in facts.problems], _SHARES["problems"])
    if facts.alerts:
        text.part(
            f"alerts ({len(facts.alerts)}), the worst first", [*map(_alert, facts.alerts)], _SHARES["alerts"]
        )
    else:
        text.add("alerts: none")
    text.part("settings that differ from the defaults", [*map(_setting, facts.settings)], _SHARES["settings"])
    text.part(
        "evaluations (env steps: score ± std)", _evaluations(facts.evaluations, full), _SHARES["evaluations"]
    )
    text.metrics(trends(facts.history), full)
    return text.whole()


class _Text:
    """Lines within a limit of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self._left, self._lines = limit, limit, list[str]()

    def add(self, line: str) -> bool:
        """Whether there was room for it."""
        size = len(line.encode(errors="replace")) + 1
        if not line or size > self._left:
            return False
        self._lines.append(line)
        self._left -= size
        return True

    def part(self, title: str, lines: Sequence[str], share: float) -> None:
        """A title and the lines that fit into a share of the limit, first come first served."""
        if not lines:
            return
        before, room = self._left, int(share * self._limit)
        self.add(f"{title}:")
        for number, line in enumerate(lines):
            line = cut_bytes(f"- {line}", _LONGEST_LINE)
            used = before - self._left
            if used + len(line.encode()) + 40 > room or not self.add(line):
                self.add(f"- … {len(lines) - number:,} more left out")
                return

    def metrics(self, found: Sequence[Trend], full: bool) -> None:
        """One line for each metric; the least important are left out where there is no room."""
        if not found:
            self.add("metrics: none recorded")
            return
        self.add(
            f"metrics: name first → last, min@step max@step, slope: change over the last 20 % of the steps, "
            f"[means of {N_BUCKETS} equal parts of the steps]"
        )
        lines = {trend.name: cut_bytes(_metric(trend), _LONGEST_LINE) for trend in found}
        room, chosen = self._left - 80, set[str]()
        for name in sorted(lines, key=priority):
            room -= len(lines[name].encode()) + 1
            if room < 0:
                break
            chosen.add(name)
        for name, line in lines.items():
            if name in chosen:
                self.add(line)
        if lost := len(lines) - len(chosen):
            hint = "" if full else "; --full shows more"
            self.add(f"{lost:,} metrics of low priority left out{hint}")

    def whole(self) -> str:
        return "\n".join(self._lines) + "\n"


def _about(facts: RunFacts) -> str:
    run = facts.run
    known = [
        f"run {clean(run.id, 40)}",
        f"algo {clean(run.algo, 40)}",
        f"env {clean(run.env, 80)}",
        "" if run.seed is None else f"seed {run.seed}",
        f"{run.env_steps:,} env steps",
        f"{facts.history.rows:,} updates",
        f"ended: {clean(run.reason, 120)}" if run.reason else "",
        "" if not facts.resumes else f"resumed {len(facts.resumes)} times",
        *(f"{name} {version}" for name, version in list(facts.versions.items())[:6]),
        facts.machine,
    ]
    return ", ".join(part for part in known if part)


def _timing(facts: RunFacts) -> str:
    timing = facts.timing
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in timing.shares().items())
    speed = (
        "" if timing.fps_training is None else f"; {timing.fps_training:.0f} env steps/s in a typical update"
    )
    return f"time: {timing.seconds:.1f} s{f' ({shares})' if shares else ''}{speed}"


def _alert(alert: Alert) -> str:
    return (
        f"{alert.severity} {alert.id} ×{alert.count} at steps {alert.first_step}–{alert.last_step}"
        f" [{clean(alert.metric, 60)}]: {clean(alert.message, 200)} → {clean(alert.advice, 200)}"
    )


def _setting(setting: ChangedSetting) -> str:
    preset = "" if setting.of_preset else f", preset {clean(setting_text(setting.preset), 80)}"
    value, default = (clean(setting_text(item), 120) for item in (setting.value, setting.default))
    return f"{setting.key} = {value} (default {default}{preset})"


def _evaluations(every: Sequence[Evaluation], full: bool) -> list[str]:
    """In one line: the first, the last, and others evenly between."""
    most = 40 if full else 12
    last = len(every) - 1
    places = range(len(every)) if last < most else sorted({round(last * n / (most - 1)) for n in range(most)})
    shown = (every[place] for place in places)
    line = ", ".join(f"{one.env_steps}: {figure(one.score)} ± {figure(one.std)}" for one in shown)
    return [f"{len(every):,} in all; {line}"] if every else []


def _metric(trend: Trend) -> str:
    name = clean(trend.name, 80)
    if trend.constant:
        return f"{name} {figure(trend.last)} (constant)"
    means = " ".join(figure(mean) for mean in trend.buckets)
    slope = "" if trend.slope is None else f" slope {'+' if trend.slope > 0 else ''}{figure(trend.slope)}"
    return (
        f"{name} {figure(trend.first)} → {figure(trend.last)}"
        f" min {figure(trend.min)}@{trend.min_step} max {figure(trend.max)}@{trend.max_step}{slope} [{means}]"
    )
