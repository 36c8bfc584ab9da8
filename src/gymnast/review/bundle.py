"""Runs as one text for a language model: what each report says, the settings that can be changed, the end of
each log, and how the runs compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gymnast.config.applies import without_effect
from gymnast.config.dump import flat_data
from gymnast.config.reference import keys
from gymnast.errors import GymnastError
from gymnast.redact import redact, redacted
from gymnast.reports.facts import RunFacts, gather
from gymnast.reports.llm import llm_text
from gymnast.reports.text import clean, figure, setting_text
from gymnast.review.prompt import enclosed, instructions
from gymnast.review.refused_keys import is_refused_key
from gymnast.review.start import start_of
from gymnast.runs.compare import compare
from gymnast.runs.files import is_regular, open_read
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config

MOST_RUNS = 12
_CHARACTERS_PER_TOKEN = 3.0  # of numbers and names; prose has more
_LOG_LINES, _LOG_BYTES = 12, 64 << 10
_MOST_LOG = 1 << 30
_MOST_DIFFERING = 40  # settings in a comparison


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is sent, or pasted into a chat."""

    runs: tuple[str, ...]  # ids, the one that keeps the review first
    data: str  # without the lines around it
    boundary: str

    @property
    def system(self) -> str:
        """The instructions to a model that is asked by us."""
        return instructions(self.boundary, as_json=True)

    @property
    def user(self) -> str:
        """The data, marked as such."""
        return enclosed(self.data, self.boundary)

    @property
    def chat(self) -> str:
        """One text for any chat, whose answer a person reads."""
        return f"{instructions(self.boundary, as_json=False)}\n{self.user}"

    @property
    def size(self) -> int:
        """Bytes that are sent."""
        return len(self.system.encode()) + len(self.user.encode())

    @property
    def tokens(self) -> int:
        """Estimated; models differ."""
        return round((len(self.system) + len(self.user)) / _CHARACTERS_PER_TOKEN)

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of what is sent."""
        return hashlib.sha256(f"{self.system}\n{self.user}".encode()).hexdigest()


def build_bundle(runs: Sequence[RunFolder], *, short: bool = False) -> Bundle:
    """The text on these runs: up to 32 kB of report for one alone, 8 kB for each of several. `short` is 8 kB,
    and settings without their meanings, for models with a small context."""
    if not runs:
        raise GymnastError("name a run to review; `gymnast runs` lists them")
    if len(runs) > MOST_RUNS:
        raise GymnastError(f"{len(runs)} runs are too many for one review: name at most {MOST_RUNS}")
    full = len(runs) == 1 and not short
    parts = ["\n".join(_about(run, full=full, explain=run is runs[0] and not short)) for run in runs]
    if len(runs) > 1:
        parts.append("\n".join(_compared(runs)))
    data = redact("\n\n".join(parts))
    # A text cannot contain its own checksum, so none in a run can end the data early.
    boundary = hashlib.sha256(data.encode(errors="replace")).hexdigest()[:24]
    return Bundle(tuple(run.id for run in runs), data, boundary)


def _about(run: RunFolder, *, full: bool, explain: bool) -> Iterator[str]:
    facts = gather(run)
    yield f"=== run {clean(run.id, 40)}"
    yield llm_text(facts, full=full).rstrip()
    if description := _description(facts):
        yield f"description of the environment: {description}"
    yield from _settings(run, explain=explain)
    lines = last_lines(run)
    if lines:
        yield f"last lines of its log ({len(lines)}):"
        yield from (f"- {line}" for line in lines)


def _description(facts: RunFacts) -> str:
    env = facts.config.get("env")
    spec = env.get("spec") if isinstance(env, dict) else None
    text = spec.get("description") if isinstance(spec, dict) else None
    return clean(text, 300) if text else ""


def _settings(run: RunFolder, *, explain: bool) -> Iterator[str]:
    """What can be changed, with what it means, and the command that repeats the run."""
    try:
        config = load_run_config(run)
        start = start_of(run, config)
    except GymnastError as error:
        yield f"settings: cannot be changed from here ({clean(error, 200)})"
        return
    yield f"start: gymnast train {clean(start.command, 400)}"
    yield "settings that can be changed (key = value" + (": meaning):" if explain else "):")
    hidden = without_effect(config)
    meanings = {key.name: key.description for key in keys()} if explain else {}
    for key, value in flat_data(redacted(config.model_dump())).items():
        if is_refused_key(key) or key.startswith("env.spec.") or _is_below(key, hidden):
            continue
        meaning = _first_sentence(meanings.get(_known_key(key, meanings), ""))
        yield f"- {key} = {clean(setting_text(value), 120)}{f': {meaning}' if meaning else ''}"


def _is_below(key: str, sections: set[str]) -> bool:
    return any(key == section or key.startswith(f"{section}.") for section in sections)


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].partition("; ")[0].removesuffix(".")


def _known_key(key: str, meanings: dict[str, str]) -> str:
    """The key itself, or the schedule that it is a part of."""
    while key not in meanings and "." in key:
        key = key.rpartition(".")[0]
    return key


def last_lines(run: RunFolder) -> list[str]:
    """The end of a run's log, each line fit to be shown."""
    if not is_regular(run.log_path):
        return []
    try:
        with open_read(run.log_path, _MOST_LOG) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_BYTES))
            text = file.read(_LOG_BYTES).decode(errors="replace")
    except (OSError, GymnastError):
        return []
    return [clean(line, 160) for line in text.splitlines() if line.strip()][-_LOG_LINES:]


def _compared(runs: Sequence[RunFolder]) -> Iterator[str]:
    """The runs side by side."""
    try:
        found = compare(list(runs))
    except GymnastError as error:
        yield f"=== the runs cannot be compared: {clean(error)}"
        return
    yield "=== the runs side by side"
    yield "run: env, best, final, threshold, env steps to it, env steps, seconds"
    for result in found.results:
        numbers = (
            result.best, result.final, result.threshold, result.steps_to_threshold, result.env_steps,
            result.seconds,
        )  # fmt: skip
        yield f"- {clean(result.id, 40)}: {clean(result.env, 80)}, {', '.join(map(figure, numbers))}"
    settings: dict[str, list[Any]] = redacted(found.settings)
    if settings:
        yield f"settings that differ (in the order {', '.join(clean(run.id, 40) for run in runs)}):"
    for key, values in list(settings.items())[:_MOST_DIFFERING]:
        yield f"- {clean(key, 80)}: {' | '.join(clean(setting_text(value), 60) for value in values)}"
    if len(settings) > _MOST_DIFFERING:
        yield f"- … {len(settings) - _MOST_DIFFERING} more left out"
    for note in found.notes[:10]:
        yield f"note: {clean(note, 200)}"
