"""The doctor: does a learner learn, and is an env as it should be?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gymnast.algorithms.table import ALGORITHMS
from gymnast.api.arguments import Folders, folders, plain_overrides
from gymnast.api.run import Overrides
from gymnast.config.load import SeveralVariantsError, load_config
from gymnast.doctor import examination
from gymnast.doctor.examination import PROBE_TITLES, Examination
from gymnast.doctor.finding import Finding, ProbeResult
from gymnast.errors import GymnastError, cut, did_you_mean
from gymnast.processes import output

__all__ = ["PROBE_TITLES", "Examination", "Finding", "ProbeResult", "examine", "examine_algorithms"]

Seen = Callable[[ProbeResult | Finding], None]


def examine(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    config_dirs: Folders = (),
    render: bool = True,
    on_result: Seen = lambda result: None,
) -> Examination:
    """Try the learner of a config on five probes that look like its env, then its wrappers and its env.

    What is broken is in the result; nothing that the user's code raises is raised here. `on_result` gets
    each probe and finding as soon as it is known.
    """
    try:
        resolved = load_config(str(reference), plain_overrides(overrides), config_dirs=folders(config_dirs))
    except SeveralVariantsError as several:
        raise SeveralVariantsError(several.name, several.variants, "gymnast doctor") from None
    printed: list[str] = []
    output.send_to(printed.append)  # where it is captured: otherwise it goes where it always does
    found = examination.examine_config(resolved.config, resolved.name, render=render, seen=on_result)
    output.drain()
    if printed:
        lines = "\n".join(printed).strip().splitlines()
        more = f" and {len(lines) - 1:,} more lines" if len(lines) > 1 else ""
        finding = Finding("output", "info", f"something prints: {cut(lines[0])!r}{more}")
        on_result(finding)
        found = replace(found, env=(*found.env, finding))
    return found


def examine_algorithms(
    names: Sequence[str] = (),
    *,
    on_start: Callable[[str], None] = lambda name: None,
    on_result: Seen = lambda result: None,
) -> list[Examination]:
    """Try algorithms with their default settings on the five probes; all of them if none is named."""
    for name in names:
        if name not in ALGORITHMS:
            raise GymnastError(
                f"there is no algorithm {name!r}{did_you_mean(name, ALGORITHMS)}; there are"
                f" {', '.join(ALGORITHMS)}"
            )
    examinations = []
    for name in names or ALGORITHMS:
        on_start(name)
        examinations.append(examination.examine_algorithm(name, seen=on_result))
    return examinations
