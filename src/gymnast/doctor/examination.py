"""The whole examination: probes for the learner, then the user's wrappers and env, then one verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from gymnast.config.schema import Config
from gymnast.doctor import env_process
from gymnast.doctor.finding import Finding, ProbeResult
from gymnast.doctor.probe_config import Spaces, plain_spaces
from gymnast.doctor.train_probe import train_probe
from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.envs.families.probe import KINDS
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.errors import GymnastError
from gymnast.spaces.plain import check_spaces, plain_action_space, plain_space

PROBE_TITLES = {
    "constant": "value",
    "observation": "value from observation",
    "discount": "discounting",
    "action": "policy",
    "match": "policy from observation",
}
OWN_GAMMA = 0.8  # of probes without a config: far enough from 1 for a missing discount to show

Seen = Callable[[ProbeResult | Finding], None]


@dataclass(frozen=True, slots=True)
class Examination:
    """What was looked at, and what it comes to."""

    name: str  # of the config, or of the algorithm
    probes: tuple[ProbeResult, ...]
    wrappers: tuple[Finding, ...] = ()
    env: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        results: tuple[ProbeResult | Finding, ...] = (*self.probes, *self.wrappers, *self.env)
        return not any(each.status == "failed" for each in results)

    @property
    def verdict(self) -> str:
        """Where it is broken, in a line or two."""
        broken = [*_broken_probes(self.probes)]
        broken += [f"wrapper {f.check}: {f.message}" for f in self.wrappers if f.status == "failed"]
        broken += [f"env, {f.check}: {f.message}" for f in self.env if f.status == "failed"]
        if broken:
            return "broken: " + "; ".join(broken)
        warned = sum(f.status == "warning" for f in (*self.wrappers, *self.env))
        passed = sum(probe.status == "ok" for probe in self.probes)
        text = f"healthy: {passed} probe{'s' if passed != 1 else ''} passed"
        if self.env:
            text += ", and the env fails no check"
        return f"{text} ({warned} warning{'s' if warned != 1 else ''})" if warned else text

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "healthy": self.healthy,
            "verdict": self.verdict,
            "probes": [probe.to_json() for probe in self.probes],
            "wrappers": [finding.to_json() for finding in self.wrappers],
            "env": [finding.to_json() for finding in self.env],
        }


def _broken_probes(probes: tuple[ProbeResult, ...]) -> Iterator[str]:
    """The first probe that fails says where; what comes after it builds on it."""
    failed = [probe for probe in probes if probe.status == "failed"]
    for probe in failed[:1]:
        yield f"the learner, at the probe '{PROBE_TITLES[probe.probe]}': {probe.reason}"


def examine_algorithm(name: str, seen: Seen = lambda each: None) -> Examination:
    """An algorithm with its default settings: all probes, and those with actions in both forms."""
    config = Config.model_validate(
        {
            "env": {"id": "gymnast/Probe-Constant-v0"},
            "algo": {"name": name, "gamma": OWN_GAMMA},
            "budget": {"env_steps": 1_000_000},
        }
    )
    probes = list(_probes(config, plain_spaces(), KINDS, seen))
    probes += _probes(config, plain_spaces(continuous=True), ("action", "match"), seen, "continuous")
    return Examination(name, tuple(probes))


def examine_config(
    config: Config, name: str, *, render: bool = True, seen: Seen = lambda each: None
) -> Examination:
    """A user's config: its learner on probes that look like its env, then its wrappers, then its env."""
    envs = {task.name: task.env for task in config.env.tasks} or {"": config.env}
    spaces = _spaces_of(next(iter(envs.values())))
    if spaces is None:
        probes = tuple(ProbeResult(kind, "skipped", "", "", "the env cannot be built") for kind in KINDS)
        for probe in probes:
            seen(probe)
    else:
        actions = "continuous" if isinstance(spaces.action, gym.spaces.Box) else "discrete"
        probes = tuple(_probes(config, spaces, KINDS, seen, actions))
    wrappers: list[Finding] = []
    checked: list[Finding] = []
    normalized = config.algo.normalize_reward or config.policy.popart
    for task, env in envs.items():
        for about, finding in env_process.check(env, render=render, normalized=normalized):
            named = replace(finding, check=f"{task}: {finding.check}") if task else finding
            (wrappers if about == "wrapper" else checked).append(named)
            seen(named)
    return Examination(name, probes, tuple(wrappers), tuple(checked))


def _probes(
    config: Config, spaces: Spaces, kinds: tuple[Any, ...], seen: Seen, actions: str = "discrete"
) -> Iterator[ProbeResult]:
    for kind in kinds:
        result = replace(train_probe(config, kind, spaces), actions=actions)
        seen(result)
        yield result


def _spaces_of(config: EnvConfig) -> Spaces | None:
    """What the agent sees and does in the user's env; None if it cannot be built, which its check reports."""
    try:
        env = make_env(config)
    except BaseException as error:
        pass_on_ctrl_c(error)
        return None
    try:
        observation, action = env.observation_space, env.action_space
        check_spaces(observation, action, config.id)
        return Spaces(plain_space(observation), plain_action_space(action))
    except GymnastError:
        return None
    finally:
        close_env(env)
