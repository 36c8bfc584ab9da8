"""From what a user wrote (a preset or a sweep file, options, settings) to a checked plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast.config.files import SUFFIXES, split_reference
from gymnast.config.load import ResolvedConfig, load_config
from gymnast.config.overrides import parse_override
from gymnast.config.schema import Config
from gymnast.errors import GymnastError, MissingExtra, did_you_mean
from gymnast.runs import references
from gymnast.sweeps.default_space import check_keys, default_space
from gymnast.sweeps.distributions import UNBOUNDED, grid_of
from gymnast.sweeps.missing_metric import missing_feature
from gymnast.sweeps.objective import Objective, check_name
from gymnast.sweeps.plan import EXECUTORS, METHODS, Plan, Seeds
from gymnast.sweeps.space import Space
from gymnast.sweeps.suggest.bayes import has_optuna, require_optuna
from gymnast.sweeps.sweep_file import Hyperband, SweepFile, is_sweep_file, read_sweep_file
from gymnast.training.budget import build_budget
from gymnast.trials.trial import HUNG_AFTER

_TRIALS = 32
_MACHINES = 8  # on Modal at once: more of them cost the same, and the search has seen less when it chooses
# Their sizes must divide each other, so one end of one range may need another value of the other.
_TOGETHER = {"algo.n_steps", "algo.batch_size", "algo.sequence_length", "env.n_envs", "env.groups"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for; None: as the file or the default says."""

    what: str  # a preset, a config, or a sweep file
    overrides: Sequence[str] | Mapping[str, Any] = ()
    trials: int | None = None
    workers: int | None = None
    method: str | None = None
    objective: str | None = None
    init_from: str | None = None
    on: str | None = None
    per_trial: int | None = None
    race: int | None = None
    test: int | None = None
    prune: bool | None = None
    patience: float | None = None
    seed: int | None = None
    config_dirs: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)  # of `modal`; None where nothing was asked for


def make_plan(wanted: Wanted, root: Path) -> tuple[Plan, ResolvedConfig]:
    """The plan, and the preset's own config with what all trials have. Raises GymnastError before anything is
    started."""
    file = _file(wanted.what)
    own: Mapping[str, Any] = file.own if file is not None else {}
    reference = file.reference if file is not None else wanted.what
    if reference is None:
        raise GymnastError(
            f"{wanted.what} does not say what to train: give command: [gymnast, train, CartPole-v1:ppo, "
            '"${args_no_hyphens}"], or reference: below gymnast:'
        )
    given = _pairs(wanted.overrides)
    fixed = {**(file.overrides if file is not None else {}), **given}
    dirs = tuple(Path(folder) for folder in wanted.config_dirs)
    resolved = load_config(reference, fixed, config_dirs=dirs)
    budget = _budget(resolved.config)
    space = file.space if file is not None else default_space(resolved.config, budget)
    space = _without(space, given, wanted.what)
    check_keys(space, resolved.config, wanted.what)
    fixed = {**space.constants, **fixed}
    if space.constants:
        resolved = load_config(reference, fixed, config_dirs=dirs)
    first_seed = None if fixed.pop("seed", None) is None else resolved.config.seed
    _check_ends(reference, fixed, space, dirs, wanted.what)
    method = _method(wanted.method or (file.method if file is not None else None), space)
    objective = _objective(wanted, file, resolved.config, budget)
    _check_metric(objective.name, resolved.config, space)
    trials = wanted.trials or (file.run_cap if file is not None else None)
    if trials is None:
        trials = space.grid_size() + 1 if method == "grid" else _TRIALS
    rungs, eta = _rungs(file.hyperband if file is not None else None, resolved.config, objective, budget)
    init_from = _start(wanted.init_from or own.get("from"), root)
    executor = _executor(wanted.on or own.get("on", "local"))
    machine = {name: value for name, value in wanted.machine.items() if value is not None}
    if machine and executor != "modal":
        raise GymnastError(f"--{next(iter(machine)).replace('_', '-')} is for --on modal; leave it out")
    plan = Plan(
        reference=_full_reference(reference),
        method=method,  # type: ignore[arg-type]
        trials=trials,
        space=replace(space, constants={}),
        objective=objective,
        budget=budget,
        overrides=fixed,
        seeds=_seeds(own.get("seeds"), wanted, first_seed),
        rungs=rungs,
        eta=eta,
        prune=own.get("prune", True) if wanted.prune is None else wanted.prune,
        init_from=init_from,
        workers=wanted.workers or own.get("workers") or _workers(executor),
        executor=executor,
        patience=_patience(wanted.patience, own, executor),
        seed=wanted.seed if wanted.seed is not None else int(own.get("seed") or 0),
        name=file.name if file is not None else "",
        description=file.description if file is not None else "",
        config_dirs=tuple(str(folder.absolute()) for folder in dirs),
        machine=machine,
    )
    return plan, resolved


