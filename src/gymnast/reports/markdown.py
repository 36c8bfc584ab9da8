"""A run as Markdown: the outcome in the first line, then what a reader asks next."""

from __future__ import annotations

from collections.abc import Sequence

from gymnast.metrics.alerts.alert import Alert
from gymnast.reports.facts import Evaluation, RunFacts, outcome_line
from gymnast.reports.pictures import Curves, text_charts
from gymnast.reports.text import clean, code, figure, moment, plain, setting_text, table
from gymnast.runs.ids import RUN_ID

_MOST_EVALUATIONS = 20  # rows
_MOST_CHECKPOINTS = 30
_SHOWN = {"critical": "**critical**", "warning": "warning", "info": "info"}


def markdown(
    facts: RunFacts, pictures: Sequence[Curves], folder: str = "report", *, in_run: bool = True
) -> str:
    """The report; `pictures` are those that are in `folder`, beside the file. In the run's own folder it has
    links to what is there."""
    run = facts.run
    parts = [
        [f"# {plain(outcome_line(facts), 600)}"],
        _about(facts, in_run),
        *(
            [_list("Could not be read", [plain(problem) for problem in facts.problems])]
            if facts.problems
            else []
        ),
        _alerts(facts.alerts),
        _curves(facts, pictures, folder),
        _settings(facts),
        _timing(facts),
        _evaluations(facts),
        _checkpoints(facts, in_run),
        _again(facts),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return f"{text}\n" if run.id else text


def _about(facts: RunFacts, in_run: bool) -> list[str]:
    run = facts.run
    seed = "" if run.seed is None else f", seed {run.seed}"
    lines = [f"Run {code(run.id)}: {code(run.algo)} on {code(run.env)}{seed}. It {_state(facts)}."]
    if facts.videos and in_run:
        shown = ", ".join(
            f"[{plain(path.removeprefix('videos/'))}]({_link(path)})" for path in facts.videos[:3]
        )
        lines += ["", f"Video: {shown}"]
    return lines


def _state(facts: RunFacts) -> str:
    run = facts.run
    if run.status == "running":
        return f"is {run.state}"
    if run.status == "finished":
        return f"finished: {plain(run.reason)}" if run.reason else "finished"
    return "was interrupted" if run.status == "interrupted" else "failed"  # the first line says why


def _alerts(alerts: Sequence[Alert]) -> list[str]:
    if not alerts:
        return ["## Alerts", "", "None."]
    rows = [
        [
            code(alert.id),
            _SHOWN[alert.severity],
            f"{alert.count:,}",
            f"{alert.first_step:,} – {alert.last_step:,}",
            plain(alert.message, 600),
            plain(alert.advice, 600),
            code(f"docs/alerts/{alert.id}.md"),
        ]
        for alert in alerts
    ]
    head = ["alert", "severity", "seen:", "env steps", "what", "what to change", "page"]
    return ["## Alerts", "", *table(head, rows)]


def _curves(facts: RunFacts, pictures: Sequence[Curves], folder: str) -> list[str]:
    lines = ["## Curves"]
    for chart in text_charts(facts):
        lines += ["", "```text", chart, "```"]
    for picture in pictures:
        lines += ["", f"![{picture.title}]({_link(f'{folder}/{picture.file}')})", "", f"*{picture.about}*"]
    return lines if len(lines) > 1 else []


def _settings(facts: RunFacts) -> list[str]:
    if not facts.settings:
        return ["## Settings", "", "All as the defaults have them." if facts.config else "Not known."]
    with_preset = any(not setting.of_preset for setting in facts.settings)
    rows = []
    for setting in facts.settings:
        cells = [code(setting.key), code(setting_text(setting.value)), code(setting_text(setting.default))]
        if with_preset:
            cells.append("" if setting.of_preset else code(setting_text(setting.preset)))
        rows.append(cells)
    head = ["setting", "this run", "default", *(["preset, where it differs"] if with_preset else [])]
    return ["## Settings that differ from the defaults", "", *table(head, rows)]


def _timing(facts: RunFacts) -> list[str]:
    timing = facts.timing
    shares = timing.shares()
    rows = [[name, f"{spent:,.2f}", f"{100 * shares[name]:.0f} %"] for name, spent in timing.phases.items()]
    lines = ["## Time", ""]
    lines += table(["phase", "seconds:", "share:"], [*rows, ["total", f"{timing.seconds:,.2f}", ""]])
    speed = [f"{timing.fps:,.0f} env steps per second in all" if timing.fps else ""]
    speed += [f"{timing.fps_training:,.0f} in a typical update" if timing.fps_training else ""]
    when = [f"started {moment(timing.started)}" if moment(timing.started) else ""]
    when += [f"last written {moment(timing.updated)}" if moment(timing.updated) else ""]
    when += [f"resumed at step {steps:,}" for steps, _ in facts.resumes[-5:]]
    parts_of_time = [", ".join(part for part in group if part) for group in (speed, when)]
    return lines + [line for text in parts_of_time if text for line in ("", f"{text[0].upper()}{text[1:]}.")]


def _evaluations(facts: RunFacts) -> list[str]:
    every = facts.evaluations
    if not every:
        return []
    shown = _chosen(every, facts.best)
    rows = [
        [
            f"{one.env_steps:,}",
            figure(one.score),
            figure(one.std),
            "" if one.episodes is None else f"{one.episodes:,}",
            "best" if one is facts.best else "solved" if one.solved else "",
        ]
        for one in shown
    ]
    note = "" if len(shown) == len(every) else f" ({len(shown)} of {len(every):,})"
    head = ["env steps:", "score:", "std:", "episodes:", ""]
    lines = [f"## Evaluations{note}", "", *table(head, rows)]
    if facts.tasks:
        scores = [[code(name), figure(last), figure(best)] for name, (last, best) in facts.tasks.items()]
        lines += ["", *table(["task", "last score:", "highest score:"], scores)]
    return lines


def _chosen(every: Sequence[Evaluation], best: Evaluation | None) -> list[Evaluation]:
    """The first, the last, the best, and others evenly between."""
    if len(every) <= _MOST_EVALUATIONS:
        return list(every)
    last = len(every) - 1
    places = {round(last * number / (_MOST_EVALUATIONS - 2)) for number in range(_MOST_EVALUATIONS - 1)}
    places |= {place for place, one in enumerate(every) if one is best}
    return [every[place] for place in sorted(places)]


def _checkpoints(facts: RunFacts, in_run: bool) -> list[str]:
    rows = []
    for saved in facts.checkpoints[:_MOST_CHECKPOINTS]:
        marks = [("best", saved.best), ("last", saved.last), (plain(saved.damaged), bool(saved.damaged))]
        name = f"checkpoints/{saved.env_steps:012d}.steps.csv"
        table_link = f"[steps]({_link(name)})" if in_run else code(name)
        rows.append(
            [
                f"{saved.env_steps:,}",
                figure(saved.score),
                plain(saved.reason, 60),
                ", ".join(mark for mark, holds in marks if holds),
                table_link if saved.env_steps in facts.tables else "",
            ]
        )
    if not rows:
        return []
    head = ["checkpoint:", "score:", "saved for", "", "steps of one episode"]
    return ["## Checkpoints", "", *table(head, rows)]


def _again(facts: RunFacts) -> list[str]:
    run = facts.run.id if RUN_ID.fullmatch(facts.run.id) else "RUN"
    lines = ["## How to continue", "", "```sh"]
    lines += [f"gymnast eval {run}/@best --episodes 100"] if facts.checkpoints else []
    lines += (
        [f"gymnast video record {run}/@best", f"gymnast train --resume {run}"] if facts.checkpoints else []
    )
    lines += [f"gymnast report {run} --llm", "```"]
    command = " ".join(clean(word) for word in facts.command)
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    made = [
        ("Command", code(command, 600)),
        ("Versions", plain(versions, 600)),
        ("Commit", code(facts.git_commit or "")),
        ("Machine", plain(facts.machine)),
        ("Files", ", ".join(code(name) for name in facts.files)),
    ]
    return [*lines, "", *(f"- {name}: {text}" for name, text in made if text)]


def _list(title: str, items: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {item}" for item in items)]


def _link(path: str) -> str:
    """A relative link to a file of the run; whatever a name holds, it stays one."""
    from urllib.parse import quote

    return quote(path, safe="/.")
