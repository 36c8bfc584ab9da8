"""A packed run as an artifact on Weights & Biases, `run-<id>`, and back."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast import __version__
from gymnast.archive.install import check_id, hidden_folder
from gymnast.archive.manifest import BadArchive
from gymnast.archive.pack import pack_run
from gymnast.archive.unpack import MOST_ZIP, unpack_run
from gymnast.errors import GymnastError, MissingExtra
from gymnast.metrics.sinks.trackers.wandb import login_problem
from gymnast.redact import redact, redacted
from gymnast.runs.files import is_regular, read_json
from gymnast.runs.ids import RUN_ID
from gymnast.runs.registry import entry_of
from gymnast.runs.store import RunFolder

TYPE = "gymnast-run"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,127}", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_INIT_SECONDS = 60.0
_LEAST_SECONDS, _SLOWEST = 120.0, 200_000  # for an upload: at least, and bytes per second
_RETRIES = 3
_CUT = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ChunkedEncodingError", "IncompleteRead")
_UNREACHABLE = re.compile(
    r"connection refused|dial tcp|no such host|network is unreachable|did not respond in time|giving up after"
    r"|i/o timeout|unexpected EOF|timed out",
    re.IGNORECASE,
)
_PLACES = ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_ARTIFACT_DIR")


@dataclass(frozen=True, slots=True)
class WandbSource:
    """`wandb:ENTITY/PROJECT/RUN[:ALIAS]`."""

    entity: str
    project: str
    run: str
    alias: str = "latest"

    def __str__(self) -> str:
        alias = "" if self.alias == "latest" else f":{self.alias}"
        return f"wandb:{self.entity}/{self.project}/{self.run}{alias}"


@dataclass(frozen=True, slots=True)
class Archived:
    """A run on W&B."""

    source: WandbSource
    version: str
    aliases: tuple[str, ...]
    bytes: int
    url: str


def parse_source(source: str) -> WandbSource:
    """What `wandb:ENTITY/PROJECT/RUN[:ALIAS]` names."""
    text, colon, alias = source.removeprefix("wandb:").partition(":")
    parts = text.split("/")
    sound = len(parts) == 3 and all(_NAME.fullmatch(part) for part in parts[:2])
    if not sound or not RUN_ID.fullmatch(parts[2]) or (colon and not _NAME.fullmatch(alias)):
        raise GymnastError(
            f"{source!r} is not a run on W&B: wandb:ENTITY/PROJECT/RUN, such as wandb:ada/gymnast/k3v9x0ab"
        )
    return WandbSource(parts[0], parts[1], parts[2], alias or "latest")


def is_name(text: str) -> bool:
    """Whether a user, team, project or run on W&B could be called so."""
    return _NAME.fullmatch(text) is not None


def check_name(what: str, name: str | None) -> None:
    """Raise for a project or entity that W&B cannot have."""
    if name is not None and not is_name(name):
        raise GymnastError(f"--{what}: {name!r} is not a name on W&B: letters, digits, '-', '_' and '.'")


def archive_run(run: RunFolder, folder: Path, project: str | None, entity: str | None) -> Archived:
    """Upload a packed run; `folder` is a place for temporary files. Whole, or not there."""
    for what, name in (("project", project), ("entity", entity)):
        check_name(what, name)
    with _library(folder, "the archive") as wandb:
        packed = pack_run(run, folder / f"{run.id}.zip")
        size = packed.path.stat().st_size
        facts = _facts(run)
        aliases = ["latest", *(["best"] if facts["best_score"] is not None else [])]
        artifact = wandb.Artifact(f"run-{run.id}", type=TYPE, metadata=facts, description=f"Run {run.id}")
        artifact.add_file(str(packed.path), name=f"{run.id}.zip", policy="immutable", skip_cache=True)
        tracked = _begin(wandb, run, folder, project, entity)
        try:
            tracked.log_artifact(artifact, aliases=aliases)
            artifact.wait(timeout=int(_LEAST_SECONDS + size / _SLOWEST))
            source = WandbSource(tracked.entity, tracked.project, run.id)
            done = Archived(source, artifact.version, tuple(aliases), size, tracked.url or "")
        except BaseException:
            # The artifact was not committed, so nobody sees it. A run that was made for it stays: W&B never
            # takes the id of a removed one again.
            with suppress(Exception):
                tracked.finish(exit_code=1)
            raise
        tracked.finish()
    return done


def _facts(run: RunFolder) -> dict[str, Any]:
    """What is shown beside the artifact."""
    entry = entry_of(run)
    shown = ("name", "env", "algo", "seed", "created", "solved", "best_score", "last_score", "env_steps")
    facts = {key: getattr(entry, key) for key in shown}
    return dict(redacted({**facts, "run": run.id, "status": entry.state, "gymnast": __version__}))


def pull_archive(source: WandbSource, root: Path, *, force: bool = False, new_id: bool = False) -> RunFolder:
    """Download an archived run into the runs folder, whole or not at all."""
    check_id(root, source.run, force=force, new_id=new_id)  # before anything is downloaded
    where, name = str(source), f"{source.run}.zip"
    with hidden_folder(root) as scratch:
        with _library(scratch.path, where) as wandb:
            path = f"{source.entity}/{source.project}/run-{source.run}:{source.alias}"
            artifact = wandb.Api(timeout=20).artifact(path, type=TYPE)
            _check_entries(artifact.manifest.entries, name, where)
            target = scratch.path / "download"
            artifact.download(root=str(target), skip_cache=True, multipart=False)
        if not is_regular(target / name):
            raise BadArchive(f"{where}: the download has no {name}; try again")
        origin = {"source": where, "revision": str(artifact.version)}
        return unpack_run(target / name, root, force=force, new_id=new_id, origin=origin, expected=source.run)


def _check_entries(entries: dict[str, Any], name: str, where: str) -> None:
    """An artifact of ours is one file that lies at W&B; a reference could name any file or address."""
    if list(entries) != [name] or entries[name].ref is not None:
        raise BadArchive(f"{where} was not made by gymnast archive: it should hold {name} and nothing else")
    size = entries[name].size
    if not isinstance(size, int) or not 0 <= size <= MOST_ZIP:
        raise BadArchive(f"{where} says that it has {size} bytes; at most {MOST_ZIP:,} are taken")


@contextmanager
def _library(folder: Path, what: str) -> Iterator[Any]:
    """W&B's library, with its files in `folder`, nothing printed, and its errors as one message."""
    if find_spec("wandb") is None:
        raise MissingExtra("an archive on W&B", "wandb")
    before = {name: os.environ.get(name) for name in _PLACES}
    os.environ |= dict.fromkeys(_PLACES, str(folder.absolute())) | {"WANDB_SILENT": "true"}
    try:
        import wandb

        with explained(what):
            yield wandb
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ |= {} if value is None else {name: value}


