"""Reports of runs: as Markdown with pictures, as text for a language model, as data; tables of steps."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.run import Run, find_checkpoint, folder_of, log_printed
from gymnast.errors import GymnastError, UntrustedRun, described

if TYPE_CHECKING:
    from gymnast.reports.facts import RunFacts
    from gymnast.runs.store import RunFolder

_TABLE_SECONDS = 10.0  # that one report may spend on playing episodes
_warn = logging.getLogger("gymnast").warning


@dataclass(frozen=True, slots=True)
class RunReport:
    """What is to be said about a run."""

    facts: RunFacts
    path: Path | None = None  # where it was written, with its pictures

    @property
    def outcome(self) -> str:
        """The first line."""
        from gymnast.reports.facts import outcome_line

        return outcome_line(self.facts)

    def markdown(self) -> str:
        """The text without pictures."""
        from gymnast.reports.markdown import markdown

        return markdown(self.facts, (), in_run=False)

    def llm(self, *, full: bool = False) -> str:
        """One compact text for a language model: at most 8,000 bytes, or 32,000 with `full`."""
        from gymnast.reports.llm import llm_text

        return llm_text(self.facts, full=full)

    def save(self, out: str | Path, text: str) -> Path:
        """Put one of its texts into a file."""
        from gymnast.runs.files import named_file, write_atomic

        path = _place(out)
        write_atomic(named_file(path), text)
        return path

    def to_json(self) -> dict[str, Any]:
        """What `gymnast report --json` prints."""
        from gymnast.reports.facts import to_json

        return to_json(self.facts)


def read_report(
    run: str | Path | Run | RunFolder = "@last", *, runs_dir: str | Path | None = None
) -> RunReport:
    """What a run's folder says, gathered; nothing is written."""
    from gymnast.reports.facts import gather

    return RunReport(gather(folder_of(run, runs_dir)))


def write_report(
    run: str | Path | Run = "@last",
    *,
    out: str | Path | None = None,
    tables: bool = True,
    runs_dir: str | Path | None = None,
    trust: bool = False,
) -> RunReport:
    """Write report.md with pictures into the run's folder, or to `out`, with pictures in a folder beside it.

    `tables` also writes the tables of steps that its checkpoints lack, as far as that takes a few seconds;
    they are skipped with a warning where the env cannot be played here. `trust` is as in `evaluate`.
    Of a run that is being trained, or whose folder cannot be written, no file is made: `path` is None.
    """
    from gymnast.reports.facts import gather
    from gymnast.reports.write import write_elsewhere
    from gymnast.reports.write import write_report as write_into_folder
    from gymnast.runs.registry import entry_of

    folder = folder_of(run, runs_dir)
    if out is not None:
        facts = gather(folder)
        return RunReport(facts, write_elsewhere(facts, _place(out)))
    try:
        folder.refuse_link()
        if folder.is_locked():
            raise GymnastError(f"run {folder.id} is being trained, so its report is not written yet")
        entry = entry_of(folder)  # a killed run that is held, by whomever, may look like one that is trained
        with folder.lock(to_train=False):
            if tables:
                _write_tables(folder, trust)
            facts = gather(folder, entry=entry)
            return RunReport(facts, write_into_folder(folder, facts))
    except GymnastError as error:
        _warn("%s", error)
    return RunReport(gather(folder))


def rollout_table(
    reference: str | Path | Run = "@last", *, runs_dir: str | Path | None = None, trust: bool = False
) -> Path:
    """The CSV with the steps of one evaluation episode of a checkpoint (of a run: its best, else its last);
    written if it is not there yet. `trust` is as in `evaluate`."""
    from gymnast.reports.rollout_table import RolloutTables
    from gymnast.runs.files import is_regular
    from gymnast.runs.steps_tables import steps_path

    checkpoint = find_checkpoint(reference, runs_dir)
    path = steps_path(checkpoint.run, checkpoint.env_steps)
    if is_regular(path):
        return path
    log_printed(checkpoint.run)
    with checkpoint.run.lock(to_train=False), RolloutTables(checkpoint.run, trust=trust) as writer:
        return writer.write(checkpoint)


def read_rollout_table(
    reference: str | Path | Run = "@last", *, runs_dir: str | Path | None = None
) -> list[list[str]] | None:
    """The table of steps of a checkpoint as rows of cells, its header first; None if it was not written
    yet."""
    import csv

    from gymnast.runs.files import is_regular, read_bytes
    from gymnast.runs.steps_tables import steps_path

    checkpoint = find_checkpoint(reference, runs_dir)
    path = steps_path(checkpoint.run, checkpoint.env_steps)
    if not is_regular(path):
        return None
    return list(csv.reader(read_bytes(path).decode(errors="replace").splitlines()))


def _write_tables(folder: RunFolder, trust: bool) -> None:
    """Those that are missing; a warning names what keeps one from being written."""
    import time

    from gymnast.reports.rollout_table import RolloutTables, without_table

    with suppress(GymnastError):
        log_printed(folder)
    until = time.monotonic() + _TABLE_SECONDS
    try:
        wanted = without_table(folder)
        with RolloutTables(folder, trust=trust) as writer:
            for number, checkpoint in enumerate(wanted):
                if (left := until - time.monotonic()) <= 0:
                    _warn("%d checkpoints have no table of steps yet; report again", len(wanted) - number)
                    break
                writer.write(checkpoint, seconds=left)
    except UntrustedRun:
        _warn("no table of steps: run %s was made elsewhere and names code to import; see --trust", folder.id)
    except Exception as error:  # an env may fail in any way
        _warn("no table of steps: %s", error if isinstance(error, GymnastError) else described(error))


def _place(out: str | Path) -> Path:
    path = Path(out).expanduser()
    if path.is_dir():
        raise GymnastError(f"{path} is a folder: name a file, such as {path / 'report.md'}")
    return path
