"""The reward audit: what an environment, or a run's policy in it, is rewarded for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gymnast.api.arguments import Folders, folders, maybe_whole, plain_overrides
from gymnast.api.run import Overrides, Run, log_printed, read_checkpoint
from gymnast.audit import audit
from gymnast.audit.audit import RewardAudit
from gymnast.audit.play import PlayedSoFar, Watch
from gymnast.audit.text import audit_text
from gymnast.config.load import ResolvedConfig, SeveralVariantsError, load_config
from gymnast.errors import GymnastError, RunElsewhere
from gymnast.runs.files import make_folder, named_file, write_atomic
from gymnast.runs.references import find_run, parse_reference
from gymnast.runs.store import RunFolder, runs_root

__all__ = [
    "PlayedSoFar",
    "RewardAudit",
    "audit_env_rewards",
    "audit_run_rewards",
    "audit_text",
    "names_a_run",
]

PICTURE = "audit.png"


def names_a_run(reference: str, runs_dir: str | Path | None = None) -> bool:
    """Whether a reference means a run, and not an environment or a config."""
    if reference.startswith("@"):
        return True
    try:
        find_run(runs_root(runs_dir), parse_reference(reference)[0])
    except RunElsewhere as error:
        return error.is_certain
    except GymnastError:
        return False
    return True


def audit_env_rewards(
    reference: str | Path,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    overrides: Overrides = (),
    config_dirs: Folders = (),
    picture: str | Path | None = None,
    watch: Watch | None = None,
) -> RewardAudit:
    """Play random actions in the env of a config, built as in training, and assess its rewards.

    Of several variants the first is taken: they seldom differ in the env, and the result names it.
    Without a number of episodes as many as make a few thousand steps. `picture` is a PNG file to write.
    `watch` is called some ten times a second with what came so far.
    """
    episodes, seed = maybe_whole("episodes", episodes, 1), maybe_whole("seed", seed)
    place = _place(picture)
    resolved = _load(str(reference), overrides, config_dirs)
    found = audit.audit_rewards(resolved.config, resolved.name, episodes, seed, None, watch)
    return found if place is None else _with_picture(found, place)


def audit_run_rewards(
    reference: str | Path | Run = "@last",
    *,
    checkpoint: str | None = None,
    episodes: int | None = None,
    seed: int | None = None,
    overrides: Overrides = (),
    picture: str | Path | None = None,
    runs_dir: str | Path | None = None,
    trust: bool = False,
    watch: Watch | None = None,
) -> RewardAudit:
    """The same for a run: random actions, then its checkpoint (the best, else the last), sampled and greedy.

    The picture goes to the run's `report` folder unless a file is named.
    """
    episodes, seed = maybe_whole("episodes", episodes, 1), maybe_whole("seed", seed)
    place = _place(picture)
    named = _with_checkpoint(reference, checkpoint)
    arrays, found_at, config = read_checkpoint(named, runs_dir, overrides=overrides, trust=trust)
    run: RunFolder = found_at.run
    log_printed(run)
    trained = audit.Trained(arrays, run.metrics_path)
    name = f"{run.id}/{found_at.env_steps} ({config.env.id})"
    if place is None:  # found out now, not after playing
        make_folder(run.pictures)
        place = run.pictures / PICTURE
    return _with_picture(audit.audit_rewards(config, name, episodes, seed, trained, watch), place)


def _with_checkpoint(reference: str | Path | Run, checkpoint: str | None) -> str | Path | Run:
    if checkpoint is None:
        return reference
    if isinstance(reference, Run):
        return f"{reference.path}/{checkpoint}"
    run, already = parse_reference(str(reference))
    if already is not None and already != checkpoint:
        raise GymnastError(f"{reference} names a checkpoint already: leave out --checkpoint {checkpoint}")
    return f"{run}/{checkpoint}"


def _load(reference: str, overrides: Overrides, config_dirs: Folders) -> ResolvedConfig:
    changes, dirs = plain_overrides(overrides), folders(config_dirs)
    try:
        return load_config(reference, changes, config_dirs=dirs)
    except SeveralVariantsError as several:
        return load_config(f"{several.name}:{several.variants[0]}", changes, config_dirs=dirs)


def _place(picture: str | Path | None) -> Path | None:
    """Where to write a picture that the user names, checked before anything is played."""
    if picture is None:
        return None
    path = Path(picture).expanduser()
    if path.is_dir():
        raise GymnastError(f"{path} is a folder: name a file, such as {path / PICTURE}")
    if path.suffix.lower() != ".png":
        raise GymnastError(f"{path}: pictures are PNG; name it {path.with_suffix('.png')}")
    return named_file(path)


def _with_picture(found: RewardAudit, path: Path) -> RewardAudit:
    from gymnast.audit.picture import audit_picture
    from gymnast.traces.png import encode_png

    write_atomic(path, encode_png(audit_picture(found)), durable=False)
    return replace(found, picture=path)
