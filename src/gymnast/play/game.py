"""What is played: an env as it is recorded, and the policy of a checkpoint if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gymnast.config.schema import Config
from gymnast.envs.families.table import registered_family
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError
from gymnast.play.keymap import KeyMap
from gymnast.play.makers import ChanceDecides
from gymnast.policies.device import limit_threads
from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.files import MOST_CONFIG, read_bytes, sha256
from gymnast.traces.checkpoint import discounts, player_of
from gymnast.traces.env import RecordedEnv
from gymnast.traces.keep import describe
from gymnast.traces.recorder import DecisionMaker, Player, PolicyDecides
from gymnast.training.evaluation_limit import with_episode_limit
from gymnast.training.evaluator import evaluation_seed, sampling_rng

Driver = Literal["policy", "random", "human"]
DRIVERS: tuple[Driver, ...] = ("policy", "random", "human")
# Families in which nothing moves unless the player does.
_TURN_BASED = ("toy text", "minigrid", "bandits", "memory tasks", "probes")


@dataclass(slots=True)
class Game:
    """An env, who can play it, and the keys for a person."""

    env: RecordedEnv
    config: Config
    checkpoint: Checkpoint | None
    player: Player | None  # None: there is no policy
    stochastic: bool
    keymap: KeyMap
    turn_based: bool
    training: bool  # whether the env is as in training: shaped, clipped
    closed: bool = False
    # Of a game for two: takes what a person does on the other side; None: there is one side.
    rival: Callable[[np.ndarray], None] | None = None
    note: str | None = None  # what a person should know, such as what the policy has never seen

    @property
    def drivers(self) -> tuple[Driver, ...]:
        """Who can play."""
        if self.rival is not None:
            return DRIVERS[:1]
        return DRIVERS if self.player is not None else DRIVERS[1:]

    @property
    def steered(self) -> bool:
        """Whether a person has a side of their own, whoever drives."""
        return self.rival is not None

    def reseed(self, seed: int) -> None:
        """From the next reset on, env and sampling follow from another seed."""
        self.env.reseed(seed)
        if self.player is not None and self.player.rng is not None:
            steps = 0 if self.checkpoint is None else self.checkpoint.env_steps
            self.player = replace(self.player, rng=sampling_rng(seed, steps))

    def maker(self) -> DecisionMaker:
        """Who decides unless an action is given: the policy wherever there is one, to keep it up to date."""
        return self.chance() if self.player is None else PolicyDecides(self.env, self.player)

    def chance(self) -> ChanceDecides:
        """Random actions of this seed."""
        return ChanceDecides(self.env, self.env.seed)

    def about(self) -> dict[str, Any]:
        """The fields of a trace's metadata that do not come from its steps."""
        if self.player is None:
            env = self.env
            return {
                "env_id": env.id,
                "task": env.task,
                "seed": env.seed,
                "sampled": True,
                "fps": env.fps,
                "value_scale": None,
                "observation_stack": env.observation_stack,
                "action_names": env.actions.factors,
                "choices": env.actions.choices,
                "numbers": env.actions.numbers,
                "observation_names": env.observation_names,
                "memory_names": (),
            }
        about = describe(self.env, self.player)
        if self.checkpoint is not None:
            about |= {
                "run": self.checkpoint.run.id,
                "checkpoint": self.checkpoint.env_steps,
                "config_sha256": sha256(read_bytes(self.checkpoint.config_path(), MOST_CONFIG)),
                **discounts(self.config, self.checkpoint.env_steps),
            }
        return about

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Around playing: a small network on one core is fastest with one thread."""
        if self.player is None:
            yield
            return
        with limit_threads(self.player.policy.network, 1):
            yield

    def close(self) -> None:
        """Once; more often does nothing."""
        if not self.closed:
            self.closed = True
            self.env.close()


def build_game(
    config: Config,
    checkpoint: Checkpoint | None,
    *,
    seed: int | None = None,
    stochastic: bool = False,
    task: str | None = None,
    training: bool | None = None,
    limited: bool = False,
    pictures: bool = True,
) -> Game:
    """The game of a run's checkpoint, or of a config without a policy.

    Without a seed it begins with the episodes that training was evaluated on. A config alone is played as in
    training, a checkpoint as it is evaluated, unless `training` says otherwise. `limited`: an endless env
    gets the time limit that evaluation gives it.
    """
    if limited:
        config = with_episode_limit(config, read_spec(config.env))
    as_trained = training if training is not None else checkpoint is None or config.eval.training_wrappers
    env = RecordedEnv(
        config.env,
        evaluation_seed(config) if seed is None else seed,
        task,
        training=as_trained,
        pictures=pictures,
    )
    try:
        player = None
        if checkpoint is not None:
            player = player_of(env, config, checkpoint, stochastic=stochastic, seed=seed)
        keymap = KeyMap(env.actions, config.play.keys)
        if config.play.turns == "auto":
            drawn = pictures and not env.camera.renders
            turn_based = registered_family(env.id).name in _TURN_BASED or (drawn and env.actions.discrete)
        else:
            turn_based = config.play.turns == "wait"
        if turn_based and env.actions.numbers:
            raise GymnastError(
                "play.turns: wait is for actions that are chosen by one key, and"
                f" {', '.join(env.actions.numbers)} of {env.id} are held; use real-time"
            )
    except BaseException:
        env.close()
        raise
    return Game(env, config, checkpoint, player, stochastic, keymap, turn_based, as_trained)
