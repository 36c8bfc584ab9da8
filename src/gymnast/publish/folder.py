"""What is published: the card, a video, the score, and one checkpoint of the run with all that it needs.

Logs, tables of steps, other checkpoints and the ids at trackers stay at home; what goes is checked for
secrets and for the names of folders on this machine.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymnast.archive.contents import most_bytes
from gymnast.archive.manifest import NAME, Manifest
from gymnast.archive.pack import file_facts
from gymnast.config.reading import parse_yaml
from gymnast.errors import GymnastError
from gymnast.publish.card import CURVE, RESULTS, VIDEO, CardFacts, model_card
from gymnast.publish.provenance import resumes_before, shared_command
from gymnast.publish.score import PublishedScore
from gymnast.redact import redacted, secret_settings
from gymnast.reports.changed_settings import changed_settings, preset_data
from gymnast.reports.facts import RunFacts, gather
from gymnast.reports.pictures import PICTURES, draw_pictures
from gymnast.reports.text import clean
from gymnast.runs.checkpoint import Checkpoint, DamagedCheckpoint, verify
from gymnast.runs.files import (
    MOST_CONFIG,
    make_folder,
    open_new,
    open_read,
    read_json,
    read_text,
    write_atomic,
)
from gymnast.runs.kept_configs import kept_config_path
from gymnast.runs.sidecar import PARTS
from gymnast.runs.trust import imported_paths, load_run_config

CARD = "README.md"
_URL = re.compile(r"https://[a-z0-9.-]{1,100}(?::\d{1,5})?/[\w./-]{1,200}", re.ASCII)
_STARTED = (  # of run.json: what started the run
    "id", "name", "created", "command", "versions", "git_commit", "machine", "env", "variant", "algo", "seed",
    "budget_env_steps", "init_from",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contribution:
    """What the caller decided about a publication."""

    repo: str
    licence: str
    score: PublishedScore | None
    video: Path | None


def check_publishable(checkpoint: Checkpoint) -> None:
    """Raise for a checkpoint that is damaged, or whose config has a secret in it."""
    try:
        verify(checkpoint)
    except DamagedCheckpoint as error:
        raise GymnastError(f"{error}; copy the run again, or name another checkpoint, RUN/STEPS") from error
    paths = (checkpoint.config_path(), checkpoint.run.config_path)
    for text in dict.fromkeys(read_text(path, MOST_CONFIG) for path in paths):
        if found := list(secret_settings(parse_yaml(text, "config.yaml"))):
            raise GymnastError(
                f"{', '.join(found[:3])} of run {checkpoint.run.id} looks like a secret, and the config"
                " would be published; train it again with ${NAME} in its place, the value of an environment"
                " variable"
            )


def write_folder(target: Path, checkpoint: Checkpoint, given: Contribution) -> str:
    """Write all files of a publication into an empty folder; the text of the card."""
    run = checkpoint.run
    facts = replace(_facts(checkpoint), command=tuple(shared_command(run.info().get("command"))))
    files = _copy_run(checkpoint, target)
    write_atomic(target / NAME, Manifest(run.id, files).to_bytes(), durable=False)
    has_curve = bool(draw_pictures(facts, target, [one for one in PICTURES if one.file == CURVE]))
    if given.video is not None:
        given.video.replace(target / VIDEO)
    if given.score is not None:
        text = json.dumps(given.score.to_json(), indent=2, allow_nan=False)
        write_atomic(target / RESULTS, text + "\n", durable=False)
    card = model_card(
        CardFacts(
            repo=given.repo,
            facts=facts,
            checkpoint=checkpoint,
            score=given.score,
            licence=given.licence,
            has_video=given.video is not None,
            has_curve=has_curve,
            imports=_imports(checkpoint),
            links=_links(checkpoint),
            origin=_origin(checkpoint),
            resumes=tuple((one["env_steps"], " ".join(one["command"])) for one in resumes_before(checkpoint)),
        )
    )
    write_atomic(target / CARD, card, durable=False)
    return card


def _facts(checkpoint: Checkpoint) -> RunFacts:
    """Of its run, with the settings that the checkpoint was trained with: a resume may have changed them."""
    facts, path = gather(checkpoint.run), checkpoint.config_path()
    config = parse_yaml(read_text(path, MOST_CONFIG), path.name)
    if not isinstance(config, dict) or config == facts.config:
        return facts
    settings = changed_settings(config, preset_data(facts.run.name))
    return replace(facts, config=config, settings=tuple(settings))


def _copy_run(checkpoint: Checkpoint, target: Path) -> dict[str, Any]:
    """The parts of the run that are published, with their checksums."""
    run, sidecar = checkpoint.run, checkpoint.sidecar()
    make_folder(target / "checkpoints")
    paths = [checkpoint.json_path, *(checkpoint.arrays_path(part, sidecar.copy) for part in PARTS)]
    names = ["config.yaml", "metrics.csv", *(f"checkpoints/{path.name}" for path in paths)]
    if sidecar.config and (kept := kept_config_path(run, sidecar.config)).is_file():
        names.append(f"checkpoints/{kept.name}")
    for name in names:
        if name == "metrics.csv" and not (run.path / name).is_file():
            continue
        with open_read(run.path / name, most_bytes(name) or 0) as source, open_new(target / name) as copy:
            shutil.copyfileobj(source, copy)
    for name, shared in _documents(checkpoint).items():
        write_atomic(target / name, json.dumps(shared, indent=2) + "\n", durable=False)
    written = [*names, *_documents(checkpoint)]
    present = sorted(name for name in written if (target / name).is_file())
    return {name: file_facts(target / name, most_bytes(name) or 0) for name in present}


def _documents(checkpoint: Checkpoint) -> dict[str, dict[str, Any]]:
    """JSON files of the run, without what concerns this machine alone."""
    run = checkpoint.run
    info = {key: value for key, value in run.info().items() if key in _STARTED}
    if isinstance(info.get("command"), list):
        info["command"] = shared_command(info["command"])
    if resumes := resumes_before(checkpoint):
        info["resumes"] = resumes
    found = {"run.json": _shared(info)}
    for name, path in (("status.json", run.status_path), ("alerts.json", run.alerts_path)):
        if (document := read_json(path)) is not None:
            found[name] = _shared(document)
    return found


def _shared(data: Any) -> Any:
    """Plain values with every text redacted, and without names of home folders."""
    return _each_text(redacted(data), lambda text: clean(text, 4000))


def _each_text(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, Mapping):
        return {key: _each_text(item, change) for key, item in data.items()}
    if isinstance(data, list):
        return [_each_text(item, change) for item in data]
    return change(data) if isinstance(data, str) else data


def _imports(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Code that the config names; it is read, and nothing is imported."""
    config = load_run_config(checkpoint.run, file=checkpoint.config_path(), trust=True)
    return tuple(dict.fromkeys(imported_paths(config)))


def _links(checkpoint: Checkpoint) -> tuple[tuple[str, str], ...]:
    """The run's page at W&B, if it has one that others can open."""
    known = (read_json(checkpoint.run.trackers_path) or {}).get("wandb")
    url = known.get("url") if isinstance(known, dict) else None
    return (("Weights & Biases", url),) if isinstance(url, str) and _URL.fullmatch(url) else ()


def _origin(checkpoint: Checkpoint) -> str | None:
    source = (read_json(checkpoint.run.origin_path) or {}).get("source")
    return clean(source, 200) if isinstance(source, str) else None
