"""What the loop works with, built from a config, and how it is saved and restored."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.algorithms.table import build_algorithm
from gymnast.config.dump import flat_data, plain_data
from gymnast.config.schema import Config
from gymnast.envs.build import build_training_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.measure.capacity import check_fits, check_network_fits
from gymnast.envs.single import one_per_process
from gymnast.envs.spec import EnvSpec, read_spec
from gymnast.errors import GymnastError
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.observe.observer import Observer, build_observer
from gymnast.optimizers.build import build_optimizer
from gymnast.parts.part import PartContext
from gymnast.parts.table import build_parts, value_heads
from gymnast.policies.build import build_policy
from gymnast.policies.layout import build_layout
from gymnast.policies.policy import Policy
from gymnast.rollout.ahead import AheadCollector
from gymnast.rollout.collector import Collector
from gymnast.rollout.evaluate import Score
from gymnast.rollout.source import Source
from gymnast.training.budget import Budget, build_budget
from gymnast.training.evaluation_limit import limit_notice, with_episode_limit
from gymnast.training.evaluator import EvalSchedule, Evaluator, InlineEvaluator
from gymnast.training.hook_table import build_hooks
from gymnast.training.hooks import Adjustments, Hook
from gymnast.training.learner import Learner, PolicyGradient, load_by_name
from gymnast.training.report import Update
from gymnast.training.state import TrainState
from gymnast.training.tasks import build_task_book

# What a state may raise that has the right checksum and the wrong content.
MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, MemoryError)


@dataclass(slots=True)
class Session:
    """Everything that training changes, and nothing about folders or terminals."""

    config: Config
    spec: EnvSpec
    envs: Envs
    source: Source
    learner: Learner
    evaluator: Evaluator
    eval_schedule: EvalSchedule
    budget: Budget
    state: TrainState
    rng: np.random.Generator
    hooks: tuple[Hook, ...]
    adjustments: Adjustments  # of hyperparameters, by hooks
    monitor: Monitor | None = None  # of the run's health
    observer: Observer | None = None  # measures more, every few updates
    # The row of an update that a resumed run has to evaluate first: it was killed in its first evaluation.
    unscored: Mapping[str, Any] | None = None
    # Why a run that was killed between its last update and its end is over: the loop does nothing else.
    over_already: str | None = None

    @property
    def stop_at(self) -> float | None:
        """The evaluation score that ends training."""
        wanted = self.config.stop.eval_return
        return self.spec.solved_at if wanted == "solved" else wanted

    def solves(self, score: Score) -> bool:
        return bool(score.solves(self.spec))

    def ended_by(self, score: Score) -> str | None:
        """Why training ends with this score; None if it continues."""
        return self._ended_by(score.mean, self.solves(score))

    def _ended_by(self, mean: float, solves: bool) -> str | None:
        if self.config.stop.eval_return == "solved" and self.spec.tasks:
            return "every task reached its threshold" if solves else None
        wanted = self.stop_at
        if wanted is None or mean < wanted:
            return None
        return f"evaluation reached {mean:.4g} (target {wanted:g})"

    def ended_before(self, row: Mapping[str, Any]) -> str | None:
        """Why the update that a restored session is at was its last; `row` has that update's metrics."""
        mean = row.get("eval/return/mean")
        if isinstance(mean, (int, float)) and row.get("eval/env_steps") == self.state.env_steps:
            by_score = self._ended_by(float(mean), bool(row.get("eval/solved")))
            if by_score is not None:
                return by_score
        return self.over()

    def over(self) -> str | None:
        """Why training ends, whatever the evaluation scores; None if it continues."""
        if (wanted := self.config.stop.train_return) is not None:
            train_return = self.state.train_return  # takes longer than all else here
            if train_return is not None and train_return >= wanted:
                return f"the training return reached {train_return:.4g} (target {wanted:g})"
        return self.budget.spent(self.state)

    def take_unscored(self) -> Update | None:
        """The update that is still to be evaluated, once; of its episodes only the metrics are known."""
        row, self.unscored = self.unscored, None
        if row is None:
            return None
        hp = self.learner.hyperparameters(self.state.env_steps, self.budget.schedule_steps)
        steps_before = self.state.env_steps - self.envs.n_envs * self.config.algo.steps
        return Update(hp, steps_before, row, {})

    def close(self) -> None:
        self.source.close()
        self.evaluator.close()
        self.envs.close()

    def training_state(self, *, with_envs: bool = True) -> dict[str, Any]:
        """What a checkpoint holds beside the policy. After an env has failed, its state is useless."""
        return {
            "counters": self.state.to_json(),
            "rng": self.rng.bit_generator.state,
            "learner": self.learner.state(),
            "source": self.source.state() if with_envs else None,
            "hooks": {hook.name: hook.state() for hook in self.hooks},
            "adjustments": self.adjustments.state(),
            "monitor": None if self.monitor is None else self.monitor.state(),
        }

    def restore(
        self, policy: dict[str, np.ndarray], state: dict[str, Any], *, fresh_optimizer: bool
    ) -> list[str]:
        """Continue from a checkpoint; returns notices of what could not be restored.

        A state that makes no sense raises what it runs into (`MALFORMED`); the session is useless then.
        """
        heads = self.learner.policy.start_from(policy)  # an exploration bonus may be new, or missing now
        self.state.load_json(state["counters"])
        self.rng.bit_generator.state = state["rng"]
        notices = self.learner.load_state(state["learner"], fresh_optimizer=fresh_optimizer)
        notices += [] if heads is None else [heads]
        notices += load_by_name("hook", self.hooks, state["hooks"])
        if self.hooks:  # without the hook that made it, an adjustment would stay forever
            self.adjustments.load_state(state["adjustments"])
        if self.monitor is not None and state.get("monitor") is not None:
            self.monitor.load_state(state["monitor"])
        if state["source"] is None:
            notices.append("new episodes start")
        elif (notice := self.source.load_state(self.learner.policy, state["source"])) is not None:
            notices.append(notice)
        return notices