def _begin(wandb: Any, run: RunFolder, folder: Path, project: str | None, entity: str | None) -> Any:
    """The run at W&B that the artifact is of: the one that tracked it, where there is one."""
    known = (read_json(run.trackers_path) or {}).get("wandb")
    known = known if isinstance(known, dict) else {}
    same = project in (None, known.get("project")) and entity in (None, known.get("entity"))
    run_id = str(known.get("id", "")) if same else ""
    return wandb.init(
        project=project or _name(known.get("project")) or os.environ.get("WANDB_PROJECT") or "gymnast",
        entity=entity or _name(known.get("entity")),
        id=run_id if _ID.fullmatch(run_id) else run.id,
        name=None if run_id else f"{entry_of(run).algo}-{run.id}",
        resume="allow",
        mode="online",
        job_type="train",
        dir=str(folder.absolute()),
        settings=wandb.Settings(
            console="off",
            silent=True,
            symlink=False,
            disable_code=True,
            disable_git=True,
            save_code=False,
            x_save_requirements=False,
            x_disable_stats=True,
            x_disable_meta=True,
            x_graphql_retry_max=_RETRIES,
            x_file_transfer_retry_max=_RETRIES,
            init_timeout=_INIT_SECONDS,
            finish_timeout=_INIT_SECONDS,
        ),
    )


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and is_name(value) else None


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what W&B raises into one message, and leave this process without the hooks that it installs."""
    hooks = sys.exit, sys.excepthook
    try:
        yield
    except GymnastError:
        raise
    except Exception as error:  # its errors have no common base: ValueError, CommError, requests' own …
        text = redact(" ".join(str(error).split()) or type(error).__name__)
        kind = type(error).__name__
        if kind in _CUT or _UNREACHABLE.search(text):
            text = "W&B could not be reached, or the connection was cut; check the network and try again"
        elif (problem := login_problem(error)) is not None:
            raise GymnastError(f"W&B: {redact(problem)}, or set WANDB_API_KEY") from error
        elif "uploadFiles" in text:
            text = (
                "the upload was refused or cut, so nothing was archived; look at the storage of the account"
            )
            text += " and at the network, and try again"
        elif "not found" in text:
            text += "; check its name, and that you are logged in to an account that may see it"
        raise GymnastError(f"W&B: {what}: {text if len(text) < 300 else text[:299] + '…'}") from error
    finally:
        sys.exit, sys.excepthook = hooks