def _file(what: str) -> SweepFile | None:
    name, variant = split_reference(what)
    path = Path(name).expanduser()
    if variant is None and name.endswith(SUFFIXES) and is_sweep_file(path):
        return read_sweep_file(path)
    return None


def _full_reference(reference: str) -> str:
    """A file by its whole path: a sweep may be continued from another folder."""
    name, variant = split_reference(reference)
    if not name.endswith(SUFFIXES):
        return reference
    path = str(Path(name).expanduser().absolute())
    return f"{path}:{variant}" if variant else path


def _pairs(overrides: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(overrides, Mapping):
        return {str(key): value for key, value in overrides.items()}
    return {".".join(path): value for path, value in map(parse_override, overrides)}


def _without(space: Space, fixed: Mapping[str, Any], what: str) -> Space:
    """The space without settings that the user fixes: `algo.lr=1e-3` also fixes `algo.lr.start`."""
    if "seed" in space.dimensions and "seed" not in fixed:
        raise GymnastError(
            f"{what}: parameters.seed: a sweep gives its runs seeds by itself; leave it out, and say how "
            "many a trial has with --seeds 3, or gymnast: {seeds: 3} in the file"
        )
    kept = {
        key: dimension
        for key, dimension in space.dimensions.items()
        if not any(key == given or key.startswith(f"{given}.") for given in fixed)
    }
    if not kept:
        raise GymnastError(f"{what}: there is nothing left to search: every setting is fixed")
    constants = {key: value for key, value in space.constants.items() if key not in fixed}
    return Space(kept, constants)


def _budget(config: Config) -> int:
    n_envs = config.env.n_envs if isinstance(config.env.n_envs, int) else 1
    return build_budget(config.budget, n_envs).total_steps or 0


def _check_ends(
    reference: str, fixed: Mapping[str, Any], space: Space, dirs: Sequence[Path], what: str
) -> None:
    """Both ends of each range, and each value of a list, must be something that the setting can be."""
    together = len(_TOGETHER & set(space.dimensions)) > 1
    for key, dimension in space.dimensions.items():
        if isinstance(dimension, UNBOUNDED) or (together and key in _TOGETHER):
            continue
        listed = grid_of(dimension)
        values = (
            listed
            if listed is not None and len(listed) <= 16
            else [dimension.value(0.0), dimension.value(1.0)]
        )
        for value in values:
            try:
                load_config(reference, {**fixed, key: value}, config_dirs=dirs)
            except GymnastError as error:
                why = str(error).splitlines()[-1].strip().removeprefix("overrides: ")
                raise GymnastError(f"{what}: parameters.{key}: {value!r} is impossible: {why}") from None


def _method(method: str | None, space: Space) -> str:
    if method is None:
        method = "bayes" if has_optuna() and not space.unbounded() else "random"
    if method not in METHODS:
        meant = did_you_mean(method, METHODS)
        raise GymnastError(f"--method: there is no {method!r}{meant}; it is {', '.join(METHODS)}")
    if method == "bayes":
        require_optuna()
        if names := space.unbounded():
            raise GymnastError(
                f"parameters.{names[0]}: method bayes cannot search a normal or beta distribution; "
                "use method: random, or give min and max"
            )
    if method == "grid":
        space.grid_size()
    return method


def _objective(wanted: Wanted, file: SweepFile | None, config: Config, budget: int) -> Objective:
    own: Mapping[str, Any] = file.own if file is not None else {}
    goal = None
    if wanted.objective is not None:
        name = wanted.objective
    elif own.get("objective"):
        name = own["objective"]
    elif file is not None and file.metric is not None:
        name, goal = file.metric, file.goal
    else:
        name = "score_auc_seconds" if own.get("cost") == "seconds" else "score_auc"
    if name == "score_auc" and own.get("cost") == "seconds":
        name = "score_auc_seconds"
    direction = check_name(name, goal)
    if (name.startswith(("score_auc", "eval/")) or name in ("final", "best")) and config.eval.every == 0:
        raise GymnastError(f"{name} needs evaluations, and eval.every is 0")
    seconds = config.budget.wall_time
    if name == "score_auc_seconds" and not seconds:
        raise GymnastError(
            "a score AUC over seconds needs to know how many: add budget.wall_time=2m, or use cost: steps"
        )
    if name == "score_auc" and not budget:
        raise GymnastError("a score AUC over steps needs budget.env_steps; or take score_auc_seconds")
    ceiling, threshold = own.get("ceiling"), own.get("threshold")
    if name.endswith("_to_threshold") and threshold is None:
        threshold = _threshold(config)
    if ceiling is None and name.startswith("score_auc"):
        ceiling = _ceiling(config)
    target = file.target if file is not None and file.metric == name else None
    return Objective(name, direction, target, ceiling, threshold, seconds)


def _check_metric(name: str, config: Config, space: Space) -> None:
    """Raise GymnastError for a metric of a feature that no trial uses."""
    setting = missing_feature(name, config)
    section = None if setting is None else setting.partition(".")[0]
    if section is not None and not any(key.partition(".")[0] == section for key in space.dimensions):
        raise GymnastError(f"no run of this sweep would have the metric {name}: it comes with {setting}")


def _threshold(config: Config) -> float:
    if isinstance(config.stop.eval_return, (int, float)):
        return float(config.stop.eval_return)
    from gymnast.envs.spec import read_spec

    solved_at = read_spec(config.env).solved_at
    if solved_at is None:
        raise GymnastError(
            "this env has no threshold: give one, as threshold: below gymnast: in a sweep file"
        )
    return solved_at


def _ceiling(config: Config) -> float | None:
    """The highest return that there can be, where the preset knows the rewards of a step."""
    if config.env.wrappers or config.env.mix is not None or config.env.spec.reward_range is None:
        return None
    from gymnast.envs.spec import read_spec

    spec = read_spec(config.env)
    high = spec.reward_range[1]
    if high <= 0:
        return high  # of one step: an episode has at least that
    if spec.max_episode_steps is None or high == float("inf"):
        return None
    return high * spec.max_episode_steps


def _rungs(
    hyperband: Hyperband | None, config: Config, objective: Objective, budget: int
) -> tuple[tuple[int, ...], float]:
    """Where trials wait. W&B counts how often the metric was logged: that is an evaluation or an update."""
    if hyperband is None or not budget:
        return (), 3.0
    once = steps_per_iteration(config, objective)
    eta = hyperband.eta
    if hyperband.min_iter is not None:
        count = hyperband.s if hyperband.s is not None else 20
        iterations = [hyperband.min_iter * eta**power for power in range(count)]
    else:
        assert hyperband.max_iter is not None
        iterations = [hyperband.max_iter / eta**power for power in range(hyperband.s or 1, 0, -1)]
    steps = [round(iteration * once) for iteration in iterations if iteration >= 1]
    return tuple(sorted({step for step in steps if step < budget})), eta


def _patience(given: float | None, own: Mapping[str, Any], executor: str) -> float | None:
    """Seconds without a sign of life; what a machine on Modal says arrives late."""
    if given is not None and given <= 0:
        raise GymnastError(f"--patience: must be more than 0, got {given:g} s")
    return given or own.get("patience", None if executor == "modal" else HUNG_AFTER)


def steps_per_iteration(config: Config, objective: Objective) -> int:
    """Env steps between two numbers of what is compared: an evaluation, or an update."""
    if objective.name.startswith("eval/") or "/" not in objective.name:
        return config.eval.every
    n_envs, n_steps = config.env.n_envs, config.algo.n_steps
    return n_envs * n_steps if isinstance(n_envs, int) and isinstance(n_steps, int) else 1


def _start(reference: Any, root: Path) -> str | None:
    """The checkpoint that all trials start from. By its own name, since `@last` soon means one of them."""
    if reference is None:
        return None
    found = references.find_checkpoint(root, str(reference))
    run = found.run.path.resolve()
    return f"{run.name if run.parent == root.resolve() else run}/{found.env_steps}"


def _seeds(given: Any, wanted: Wanted, first: int | None) -> Seeds:
    """`first` is the setting `seed`, where it was given: that of the first trial, the others count on."""
    values = dict(given) if isinstance(given, dict) else {"per_trial": given} if given else {}
    if first is not None:
        values.setdefault("first", first)
    values |= {
        key: value
        for key, value in (("per_trial", wanted.per_trial), ("race", wanted.race), ("test", wanted.test))
        if value is not None
    }
    return Seeds(**values)


def _workers(executor: str) -> int:
    """Runs at once: on this machine one per core."""
    return _MACHINES if executor == "modal" else max(1, os.cpu_count() or 1)


def _executor(name: str) -> str:
    if name.startswith("ray://"):
        address = name.removeprefix("ray://")
        raise GymnastError(f"--on {name}: a sweep has the address from RAY_ADDRESS={address}; write --on ray")
    if name not in EXECUTORS:
        meant = did_you_mean(name, EXECUTORS)
        raise GymnastError(f"--on {name}: there is no such place{meant}; it is {', '.join(EXECUTORS)}")
    if name != "local" and find_spec(name) is None:
        raise MissingExtra(f"--on {name}", name)
    return name
