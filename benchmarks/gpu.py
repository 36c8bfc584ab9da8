"""Pong from pixels with learning on, as a fraction of the rate at which ale-py steps alone.

python benchmarks/gpu.py [--n-envs 256] [--repeats 3] [--actors 16] [--json FILE] [KEY=VALUE …]

Meant for a machine with a GPU and many cores. One process measures the same games in turn: ale-py with
random actions, then training in which stepping, acting and learning take turns, then training in which they
overlap; and that several times, since such machines are often shared. With --actors the same training is also
measured with games that actors on this machine step (docs/actors.md): one frame per step is sent, half of the
actors step while the policy acts for the others, and one rollout is learned from while the next is collected.
Games in this process begin unseeded: for a seed ALE loads the cartridge again, a tenth of a second for each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.config.load import load_config
from gymnast.envs.families.atari.native import NativeAtari
from gymnast.rollout.ahead import AheadCollector
from gymnast.rollout.collector import Collector
from gymnast.training.session import Session, build_session

RAW_STEPS = 200
AIM = 0.85
RAW, SYNCHRONOUS, OVERLAPPED = "ale-py alone", "one after the other", "overlapped"
ACTORS = "actors that step"


class Waiting:
    """Seconds spent waiting for games."""

    def __init__(self) -> None:
        self.seconds = 0.0
        receive = NativeAtari.receive

        def timed(envs: NativeAtari) -> Any:
            began = time.perf_counter()
            step = receive(envs)
            self.seconds += time.perf_counter() - began
            return step

        setattr(NativeAtari, "receive", timed)  # noqa: B010  so that its type stays what it is


class OneGroup:
    """Envs that come in groups, stepped as if they were one."""

    def __init__(self, envs: Any) -> None:
        self._envs = envs

    def __getattr__(self, name: str) -> Any:
        if name == "groups":
            raise AttributeError(name)
        return getattr(self._envs, name)


def begin_unseeded(envs: NativeAtari) -> np.ndarray:
    return envs._start(np.arange(envs.n_envs), np.full(envs.n_envs, -1))


def raw_rate(session: Session) -> float:
    """Steps per second of ale-py's own calls. No group waits for another."""
    groups: Any = session.envs.groups  # type: ignore[attr-defined]
    drawn = np.random.default_rng(0).integers(0, 6, (64, session.envs.n_envs)).astype(np.int32)
    games = [(group.envs._ale, group.rows, group.envs._strength) for group in groups]
    for ale, rows, strength in games:
        ale.send(drawn[0, rows], strength)
    began = time.perf_counter()
    for t in range(1, RAW_STEPS):
        for ale, rows, strength in games:
            ale.recv()
            ale.send(drawn[t % 64, rows], strength)
    for ale, _, _ in games:
        ale.recv()
    return RAW_STEPS * session.envs.n_envs / (time.perf_counter() - began)


def trained_rate(session: Session, collector: Any, updates: int) -> float:
    """Steps per second of collecting and learning, without metrics and files."""
    learner = session.learner
    hp = learner.hyperparameters(0, 10**7)
    steps = 0
    for number in range(updates + 2):
        if number == 2:  # by then kernels are chosen, and a rollout is pending
            began = time.perf_counter()
        rollout = collector.collect(learner.policy, session.rng).rollout
        learner.learn(rollout, hp, session.rng)
        steps += rollout.rewards.size if number >= 2 else 0
    seconds = time.perf_counter() - began
    if isinstance(collector, AheadCollector):
        collector.drop()  # the next measurement uses the games
    return steps / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="ALE/Pong-v5:ppo-gpu")
    parser.add_argument("--n-envs", type=int, default=256)
    parser.add_argument("--updates", type=int, default=8, help="of each form, in each repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--actors", type=int, default=0, help="processes that step games, as another form")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_args()
    setattr(NativeAtari, "reset", begin_unseeded)  # noqa: B010  as above
    given = dict(one.split("=", 1) for one in options.overrides)
    given |= {"env.n_envs": options.n_envs, "algo.collect_ahead": "true"}
    remote: Session | None = None
    if options.actors:
        stepping = {"cluster.on": "local", "cluster.mode": "steps", "cluster.actors": options.actors}
        single = {"env.backend": "auto", "env.groups": 2, "env.atari.stack": 1, "policy.frame_stack": 4}
        remote = build_session(load_config(options.preset, {**single, **given, **stepping}).config)
    began = time.perf_counter()
    session = build_session(load_config(options.preset, given).config)
    print(f"built in {time.perf_counter() - began:.0f} s", flush=True)
    one: Any = OneGroup(session.envs)
    forms = {SYNCHRONOUS: Collector(one, session.learner.policy, session.config.algo.steps)}
    forms[OVERLAPPED] = session.source  # type: ignore[assignment]
    sessions = dict.fromkeys(forms, session)
    if remote is not None:
        forms[ACTORS], sessions[ACTORS] = remote.source, remote  # type: ignore[assignment]
    waiting = Waiting()
    found: dict[str, list[float]] = {RAW: [], **{name: [] for name in forms}}
    waited: dict[str, float] = {}
    for _ in range(options.repeats):
        found[RAW].append(raw_rate(session))
        for name, collector in forms.items():
            waiting.seconds, began = 0.0, time.perf_counter()
            found[name].append(trained_rate(sessions[name], collector, options.updates))
            waited[name] = waiting.seconds / (time.perf_counter() - began)
        print({name: round(rates[-1]) for name, rates in found.items()}, flush=True)
    for name, rates in found.items():
        shares = [rate / raw for rate, raw in zip(rates, found[RAW], strict=True)]
        print(
            f"{name:20} {statistics.median(rates):10,.0f} steps/s"
            f"  {statistics.median(shares):6.1%} of ale-py alone ({min(shares):.0%} to {max(shares):.0%})"
            + (f"  waits for games {waited[name]:.0%} of the time" if name in waited else "")
            + (f"  aim {AIM:.0%}" if name == OVERLAPPED else "")
        )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    session.close()
    if remote is not None:
        remote.close()


if __name__ == "__main__":
    main()
