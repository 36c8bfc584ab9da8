"""Trying presets: each in a process of its own, so that a crash or hang does not affect the others."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal

from gymnast.config.catalogue import Entry, entries
from gymnast.errors import GymnastError, did_you_mean
from gymnast.processes.messages import decode
from gymnast.processes.start import Child, how_it_ended, start_child

STAGES = ("train", "eval", "video", "resume")
_LAST_OUTPUT = 300  # characters of the last output of a crashed process


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one preset did."""

    preset: str
    family: str
    stages: dict[str, bool] = field(default_factory=dict)  # those that were tried
    reason: str | None = None  # why it failed or was skipped
    status: Literal["ok", "failed", "skipped"] = "ok"
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "preset": self.preset,
            "family": self.family,
            "status": self.status,
            **{stage: self.stages.get(stage) for stage in STAGES},
            "reason": self.reason,
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset to try."""

    reference: str
    family: str
    problem: str | None = None
    config_dirs: tuple[Path, ...] = ()  # where to look for it first


def choose_presets(
    words: Sequence[str], *, every_variant: bool, config_dirs: tuple[Path, ...] = ()
) -> list[Preset]:
    """What the words name: families, environments, or presets by `environment:variant`; all without words.

    Of an environment the first variant is taken, or all of them.
    """
    listed = entries(config_dirs)
    chosen: dict[str, Preset] = {}
    if not words:
        chosen = {preset.reference: preset for e in listed for preset in _presets(e, every_variant)}
    for word in words:
        name, _, variant = word.partition(":")
        found = [entry for entry in listed if name.lower() in (entry.family.lower(), entry.name.lower())]
        if not found or (variant and variant not in {v for entry in found for v in entry.variants}):
            known = {entry.family for entry in listed} | {entry.name for entry in listed}
            known |= {f"{entry.name}:{v}" for entry in listed for v in entry.variants}
            raise GymnastError(
                f"no family, environment or preset is called {word!r}{did_you_mean(word, sorted(known))};"
                " see gymnast envs"
            )
        for entry in found:
            some = (
                [Preset(f"{entry.name}:{variant}", entry.family)]
                if variant
                else _presets(entry, every_variant)
            )
            chosen |= {preset.reference: preset for preset in some}
    return [replace(preset, config_dirs=config_dirs) for preset in chosen.values()]


def _presets(entry: Entry, every_variant: bool) -> Iterator[Preset]:
    variants = entry.variants if every_variant else entry.variants[:1]
    for reference in [f"{entry.name}:{variant}" for variant in variants] or [entry.name]:
        yield Preset(reference, entry.family, entry.problem)


def try_presets(
    presets: Sequence[Preset],
    *,
    jobs: int,
    seconds: float,
    started: Callable[[Preset], None] = lambda preset: None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Try them all, `jobs` at a time and each for at most `seconds`; the outcomes in the order given."""
    outcomes: dict[str, Outcome] = {}
    with (
        tempfile.TemporaryDirectory(prefix="gymnast-smoke-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(jobs) as pool,
        _Children() as children,
    ):

        def one(index: int, preset: Preset) -> Outcome:
            started(preset)
            return _try_one(preset, Path(folder) / str(index), seconds, children)

        waiting = [pool.submit(one, index, preset) for index, preset in enumerate(presets)]
        for future in as_completed(waiting):
            outcome = future.result()
            outcomes[outcome.preset] = outcome
            done(outcome)
    return [outcomes[preset.reference] for preset in presets]


class _Children:
    """The processes that run now; all of them end with this one, whatever ends it."""

    def __init__(self) -> None:
        self._running: list[Child] = []
        self._lock = threading.Lock()
        self._over = False

    def start(self, arguments: list[str], errors: IO[bytes]) -> Child:
        with self._lock:
            if self._over:
                raise GymnastError("interrupted")
            # Tiny networks gain nothing from threads, and several presets share the cores.
            child = start_child(
                "gymnast.smoke.stages:main",
                arguments=arguments,
                one_thread=True,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            self._running.append(child)
            return child

    def end(self, child: Child) -> None:
        """End a process with all that it started."""
        child.kill()
        child.release()
        with self._lock:
            if child in self._running:
                self._running.remove(child)

    def __enter__(self) -> _Children:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            left = list(self._running)
        for child in left:
            self.end(child)


def _try_one(preset: Preset, folder: Path, seconds: float, children: _Children) -> Outcome:
    blank = Outcome(preset.reference, preset.family)
    if preset.problem is not None:
        return replace(blank, status="failed", reason=preset.problem)
    folder.mkdir(parents=True)
    began = time.monotonic()
    late = False
    with (folder / "errors").open("w+b") as errors:
        dirs = [str(config_dir.absolute()) for config_dir in preset.config_dirs]
        child = children.start([preset.reference, str(folder / "runs"), *dirs], errors)
        process = child.process
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            children.end(child)
            output, _ = process.communicate()
        finally:
            children.end(child)
        errors.seek(0)
        complaints = errors.read().decode(errors="replace").strip()
    outcome = replace(_read(blank, output), seconds=time.monotonic() - began)
    if outcome.status != "ok" or not (late or process.returncode):
        return outcome
    stage = next((stage for stage in STAGES if stage not in outcome.stages), "the end")
    how = (
        f"not done after {seconds:g} s"
        if late
        else f"the process {how_it_ended(process.returncode)}{_last_output(complaints)}"
    )
    return replace(
        outcome, status="failed", stages={**outcome.stages, stage: False}, reason=f"{stage}: {how}"
    )


def _read(blank: Outcome, output: bytes) -> Outcome:
    """What the process reported, message by message."""
    stages: dict[str, bool] = {}
    reason: str | None = None
    for report in decode(output):
        if "skip" in report:
            return replace(blank, status="skipped", stages=stages, reason=report["skip"])
        stages[report["stage"]] = report["ok"]
        if not report["ok"] and reason is None:
            reason = f"{report['stage']}: {report['reason']}"
    return replace(blank, status="ok" if reason is None else "failed", stages=stages, reason=reason)


def _last_output(text: str) -> str:
    return f": {text.splitlines()[-1][:_LAST_OUTPUT]}" if text else ""