def build_session(config: Config, own_hooks: Sequence[Hook] = ()) -> Session:
    """Build everything; errors in the config are found here, before a run folder exists."""
    spec = read_spec(config.env)
    check_fits(config.env, config.env.copies, config.algo.steps)
    envs = _build_envs(config)
    try:
        return _build_around(config, spec, envs, own_hooks)
    except EnvFailure as failure:
        envs.close()
        raise GymnastError(f"{config.env.id}: {failure}") from failure
    except BaseException:
        envs.close()
        raise


def _build_envs(config: Config) -> Envs:
    if config.cluster.on == "none":
        return build_training_envs(config.env, seed=config.seed)
    if config.cluster.mode == "steps":
        from gymnast.cluster.stepping import build_stepping_envs

        return build_stepping_envs(config)
    from gymnast.cluster.build import build_remote_envs

    return build_remote_envs(config)


def _build_around(config: Config, spec: EnvSpec, envs: Envs, own_hooks: Sequence[Hook]) -> Session:
    heads = value_heads(config)
    layout = build_layout(config.policy, envs.observation_space, envs.action_space, heads)
    check_network_fits(layout.n_parameters)
    policy = _build_policy(config, envs, config.seed)
    learner = _build_learner(config, spec, envs, policy)
    budget = build_budget(config.budget, envs.n_envs)
    observer = build_observer(
        config,
        policy,
        spec,
        uses_critic=learner.uses_critic,
        total_steps=budget.total_steps,
        rollout_steps=envs.n_envs * config.algo.steps,
        n_epochs=learner.hyperparameters(0, budget.schedule_steps).n_epochs,
    )
    return Session(
        config=config,
        spec=spec,
        envs=envs,
        source=_build_source(config, envs, policy, learner.needs_transitions),
        learner=learner,
        evaluator=_build_evaluator(config, spec),
        eval_schedule=EvalSchedule(config, spec.solved_at),
        budget=budget,
        state=TrainState(tasks=build_task_book(envs)),
        rng=np.random.default_rng([config.seed, 0x7A11]),
        hooks=build_hooks(config, own_hooks),
        adjustments=Adjustments(),
        monitor=_build_monitor(config, spec, envs) if config.observe.alerts else None,
        observer=observer,
    )


def _build_monitor(config: Config, spec: EnvSpec, envs: Envs) -> Monitor:
    facts = RunFacts(
        flat_data(plain_data(config)),
        rollout_steps=envs.n_envs * config.algo.steps,
        n_envs=envs.n_envs,
        solved_at=spec.solved_at,
    )
    return Monitor(facts)


def _build_learner(config: Config, spec: EnvSpec, envs: Envs, policy: Policy) -> Learner:
    algo = build_algorithm(config.algo)
    longest = spec.max_episode_steps
    if not algo.uses_critic and longest is not None and config.algo.steps < longest:
        logging.getLogger("gymnast").warning(
            "episodes of more than algo.n_steps=%d steps are never learned from, and they may have %d; "
            "a larger algo.n_steps or algo.baseline=value helps",
            config.algo.steps,
            longest,
        )
    return PolicyGradient(
        algo,
        policy,
        build_optimizer(policy.network, config.algo.optimizer),
        build_parts(PartContext(config, envs, policy, spec)),
        config.algo.minibatch_size(envs.n_envs * config.algo.steps),
    )


def _build_source(config: Config, envs: Envs, policy: Policy, keep_final_obs: bool) -> Source:
    if config.cluster.collects:
        from gymnast.cluster.build import build_remote_source

        acting = _build_policy(config, envs, None)
        return build_remote_source(config, envs, policy, acting, keep_final_obs=keep_final_obs)
    steps, length = config.algo.steps, config.algo.sequence_length
    if not config.collects_ahead:
        return Collector(envs, policy, steps, length, keep_final_obs=keep_final_obs)
    acting = _build_policy(config, envs, None)
    collector = Collector(envs, policy, steps, length, n_rollouts=2, keep_final_obs=keep_final_obs)
    return AheadCollector(collector, acting)


def _build_policy(config: Config, envs: Envs, seed: int | None) -> Policy:
    return build_policy(
        config.policy,
        config.engine,
        envs.observation_space,
        envs.action_space,
        seed,
        config.device,
        config.precision,
        value_heads=value_heads(config),
    )


def _build_evaluator(config: Config, spec: EnvSpec) -> Evaluator:
    if config.eval.every and (notice := limit_notice(config, spec)) is not None:
        logging.getLogger("gymnast").warning("%s", notice)
    config = with_episode_limit(config, spec)
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
