"""Writing a run's report: `report.md` in its folder with pictures in `report/`, or a file elsewhere."""

from __future__ import annotations

from pathlib import Path

from gymnast.reports.facts import RunFacts
from gymnast.reports.markdown import markdown
from gymnast.reports.pictures import Curves, draw_pictures
from gymnast.runs.files import named_file, write_atomic
from gymnast.runs.store import RunFolder


def write_report(run: RunFolder, facts: RunFacts, *, pictures: bool = True) -> Path:
    """Into the run's folder, whose lock is needed; `pictures` draws its curves too, else only text."""
    drawn: list[Curves] = []
    if pictures:
        drawn = draw_pictures(facts, run.pictures)
    write_atomic(run.report_path, markdown(facts, drawn, run.pictures.name), durable=False)
    return run.report_path


def write_elsewhere(facts: RunFacts, path: Path) -> Path:
    """To a file that the user named, with pictures in a folder beside it: `mine.md`, `mine/`."""
    place = named_file(path)
    folder = place.with_name(place.stem if place.suffix else f"{place.name}-pictures")
    drawn = draw_pictures(facts, folder)
    write_atomic(place, markdown(facts, drawn, folder.name, in_run=False))
    return path
