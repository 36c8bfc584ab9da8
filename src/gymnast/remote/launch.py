"""Starting a run on Modal: everything is checked, sized and priced here before anything happens there."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gymnast.config.load import ResolvedConfig
from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns
from gymnast.remote import modal_client
from gymnast.remote.index import RemoteRun, find_remote, forget_remote, remember_remote
from gymnast.remote.prices import AS_OF, dollars_per_hour
from gymnast.remote.sizes import Size, size_for
from gymnast.remote.spec import LONGEST_ATTEMPT, TrainSpec, spec_of
from gymnast.remote.state import state_from, state_name
from gymnast.runs import registry
from gymnast.runs.files import MOST_CONFIG
from gymnast.runs.ids import check_new_id, free_id
from gymnast.runs.store import RunFolder, now
from gymnast.runs.trust import accesses, refuse_secrets
from gymnast.training.budget import build_budget
from gymnast.training.run.start_or_continue import check_same_settings
from gymnast.training.run.videos import check_videos

_RETRO, _FREE_GAME = "Retro/", "Airstriker-Genesis"  # the one game that comes with stable-retro
LEAST_SECONDS = 60.0  # to start, train a little and save
_WANDB = ("WANDB_API_KEY", "WANDB_ENTITY", "WANDB_PROJECT", "WANDB_BASE_URL")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user says about the machine."""

    max_duration: float | None = None
    max_cost: float | None = None
    cores: float | None = None
    memory: int | None = None  # MiB
    gpu: str | None = None
    attempt: float = LONGEST_ATTEMPT


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that could be started now, and what that is expected to cost."""

    spec: TrainSpec
    size: Size
    local_fps: float | None  # of the same env and algorithm, in the latest run here
    budget_env_steps: int | None

    @property
    def seconds(self) -> float | None:
        """How long it takes at the rate of this machine; None if that is not known."""
        if not self.local_fps or not self.budget_env_steps:
            return None
        return self.budget_env_steps / self.local_fps

    def lines(self) -> list[str]:
        """What is printed before the start."""
        spec = self.spec
        machine = f"{spec.cores:g} cores, {spec.memory / 1024:g} GiB{f', {spec.gpu}' if spec.gpu else ''}"
        rate = spec.dollars_per_hour
        lines = [
            f"run {spec.run_id}: {spec.name} on Modal, {machine} ({self.size.reason})",
            f"about ${rate:.3f} per hour (Modal's prices of {AS_OF}; your workspace's may differ)",
        ]
        if self.seconds is not None:
            cost = rate * self.seconds / 3600
            lines.append(
                f"at the {self.local_fps:,.0f} steps/s of this machine {self.budget_env_steps:,} env steps"
                f" take {_hours(self.seconds)}: about ${cost:.2f}"
            )
        else:
            lines.append("how long it takes is not known: nothing like it was trained here yet")
        if spec.max_seconds is not None:
            most = rate * spec.max_seconds / 3600
            lines.append(f"it is saved and stopped after {_hours(spec.max_seconds)}, ${most:.2f} at most")
        return lines


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.1f} min"


def make_plan(
    resolved: ResolvedConfig, root: Path, run_id: str | None, continued: bool, wishes: Wishes
) -> Plan:
    """Check all that can be checked here; raises GymnastError for what cannot train there."""
    config = resolved.config
    if run_id is None:
        run_id = free_id(root)
    elif not (continued and (root / run_id).exists()):
        check_new_id(root, run_id)
    variables = _variables(config)
    _refuse_own_roms(config)
    refuse_secrets(config)
    check_videos(config)
    dollars_per_hour(1.0, 1024, wishes.gpu)  # refuses a GPU that there is none of, before measuring
    size = size_for(config, wishes.cores, wishes.memory)
    rate = dollars_per_hour(size.cores, size.memory, wishes.gpu)
    spec = spec_of(
        resolved,
        run_id,
        cores=size.cores,
        memory=size.memory,
        gpu=wishes.gpu,
        dollars_per_hour=rate,
        max_seconds=_most_seconds(wishes, rate),
        variables=variables,
        attempt_seconds=wishes.attempt,
    )
    copies = 1 if config.env.n_envs == "auto" else config.env.copies
    steps = build_budget(config.budget, copies).total_steps
    return Plan(spec, size, local_rate(root, config), steps)


def launch(plan: Plan, root: Path, continued: bool, notify: Callable[[str], None]) -> RemoteRun:
    """Deploy and start; the run is noted here first, so that nothing runs that nobody knows of."""
    check_free_there(plan.spec, continued, noted(root, plan.spec.run_id))
    deploy(notify)
    return order(plan, root)


def deploy(notify: Callable[[str], None]) -> None:
    """Bring the app on Modal up to date."""
    notify("deploying to Modal; the first time an image is built, which takes some minutes …")
    modal_client.deploy()


def order(plan: Plan, root: Path) -> RemoteRun:
    """Start a run, or the next part of one, with what is deployed."""
    from gymnast.remote.modal_app import VOLUME, spawn

    spec = plan.spec
    before = noted(root, spec.run_id)
    run = RemoteRun(
        spec.run_id, spec.name, "modal", VOLUME, "", now(), spec.cores, spec.memory, spec.gpu,
        spec.dollars_per_hour, spec.max_seconds, plan.local_fps, plan.budget_env_steps,
    )  # fmt: skip
    remember_remote(root, run)
    try:
        with modal_client.faults_as_ours():
            call = spawn(spec)
    except BaseException:
        if before is None:
            forget_remote(root, run.id)
        else:
            remember_remote(root, before)
        raise
    run = replace(run, call=call)
    remember_remote(root, run)
    return run


def check_free_there(spec: TrainSpec, continued: bool, before: RemoteRun | None) -> None:
    """Raise GymnastError if Modal has a run of this id that this order must not touch."""
    values = modal_client.read_volume_json(state_name(spec.run_id))
    state = state_from(spec.run_id, values)
    call = state.call or (before.call if before is not None else "")
    waits = bool(call) and not state.is_over() and modal_client.call_status(call) == "pending"
    busy = f"run {spec.run_id} is being trained on Modal; gymnast remote logs {spec.run_id}"
    if values is None:
        if waits:  # for its first machine
            raise GymnastError(busy)
        return
    if not continued:
        raise GymnastError(
            f"Modal has a run {spec.run_id} already ({state.state}): give --continue to continue it, or"
            " another --run-id"
        )
    if waits or state.is_alive():  # a call that waits for another machine trains on by itself
        raise GymnastError(busy)
    text = modal_client.read_volume_text(f"{spec.run_id}/config.yaml", MOST_CONFIG)
    if text is not None:
        kept = replace(spec, config=text).resolved().config
        check_same_settings(RunFolder(Path(spec.run_id)), kept, spec.resolved().config)


def local_rate(root: Path, config: Config) -> float | None:
    """Median steps per second of the latest run here of the same env and algorithm."""
    for entry in registry.entries(root):
        if entry.env == config.env.id and entry.algo == config.algo.name:
            try:
                rates = read_columns(RunFolder(root / entry.id).metrics_path, ["time/fps"])["time/fps"]
            except (OSError, GymnastError, ValueError):
                continue
            if len(rates):
                return float(sorted(rates.tolist())[len(rates) // 2])
    return None


def noted(root: Path, run_id: str) -> RemoteRun | None:
    """What was written down here of a run there."""
    try:
        return find_remote(root, run_id)
    except GymnastError:
        return None


def _variables(config: Config) -> tuple[str, ...]:
    """The environment variables that a run reads; raises for code that only this machine has."""
    wanted = accesses(config)
    own = [access.name for access in wanted if access.is_import]
    if own:
        raise GymnastError(
            f"{', '.join(own)}: code of your own is not sent to Modal, only Gymnast and what its extras"
            " install; train it here, or with one of the files in examples/remote"
        )
    names = [access.name[2:-1] for access in wanted]
    if any("wandb" in str(sink) for sink in config.sinks):
        names += [name for name in _WANDB if name in os.environ]
    if missing := [name for name in names if name not in os.environ]:
        raise GymnastError(f"the run reads {missing[0]}, and there is no such environment variable; set it")
    return tuple(dict.fromkeys(names))


def _refuse_own_roms(config: Config) -> None:
    """Raise GymnastError for a game whose ROM is the user's: it is not sent anywhere."""
    env = config.env
    ids = [env.id] if env.mix is None else [task.id or env.id for task in env.mix]
    games = [env_id.removeprefix(_RETRO) for env_id in ids if env_id.startswith(_RETRO)]
    if own := [game for game in games if game.removesuffix("-v0") != _FREE_GAME]:
        raise GymnastError(
            f"{_RETRO}{own[0]} needs a ROM of your own, which is not sent to Modal; of these games"
            f" {_RETRO}{_FREE_GAME} alone can train there"
        )


def _most_seconds(wishes: Wishes, rate: float) -> float | None:
    limits = [] if wishes.max_duration is None else [wishes.max_duration]
    if wishes.max_cost is not None:
        limits.append(wishes.max_cost / rate * 3600)
        if limits[-1] < LEAST_SECONDS:
            least = _in_cents(rate * LEAST_SECONDS / 3600)
            raise GymnastError(
                f"--max-cost {wishes.max_cost:g} pays for {limits[-1]:.0f} s of this machine"
                f" (${rate:.3f} per hour); give it ${least:.2f} at least"
            )
    return min(limits, default=None)


def _in_cents(dollars: float) -> float:
    """Rounded up."""
    return math.ceil(dollars * 100) / 100
