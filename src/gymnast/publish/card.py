"""The model card, README.md of a published run. Others read it: every text in it is cleaned and redacted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gymnast.metrics.sinks.console import duration
from gymnast.publish.metadata import front_matter
from gymnast.publish.score import PublishedScore
from gymnast.reports.facts import RunFacts
from gymnast.reports.text import clean, code, figure, moment, plain, setting_text, table
from gymnast.runs.checkpoint import Checkpoint

CURVE, VIDEO, RESULTS = "score.png", "replay.mp4", "results.json"
_MOST_SETTINGS = 40
_MOST_RESUMES = 8
_REFERENCE = re.compile(
    r"[\w./-]{1,80}(?::[\w-]{1,40})?", re.ASCII
)  # of a preset: it is printed in a command


@dataclass(frozen=True, slots=True)
class CardFacts:
    """All that a card says."""

    repo: str
    facts: RunFacts
    checkpoint: Checkpoint
    score: PublishedScore | None
    licence: str
    has_video: bool
    has_curve: bool
    imports: tuple[str, ...]  # code that the config names, which is not part of the model
    links: tuple[tuple[str, str], ...]  # (what, https URL)
    origin: str | None  # where the publisher had the run from
    resumes: tuple[tuple[int, str], ...] = ()  # (env steps, command) of those that the weights went through


def model_card(card: CardFacts) -> str:
    """README.md."""
    run = card.facts.run
    head = front_matter(run.env, run.algo, card.licence, card.score, has_video=card.has_video)
    parts = [
        _title(card),
        _use(card),
        _score(card),
        _curve(card),
        _settings(card),
        _provenance(card),
        _licence(card),
    ]
    return head + "\n" + "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _algorithm(card: CardFacts) -> str:
    return clean(card.facts.run.algo, 40).upper() or "An"


def _title(card: CardFacts) -> list[str]:
    lines = [f"# {plain(_algorithm(card), 40)} agent playing {plain(card.facts.run.env, 120)}", ""]
    if description := _description(card.facts):
        lines += [f"> {description}", ""]
    score = card.score
    if score is None:
        lines.append("It was not evaluated.")
    else:
        spread = "" if score.std is None else f" ± {score.std:,.2f}"
        over = "" if score.episodes is None else f" over {_episodes(score)}"
        lines.append(f"**Mean return {score.mean:,.2f}{spread}**{over}{_verdict(card)}.")
    if card.has_video:
        lines += ["", f"[`{VIDEO}`]({VIDEO}) shows one episode of it."]
    return lines


def _episodes(score: PublishedScore) -> str:
    return (
        f"{score.episodes:,} fresh episodes"
        if score.fresh
        else f"{score.episodes:,} episodes during training"
    )


def _verdict(card: CardFacts) -> str:
    threshold, score = card.facts.threshold, card.score
    if threshold is None or score is None or score.solved is None:
        return ""
    return f" ({'solved' if score.solved else 'not solved'}: the threshold is {threshold:,.4g})"


def _description(facts: RunFacts) -> str:
    env = facts.config.get("env")
    spec = env.get("spec") if isinstance(env, dict) else None
    text = spec.get("description") if isinstance(spec, dict) else None
    return plain(text, 300) if isinstance(text, str) else ""


def _use(card: CardFacts) -> list[str]:
    run = card.facts.run.id
    trust = " --trust" if card.imports else ""
    lines = ["## Use it", "", "With Gymnast installed, and its extras `hub` and `video`:", ""]
    lines += ["```sh", f"gymnast pull hf:{card.repo}", f"gymnast video record {run}{trust}", "```", ""]
    lines += ["And as any run of your own:", "", "```sh"]
    score = card.score
    sampled = " --stochastic" if score is not None and score.stochastic else ""
    again = "the score below" if score is not None and score.fresh else "its score over fresh episodes"
    commands = {
        f"gymnast eval {run} --episodes {_each(score)}{sampled}{trust}": again,
        f"gymnast train --resume {run}{trust}": "train it further",
    }
    reference = clean(card.facts.run.name, 120)
    if _REFERENCE.fullmatch(reference) and not card.imports:
        commands[f"gymnast train {reference} --init-from {run}"] = "start a new run from its weights"
    width = max(map(len, commands))
    lines += [f"{words:<{width}}  # {about}" for words, about in commands.items()]
    lines += ["```"]
    if card.imports:
        names = ", ".join(code(name) for name in card.imports)
        lines += [
            "",
            f"Its config names code that is not part of this model: {names}. You need it to run the",
        ]
        lines += ["model, and `--trust` lets it be imported."]
    lines += ["", "The files are plain data (safetensors, JSON, CSV, YAML): loading them runs no code."]
    return lines


def _each(score: PublishedScore | None) -> int:
    """How many episodes give the same score again; of a mix, of each task."""
    if score is None or score.episodes is None or not score.fresh:
        return 100
    return score.episodes // max(1, len(score.tasks))


def _score(card: CardFacts) -> list[str]:
    score = card.score
    if score is None:
        return []
    rows = [
        ["mean return", f"{score.mean:,.2f}"],
        ["standard deviation", figure(score.std)],
        ["lowest … highest", f"{figure(score.low)} … {figure(score.high)}" if score.low is not None else ""],
        ["mean length", f"{figure(score.length)} steps" if score.length is not None else ""],
        ["episodes", "" if score.episodes is None else f"{score.episodes:,}"],
        ["actions", "sampled" if score.stochastic else "the most likely one (deterministic)"],
        ["seed", "" if score.seed is None else str(score.seed)],
    ]
    how = (
        "Whole episodes that were played for this card, on seeds that neither training nor the selection of"
        " the checkpoint has seen."
        if score.fresh
        else "From an evaluation during training. The checkpoint was selected by it, so expect a little less."
    )
    lines = ["## Score", "", how, "", *table(["measure", "value"], [row for row in rows if row[1]])]
    if score.tasks:
        tasks = [[code(name), f"{mean:,.2f}", f"{std:,.2f}"] for name, mean, std in score.tasks]
        lines += ["", *table(["task", "mean return:", "std:"], tasks)]
    return [*lines, "", f"The same as data: [`{RESULTS}`]({RESULTS})."]


def _curve(card: CardFacts) -> list[str]:
    if not card.has_curve:
        return []
    return ["## Training", "", f"![Returns of training and evaluation by env steps]({CURVE})"]


def _settings(card: CardFacts) -> list[str]:
    # `env.spec` describes the environment: the score and its threshold are said above.
    differing = [one for one in card.facts.settings if not one.key.startswith("env.spec.")]
    changed = differing[:_MOST_SETTINGS]
    lines = ["## Settings", ""]
    if changed:
        lines += ["What differs from Gymnast's defaults; all of it is in [`config.yaml`](config.yaml).", ""]
        rows = [
            [code(one.key), code(setting_text(one.value)), code(setting_text(one.default))] for one in changed
        ]
        return [*lines, *table(["setting", "this model", "default"], rows)]
    return [*lines, "Gymnast's defaults; they are in [`config.yaml`](config.yaml)."]


def _provenance(card: CardFacts) -> list[str]:
    facts, run = card.facts, card.facts.run
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    seed = "" if run.seed is None else str(run.seed)
    shown = card.resumes[-_MOST_RESUMES:]
    rows = [
        ["run", code(run.id)],
        ["environment", code(run.env)],
        ["algorithm", plain(_algorithm(card))],
        ["checkpoint", f"{card.checkpoint.env_steps:,} of {run.env_steps:,} env steps"],
        ["seed", seed],
        ["training time", duration(min(max(run.seconds, 0.0), 1e9))],
        ["trained", moment(run.created)],
        ["command", code(" ".join(clean(word) for word in facts.command), 600)],
        ["resumed", f"{len(card.resumes)} times, at last:" if len(card.resumes) > len(shown) else ""],
        *([f"resumed at {steps:,}", code(words, 600) or "command not known"] for steps, words in shown),
        ["versions", plain(versions, 600)],
        ["commit", code(facts.git_commit or "")],
        ["machine", plain(facts.machine)],
        ["came from", code(card.origin or "")],
        *([what, f"[{plain(what)}]({url})"] for what, url in card.links),
    ]
    lines = ["## Provenance", "", *table(["fact", "value"], [row for row in rows if row[1]])]
    return [
        *lines,
        "",
        "Trained with Gymnast. [`gymnast-run.json`](gymnast-run.json) has a checksum of every file.",
    ]


def _licence(card: CardFacts) -> list[str]:
    return ["## Licence", "", f"The weights are published under {code(card.licence)}."]
