"""A run's parts, built from its config: what the loop works with, and how it is saved and restored."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.algorithms import build_algorithm
from gymnast.algorithms.algorithm import Algorithm
from gymnast.config.schema import Config
from gymnast.envs.build import build_training_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.measure.capacity import check_fits
from gymnast.envs.single import one_per_process
from gymnast.envs.spec import EnvSpec, read_spec
from gymnast.errors import GymnastError
from gymnast.optimizers.build import build_optimizer
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Optimizer, Policy
from gymnast.rollout.ahead import AheadCollector
from gymnast.rollout.collector import Collector
from gymnast.rollout.evaluate import Score
from gymnast.rollout.reward_scale import RewardScale, TaskRewardScale, build_reward_scale
from gymnast.training.budget import Budget, build_budget
from gymnast.training.evaluator import EvalSchedule, Evaluator, InlineEvaluator
from gymnast.training.hooks import Adjustments, Hook
from gymnast.training.interventions import PlateauHook
from gymnast.training.state import TrainState
from gymnast.training.tasks import TaskBook, build_task_book


@dataclass(slots=True)
class Session:
    """Everything that training changes, and nothing about folders or terminals."""

    config: Config
    spec: EnvSpec
    envs: Envs
    policy: Policy
    optimizer: Optimizer
    algo: Algorithm
    collector: Collector | AheadCollector
    reward_scale: RewardScale | TaskRewardScale | None
    evaluator: Evaluator
    eval_schedule: EvalSchedule
    budget: Budget
    batch_size: int
    rng: np.random.Generator
    state: TrainState
    hooks: list[Hook]
    adjustments: Adjustments  # what hooks have made of the hyperparameters
    tasks: TaskBook | None  # of a mix

    @property
    def stop_at(self) -> float | None:
        """The evaluation score that ends training."""
        wanted = self.config.stop.eval_return
        return self.spec.solved_at if wanted == "solved" else wanted

    def solves(self, score: Score) -> bool:
        return bool(score.solves(self.spec))

    def ended_by(self, score: Score) -> str | None:
        """Why training ends with this score; None if it goes on."""
        if self.config.stop.eval_return == "solved" and self.spec.tasks:
            return "every task reached its threshold" if self.solves(score) else None
        wanted = self.stop_at
        if wanted is None or score.mean < wanted:
            return None
        return f"evaluation reached {score.mean:.4g}, {wanted:g} was wanted"

    def over(self) -> str | None:
        """Why there is nothing more to train, whatever evaluation says; None if there is."""
        wanted, train_return = self.config.stop.train_return, self.state.train_return
        if wanted is not None and train_return is not None and train_return >= wanted:
            return f"the training return reached {train_return:.4g}, {wanted:g} was wanted"
        return self.budget.spent(self.state)

    def close(self) -> None:
        self.collector.close()
        self.evaluator.close()
        self.envs.close()

    def training_state(self, *, with_envs: bool = True) -> dict[str, Any]:
        """What a checkpoint holds beside the policy. After an env has failed, its state is of no use."""
        return {
            "counters": self.state.to_json(),
            "rng": self.rng.bit_generator.state,
            "optimizer": self.optimizer.state(),
            "collector": self.collector.state() if with_envs else None,
            "reward_scale": self.reward_scale.state() if self.reward_scale else None,
            "hooks": [hook.state() for hook in self.hooks],
            "adjustments": self.adjustments.state(),
            "tasks": None if self.tasks is None else self.tasks.state(),
        }

    def restore(
        self, policy: dict[str, np.ndarray], state: dict[str, Any], *, fresh_optimizer: bool
    ) -> list[str]:
        """Go on from a checkpoint; what could not be carried over, in words."""
        notices = []
        self.policy.load_arrays(policy)
        self.state = TrainState.from_json(state["counters"])
        self.rng.bit_generator.state = state["rng"]
        if fresh_optimizer:
            notices.append("the optimiser starts afresh")
        else:
            self.optimizer.load_state(state["optimizer"])
        if self.reward_scale is not None and state["reward_scale"] is not None:
            self.reward_scale.load_state(state["reward_scale"])
        if len(state.get("hooks", [])) == len(self.hooks):  # a resume may bring rules, or drop them
            for hook, stood in zip(self.hooks, state.get("hooks", []), strict=True):
                hook.load_state(stood)
            self.adjustments.load_state(state.get("adjustments", []))
        if self.tasks is not None:
            self.tasks.load_state(state.get("tasks") or {})
        carried = state["collector"]
        if carried is None:
            notices.append("episodes start afresh")
        elif not self.collector.load_state(self.policy, carried):
            same_number = len(carried["totals"]) == self.envs.n_envs
            reason = "cannot be carried over" if same_number else "is of another number of envs"
            notices.append(f"the state of {self.config.env.id} {reason}: its episodes start afresh")
        return notices


def build_session(config: Config) -> Session:
    """Build every part; anything wrong with the config is found here, before a run folder exists."""
    spec = read_spec(config.env)
    check_fits(config.env, config.env.copies, config.algo.steps)
    envs = build_training_envs(config.env, seed=config.seed)
    try:
        return _build_around(config, spec, envs)
    except EnvFailure as failure:
        envs.close()
        raise GymnastError(f"{config.env.id}: {failure}") from failure
    except BaseException:
        envs.close()
        raise


def _build_around(config: Config, spec: EnvSpec, envs: Envs) -> Session:
    policy = _build_policy(config, envs, config.seed)
    algo = build_algorithm(config.algo)
    longest = spec.max_episode_steps
    if not algo.uses_critic and longest is not None and config.algo.steps < longest:
        logging.getLogger("gymnast").warning(
            "episodes of more than algo.n_steps=%d steps are never learnt from, and they may have %d; "
            "a larger algo.n_steps or algo.baseline=value helps",
            config.algo.steps,
            longest,
        )
    n_envs = envs.n_envs
    rollout_size = n_envs * config.algo.steps
    return Session(
        config=config,
        spec=spec,
        envs=envs,
        policy=policy,
        optimizer=build_optimizer(policy.network, config.algo.optimizer),
        algo=algo,
        collector=_build_collector(config, envs, policy),
        reward_scale=build_reward_scale(envs, config.algo.clip_reward)
        if config.algo.normalize_reward
        else None,
        evaluator=_build_evaluator(config),
        eval_schedule=EvalSchedule(config, spec.solved_at),
        budget=build_budget(config.budget, n_envs),
        batch_size=config.algo.minibatch_size(rollout_size),
        rng=np.random.default_rng([config.seed, 0x7A11]),
        state=TrainState(),
        hooks=[PlateauHook(config.interventions)] if config.interventions else [],
        adjustments=Adjustments(),
        tasks=build_task_book(envs),
    )


def _build_collector(config: Config, envs: Envs, policy: Policy) -> Collector | AheadCollector:
    steps, length = config.algo.steps, config.algo.sequence_length
    if not config.collects_ahead:
        return Collector(envs, policy, steps, length)
    acting = _build_policy(config, envs, None)
    return AheadCollector(Collector(envs, policy, steps, length, n_rollouts=2), acting)


def _build_policy(config: Config, envs: Envs, seed: int | None) -> Policy:
    return build_policy(
        config.policy,
        config.engine,
        envs.observation_space,
        envs.action_space,
        seed,
        config.device,
        config.precision,
    )


def _build_evaluator(config: Config) -> Evaluator:
    if config.eval.background:
        from gymnast.training.background_evaluator import BackgroundEvaluator

        return BackgroundEvaluator(config)
    if config.eval.every and config.env.backend == "sync":
        for env in [task.env for task in config.env.tasks] or [config.env]:
            if one_per_process(env):
                raise GymnastError(
                    f"env.backend sync: a process can hold one {env.id}, and evaluation needs another;"
                    " use workers or auto, or eval.background=true"
                )
    return InlineEvaluator(config)
