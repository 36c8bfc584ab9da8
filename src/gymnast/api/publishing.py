"""Publishing a run on the Hugging Face Hub, and pulling one from there or from W&B."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.archiving import ArrivedRun, arrived
from gymnast.api.arguments import whole
from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, RunFailed, UntrustedRun, described

if TYPE_CHECKING:
    from gymnast.publish.score import PublishedScore
    from gymnast.runs.checkpoint import Checkpoint
    from gymnast.runs.store import RunFolder

_VIDEO_STEPS = 2000  # of the replay


@dataclass(frozen=True, slots=True)
class Publication:
    """A run on the Hub, or the folder that would be put there."""

    run: str
    checkpoint: int  # env steps
    repo: str
    card: str  # README.md
    files: tuple[str, ...]
    bytes: int
    mean_return: float | None
    std_return: float | None
    episodes: int | None
    licence: str
    private: bool
    folder: Path | None = None  # of a dry run: where it was written
    url: str | None = None
    revision: str | None = None
    created: bool = False  # whether the repository is new

    def to_json(self) -> dict[str, Any]:
        """What `gymnast publish --json` prints."""
        return asdict(self) | {"folder": None if self.folder is None else str(self.folder)}


def publish_run(
    reference: str | Path | Run = "@last",
    *,
    repo: str | None = None,
    private: bool = False,
    dry_run: bool = False,
    evaluate_first: bool = True,
    episodes: int = 100,
    stochastic: bool = False,
    video: bool = True,
    licence: str = "mit",
    force: bool = False,
    output: str | Path | None = None,
    trust: bool = False,
    runs_dir: str | Path | None = None,
) -> Publication:
    """Publish a checkpoint (of a run: its best, else its last) with a model card on the Hugging Face Hub.

    It is evaluated on fresh episodes and recorded first, unless `evaluate_first` or `video` is off; then
    everything goes up in one commit. `dry_run` asks nobody and uploads nothing: it writes the folder to
    `output`, or to `hub/` in the run's folder. Without `repo` the name is ALGO-ENV of the account that is
    logged in; a repository that holds something else is refused unless `force`.
    """
    from gymnast.archive.pack import held_still
    from gymnast.publish.folder import check_publishable
    from gymnast.publish.metadata import check_licence
    from gymnast.publish.names import check_repo, usual_name
    from gymnast.runs.registry import entry_of

    episodes = whole("episodes", episodes, 1)
    if (problem := check_licence(licence)) is not None:
        raise GymnastError(problem)
    if output is not None and not dry_run:
        raise GymnastError("--output is where --dry-run writes to; give both")
    if repo is not None:
        check_repo(repo)
    checkpoint = _whole_checkpoint(reference, runs_dir)
    run = checkpoint.run
    with held_still(run):
        check_publishable(checkpoint)
        entry = entry_of(run)
        hub = place = None
        if dry_run:
            repo = repo or f"OWNER/{usual_name(entry.algo, entry.env)}"
        else:  # what can be refused is refused before the evaluation
            from gymnast.publish.hub import connect, user_name
            from gymnast.publish.upload import find_place

            hub = connect()
            user = user_name(hub)
            repo = repo or check_repo(f"{user}/{usual_name(entry.algo, entry.env)}")
            place = find_place(hub, repo, run.id, force=force)
        with _target(run, dry_run, output) as target:
            score = _score(checkpoint, evaluate_first, episodes, stochastic, trust)
            made = _written(target, checkpoint, repo, licence, score, video=video, trust=trust)
            if hub is None or place is None:
                return _publication(made, checkpoint, repo, licence, private, score, target)
            from gymnast.publish.upload import upload_folder
            from gymnast.runs.elsewhere import remember_copy

            message = f"Run {run.id} at {checkpoint.env_steps:,} env steps"
            done = upload_folder(hub, target, place, private=private, message=message)
            remember_copy(run.id, f"hf:{repo}")
            return _publication(
                made, checkpoint, repo, licence, private, score, target,
                url=done.url, revision=done.revision, created=done.created,
            )  # fmt: skip


def pull_run(
    source: str, *, force: bool = False, new_id: bool = False, runs_dir: str | Path | None = None
) -> ArrivedRun:
    """Bring a run from `hf:OWNER/NAME[@REVISION]` or `wandb:ENTITY/PROJECT/RUN`, whole or not at all.

    It is data from elsewhere: no code of it runs, and code that its config names needs trust. `force` and
    `new_id` are as in `unpack_run`.
    """
    from gymnast.runs.elsewhere import remember_copy
    from gymnast.runs.store import runs_root

    root = runs_root(runs_dir)
    if source.startswith("hf:"):
        from gymnast.publish.download import pull_from_hub
        from gymnast.publish.hub import connect
        from gymnast.publish.names import parse_source

        wanted = parse_source(source)
        folder = pull_from_hub(connect(), wanted, root, force=force, new_id=new_id)
        remember_copy(folder.id, str(wanted))
        return arrived(folder, str(wanted))
    if source.startswith("wandb:"):
        from gymnast.archive import wandb_artifact

        archived = wandb_artifact.parse_source(source)
        folder = wandb_artifact.pull_archive(archived, root, force=force, new_id=new_id)
        remember_copy(folder.id, str(archived))
        return arrived(folder, str(archived))
    raise GymnastError(
        f"{source!r} is not a place to pull from: hf:OWNER/NAME, hf:OWNER/NAME@REVISION or"
        " wandb:ENTITY/PROJECT/RUN"
    )


def _whole_checkpoint(reference: str | Path | Run, runs_dir: str | Path | None) -> Checkpoint:
    """What a reference names, and no other in its place: it would be taken for the best of the run."""
    from gymnast.runs.references import parse_reference, resolve

    def refuse(problem: str) -> None:
        raise GymnastError(
            f"{problem.removesuffix('; trying the next')}; copy the run again, or name another checkpoint,"
            " RUN/STEPS"
        )

    name = None
    if not isinstance(reference, Run):
        text, name = parse_reference(str(reference.absolute() if isinstance(reference, Path) else reference))
        reference = text
    run = folder_of(reference, runs_dir)
    run.config_text()
    try:
        return resolve(run, name, refuse)
    except RunFailed as error:
        raise GymnastError(f"{error}; it may have been copied only in part: copy it again") from error


@contextmanager
def _target(run: RunFolder, dry_run: bool, output: str | Path | None) -> Iterator[Path]:
    """An empty folder for the files: of a dry run it stays, complete, where the user looks for it."""
    from tempfile import TemporaryDirectory

    from gymnast.runs.files import refuse_link, remove_tree, users_place, write_failed

    if not dry_run:
        with TemporaryDirectory(prefix="gymnast-publish-") as folder:
            yield Path(folder)
        return
    there = None if output is None or not Path(output).exists() else Path(output)
    if there is not None and (not there.is_dir() or any(there.iterdir())):
        raise GymnastError(f"{output} is there and not an empty folder; name a new one with --output")
    final = run.hub if output is None else users_place(Path(output).expanduser())
    refuse_link(final)
    draft = final.with_name(f".{final.name}.new")
    try:
        remove_tree(draft)
        draft.mkdir()
        yield draft
        remove_tree(final)
        draft.rename(final)
    except OSError as error:
        raise GymnastError(f"{write_failed(final, error)}; --output names another place") from error
    finally:
        remove_tree(draft)


def _score(
    checkpoint: Checkpoint, fresh: bool, episodes: int, stochastic: bool, trust: bool
) -> PublishedScore | None:
    from gymnast.api.evaluation import evaluate
    from gymnast.publish.score import PublishedScore, score_of_training

    if not fresh:
        return score_of_training(checkpoint)
    reference = f"{checkpoint.run.path.absolute()}/{checkpoint.env_steps}"
    found = evaluate(reference, episodes=episodes, stochastic=stochastic, trust=trust)
    if not math.isfinite(found.mean_return + found.std_return):
        raise GymnastError(f"the evaluation of {checkpoint} gave {found.mean_return}, which is not a score")
    return PublishedScore(
        mean=found.mean_return,
        std=found.std_return,
        episodes=found.episodes,
        stochastic=stochastic,
        solved=found.solved,
        seed=found.seed,
        low=found.min_return,
        high=found.max_return,
        length=found.mean_length,
        tasks=tuple((task.name, task.mean_return, task.std_return) for task in found.tasks),
    )


def _written(
    target: Path, checkpoint: Checkpoint, repo: str, licence: str, score: PublishedScore | None, *,
    video: bool, trust: bool,
) -> str:  # fmt: skip
    from gymnast.publish.folder import Contribution, write_folder

    recorded = _recorded(checkpoint, target / ".replay.mp4", trust) if video else None
    return write_folder(target, checkpoint, Contribution(repo, licence, score, recorded))


def _recorded(checkpoint: Checkpoint, path: Path, trust: bool) -> Path | None:
    """One episode; None, with a warning, where the env cannot be shown here."""
    from gymnast.api.video import record_video

    reference = f"{checkpoint.run.path.absolute()}/{checkpoint.env_steps}"
    try:
        return record_video(reference, max_steps=_VIDEO_STEPS, out=path, trust=trust).path
    except UntrustedRun:
        raise
    except Exception as error:  # an env may fail to draw in any way
        reason = error if isinstance(error, GymnastError) else described(error)
        logging.getLogger("gymnast").warning("published without a video: %s", reason)
        return None


def _publication(
    card: str, checkpoint: Checkpoint, repo: str, licence: str, private: bool, score: PublishedScore | None,
    target: Path, *, url: str | None = None, revision: str | None = None, created: bool = False,
) -> Publication:  # fmt: skip
    files = {
        str(path.relative_to(target)): path.stat().st_size for path in target.rglob("*") if path.is_file()
    }
    folder = None
    if url is None:
        folder = target.with_name(target.name.removeprefix(".").removesuffix(".new"))
    return Publication(
        run=checkpoint.run.id,
        checkpoint=checkpoint.env_steps,
        repo=repo,
        card=card,
        files=tuple(sorted(files)),
        bytes=sum(files.values()),
        mean_return=None if score is None else score.mean,
        std_return=None if score is None else score.std,
        episodes=None if score is None else score.episodes,
        licence=licence,
        private=private,
        folder=folder,
        url=url,
        revision=revision,
        created=created,
    )
