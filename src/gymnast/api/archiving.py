"""Runs that travel: packed and unpacked, archived on W&B, pulled back from there or from the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.run import Run, folder_of

if TYPE_CHECKING:
    from gymnast.archive.relog import Relogged
    from gymnast.runs.store import RunFolder


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A file with a whole run in it."""

    run: str
    path: Path
    bytes: int
    files: int
    left_out: tuple[str, ...]  # what else the run's folder has

    def to_json(self) -> dict[str, Any]:
        """What `gymnast pack --json` prints."""
        return asdict(self) | {"path": str(self.path)}


@dataclass(frozen=True, slots=True)
class ArchivedRun:
    """A run on Weights & Biases."""

    run: str
    source: str  # what `gymnast pull` takes
    version: str
    aliases: tuple[str, ...]
    bytes: int
    url: str


@dataclass(frozen=True, slots=True)
class ArrivedRun:
    """A run that came from elsewhere. It is used as any other; code that its config names needs trust."""

    run: str
    path: Path
    source: str  # 'hf:OWNER/NAME', 'wandb:ENTITY/PROJECT/RUN', or 'file:NAME'
    needs_trust: tuple[str, ...]  # what its config would import or read, in words
    problem: str | None = None  # why its config cannot be used here, such as a setting of a newer version

    def to_json(self) -> dict[str, Any]:
        """What `gymnast unpack --json` and `gymnast pull --json` print."""
        return asdict(self) | {"path": str(self.path)}


def pack_run(
    run: str | Path | Run = "@last",
    output: str | Path | None = None,
    *,
    force: bool = False,
    runs_dir: str | Path | None = None,
) -> PackedRun:
    """Put a whole run into one zip file, `RUN.zip` here unless named; `force` replaces one that exists.

    Raises GymnastError for a run that is still training, damaged or only half there.
    """
    from gymnast.archive.pack import pack_run as pack

    folder = folder_of(run, runs_dir)
    path = Path(f"{folder.id}.zip") if output is None else Path(output).expanduser()
    if path.is_dir():
        path = path / f"{folder.id}.zip"
    done = pack(folder, path, force=force)
    size = path.stat().st_size
    return PackedRun(folder.id, done.path, size, len(done.manifest.files), done.left_out)


def unpack_run(
    file: str | Path, *, force: bool = False, new_id: bool = False, runs_dir: str | Path | None = None
) -> ArrivedRun:
    """Put a packed run among the others. All of it is checked first; it arrives whole or not at all.

    A run with the same id is kept: GymnastError, unless `new_id` gives this one another id or `force`
    replaces that one.
    """
    from gymnast.archive.unpack import unpack_run as unpack
    from gymnast.runs.store import runs_root

    path = Path(file).expanduser()
    folder = unpack(path, runs_root(runs_dir), force=force, new_id=new_id)
    return arrived(folder, f"file:{path.name}")


def archive_run(
    run: str | Path | Run = "@last",
    *,
    project: str | None = None,
    entity: str | None = None,
    runs_dir: str | Path | None = None,
) -> ArchivedRun:
    """Put a whole run on Weights & Biases as an artifact, `run-<id>`; `pull_run` brings it back.

    Without a project and entity it goes where the run was tracked, else to WANDB_PROJECT, else to gymnast.
    """
    from tempfile import TemporaryDirectory

    from gymnast.archive.wandb_artifact import archive_run as archive
    from gymnast.runs.elsewhere import remember_copy

    folder = folder_of(run, runs_dir)
    with TemporaryDirectory(prefix="gymnast-archive-") as place:
        done = archive(folder, Path(place), project, entity)
    remember_copy(folder.id, str(done.source))
    return ArchivedRun(folder.id, str(done.source), done.version, done.aliases, done.bytes, done.url)


def sync_to_wandb(
    runs: Sequence[str | Path | Run],
    *,
    project: str | None = None,
    entity: str | None = None,
    runs_dir: str | Path | None = None,
) -> list[Relogged]:
    """Log the metrics files of old runs to W&B, each under its own id; rows that are there are left out."""
    from gymnast.archive.relog import relog_run
    from gymnast.errors import GymnastError
    from gymnast.runs.trainer import is_training

    folders = [folder_of(run, runs_dir) for run in runs]
    for folder in folders:  # before the first is sent
        if is_training(folder):
            raise GymnastError(f"run {folder.id} is still training; --track wandb logs a run as it trains")
    return [relog_run(folder, project, entity) for folder in folders]


def arrived(folder: RunFolder, source: str) -> ArrivedRun:
    """The same for callers: where it is, and what of it would need trust."""
    from gymnast.errors import GymnastError, UntrustedRun
    from gymnast.runs.trust import load_run_config

    wanted: tuple[str, ...] = ()
    problem = None
    try:
        load_run_config(folder)
    except UntrustedRun as refused:
        wanted = tuple(line.strip() for line in str(refused).splitlines() if line.startswith("  "))
    except GymnastError as error:
        problem = str(error)
    return ArrivedRun(folder.id, folder.path, source, wanted, problem)
