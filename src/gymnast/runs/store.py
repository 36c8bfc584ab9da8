"""Run folders: the only code that knows the paths in one.

runs/
  registry.json            an index of all runs, rebuilt whenever it is lost (registry.py)
  k3v9x0ab/
    config.yaml            the resolved config
    run.json               command, versions, git commit, machine: what started it
    status.json            its state: running, finished …, scores, steps
    metrics.csv            one row per update
    run.log                messages of the training
    alerts.json            health alerts so far, with advice
    distributions.bin      how actions, rewards, values … are distributed over the run (observe/)
    report.md              what came of it, with its pictures in report/; written at the end
    review.md, review.json what a language model said about it (review/)
    trackers.json          the run's ids at trackers, for a resume
    mark.json              that it was made here, by a key of the user (marks.py)
    origin.json            of a run that was unpacked or pulled: where it came from
    hub/                   what `gymnast publish --dry-run` wrote
    checkpoints/           weights and training state (checkpoint.py)
    recordings/            episodes that were recorded to look at them (recordings/store.py)
    videos/                videos by env steps, best.mp4, progress.mp4; absent before the first
    console.log            of a detached run: what a terminal would have shown
    .lock                  held by the process that trains it
    process.json           which process that is, and whether it is paused; gone when it ends (trainer.py)
    requests/              what other processes ask of it, one file each (trainer.py)
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, did_you_mean
from gymnast.runs.files import (
    MOST_CONFIG,
    UnsafeFile,
    fsync_folder,
    is_link,
    is_regular,
    open_read,
    read_json,
    read_text,
    refuse_irregular,
    remove,
    remove_tree,
    write_atomic,
    write_failed,
)
from gymnast.runs.ids import ID_RULE, RUN_ID, check_new_id, free_id

UNFINISHED = ".new-"  # hidden until complete
DOOMED = ".gone-"  # hidden while being deleted
_STALE_SECONDS = 3600.0
_LOCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run folder. Holds no open files; make as many as you like."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def config_path(self) -> Path:
        return self.path / "config.yaml"

    @property
    def info_path(self) -> Path:
        return self.path / "run.json"

    @property
    def status_path(self) -> Path:
        return self.path / "status.json"

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.csv"

    @property
    def alerts_path(self) -> Path:
        return self.path / "alerts.json"

    @property
    def distributions_path(self) -> Path:
        return self.path / "distributions.bin"

    @property
    def report_path(self) -> Path:
        return self.path / "report.md"

    @property
    def pictures(self) -> Path:
        """Of the report."""
        return self.path / "report"

    @property
    def review_path(self) -> Path:
        return self.path / "review.md"

    @property
    def review_json_path(self) -> Path:
        return self.path / "review.json"

    @property
    def review_lock_path(self) -> Path:
        """Held while a review is written, which a running training does not keep anybody from."""
        return self.path / ".review.lock"

    @property
    def trackers_path(self) -> Path:
        return self.path / "trackers.json"

    @property
    def log_path(self) -> Path:
        return self.path / "run.log"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def videos(self) -> Path:
        return self.path / "videos"

    @property
    def recordings(self) -> Path:
        return self.path / "recordings"

    @property
    def best_video_path(self) -> Path:
        return self.videos / "best.mp4"

    @property
    def progress_video_path(self) -> Path:
        return self.videos / "progress.mp4"

    @property
    def console_path(self) -> Path:
        return self.path / "console.log"

    @property
    def process_path(self) -> Path:
        return self.path / "process.json"

    @property
    def requests(self) -> Path:
        return self.path / "requests"

    @property
    def mark_path(self) -> Path:
        return self.path / "mark.json"

    @property
    def origin_path(self) -> Path:
        return self.path / "origin.json"

    @property
    def hub(self) -> Path:
        return self.path / "hub"

    @property
    def lock_path(self) -> Path:
        return self.path / ".lock"

    def info(self) -> dict[str, Any]:
        """What started the run; empty if run.json is damaged."""
        return read_json(self.info_path) or {}

    def config_text(self) -> str:
        """The resolved config as YAML."""
        try:
            return read_text(self.config_path, MOST_CONFIG)
        except FileNotFoundError:
            raise GymnastError(
                f"run {self.id} has no {self.config_path.name}: it is damaged, or was not copied as a whole;"
                " copy it again"
            ) from None
        except (OSError, UnicodeDecodeError, UnsafeFile) as error:
            raise GymnastError(f"the config of run {self.id} cannot be read: {error}") from error

    @contextmanager
    def lock(self, *, to_train: bool = True) -> Iterator[None]:
        """Hold the run; a second process gets an error, a killed one releases it by itself. Who does not
        train it leaves the word of the process that did, by which others see that nobody does now."""
        from filelock import FileLock, Timeout

        self.refuse_link()
        refuse_irregular(self.lock_path)
        lock = FileLock(self.lock_path)
        try:
            # Not at once: `is_locked` of another process holds it for an instant, and the env workers of
            # a killed training share its lock until they notice that it is gone.
            lock.acquire(timeout=_LOCK_SECONDS)
        except Timeout:
            raise GymnastError(f"run {self.id} is being trained by another process") from None
        except OSError as error:
            raise GymnastError(str(write_failed(self.lock_path, error))) from error
        try:
            if to_train:
                with suppress(GymnastError):
                    remove(self.process_path)  # a killed process left it
            yield
        finally:
            lock.release()

    def is_locked(self) -> bool:
        """Whether a process trains this run now."""
        from filelock import FileLock, Timeout

        if not is_regular(self.lock_path):  # a lock of ours is a file; anything else nobody can hold
            return False
        lock = FileLock(self.lock_path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        except OSError:  # a read-only folder
            return _is_held(self.lock_path)
        lock.release()
        return False

    def refuse_link(self) -> None:
        """Raise if the folder itself is a link: what happens to it would happen elsewhere."""
        if is_link(self.path):
            raise GymnastError(f"{self.path} is a link; name the run folder that it points to")

    def note_resume(
        self, env_steps: int, info: Mapping[str, Any], config_yaml_text: str | None = None
    ) -> None:
        """Record in run.json who continued the run, from which step; a changed config replaces
        config.yaml, and the one before is kept in the record."""
        record: dict[str, Any] = {"env_steps": env_steps, "created": now(), **info}
        if config_yaml_text is not None and config_yaml_text != self.config_text():
            record["config_before"] = self.config_text()
        known = self.info()
        known["resumes"] = [*known.get("resumes", []), record]
        if "budget_env_steps" in info:
            known["budget_env_steps"] = info["budget_env_steps"]
        write_atomic(self.info_path, json.dumps(known, indent=2) + "\n")
        if "config_before" in record and config_yaml_text is not None:
            write_atomic(self.config_path, config_yaml_text)


def runs_root(explicit: Path | str | None = None) -> Path:
    """Where runs are kept: the argument, else GYMNAST_RUNS_DIR, else ./runs. Creates nothing."""
    return Path(explicit or os.environ.get("GYMNAST_RUNS_DIR") or "runs").expanduser()


def create_run(
    root: Path, name: str, config_yaml_text: str, info: Mapping[str, Any], run_id: str | None = None
) -> RunFolder:
    """A new run folder, complete as soon as it is visible; nothing is left behind if that fails.

    `info` goes to run.json: what `provenance.describe_process` gives, and env, variant, algo, seed
    and budget_env_steps, which the registry and the score AUC read.
    """
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    unfinished: Path | None = None
    try:
        root.mkdir(parents=True, exist_ok=True)
        sweep(root)
        run = RunFolder(root / (free_id(root) if run_id is None else check_new_id(root, run_id)))
        unfinished = (
            root / f"{UNFINISHED}{run.id}-{os.urandom(4).hex()}"
        )  # a killed process may have left one
        draft = RunFolder(unfinished)
        draft.checkpoints.mkdir(parents=True)
        write_atomic(draft.config_path, config_yaml_text, sync_folder=False)
        own = {"id": run.id, "name": name, "created": now()}
        record = {**own, **info, **own}
        write_atomic(draft.info_path, json.dumps(record, indent=2) + "\n")
        check_new_id(root, run.id)  # another process may have been faster
        unfinished.rename(run.path)
        fsync_folder(root)
        return run
    except (OSError, GymnastError) as error:
        if unfinished is not None:
            remove_tree(unfinished)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # succeeds only while empty
        if type(error) is GymnastError:
            raise  # about the id
        reason = write_failed(root, error) if isinstance(error, OSError) else error
        raise GymnastError(f"no run can be created in {root}: {reason}") from error


def run_folders(root: Path) -> list[RunFolder]:
    """Every run under `root`, in no particular order."""
    try:
        with os.scandir(root) as items:
            names = [item.name for item in items if RUN_ID.fullmatch(item.name) and _is_folder(item)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise GymnastError(f"the runs folder {root} cannot be read: {error.strerror}") from error
    return [run for run in (RunFolder(root / name) for name in names) if is_run(run)]


def open_run(root: Path, run_id: str) -> RunFolder:
    """The run with exactly this id. The id may come from anywhere: it can never leave `root`."""
    if not RUN_ID.fullmatch(run_id):
        raise GymnastError(f"{run_id!r} is not a run id: {ID_RULE}")
    run = RunFolder(root / run_id)
    run.refuse_link()
    if not is_run(run):
        ids = [known.id for known in run_folders(root)]
        raise GymnastError(f"no run {run_id!r} in {root}{did_you_mean(run_id, ids)}")
    return run


def delete_run(run: RunFolder) -> None:
    """Remove a run for good, unless it is being trained. Where a link is in its folder, the link goes."""
    run.refuse_link()
    doomed = run.root / f"{DOOMED}{run.id}"
    lock_is_sound = is_regular(run.lock_path) or not os.path.lexists(run.lock_path)
    with run.lock() if lock_is_sound else nullcontext():  # nobody can hold a lock that is not a file
        remove_tree(doomed)  # left by a process that was killed, or put there
        try:
            run.path.rename(doomed)  # gone at once: nobody ever sees half a run
        except OSError as error:
            raise GymnastError(f"run {run.id} cannot be removed: {error.strerror}") from error
    remove_tree(doomed)


def now() -> str:
    """This moment in UTC, in a form that sorts as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _is_held(path: Path) -> bool:
    """Whether a process holds a lock that we may only read; True where that cannot be told."""
    try:
        import fcntl

        with open_read(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # released as the file is closed
    except (ImportError, OSError, GymnastError):
        return True
    return False


def _is_folder(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir(follow_symlinks=False)
    except OSError:
        return False


def is_run(run: RunFolder) -> bool:
    """Whether its folder has a run.json; one that may not be looked into may have one."""
    try:
        os.lstat(run.info_path)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def sweep(root: Path) -> None:
    """Remove what killed processes left half made or half deleted."""
    for prefix in (UNFINISHED, DOOMED):
        for path in root.glob(f"{prefix}*"):
            with suppress(OSError):  # another process may be sweeping too
                if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                    remove_tree(path)
