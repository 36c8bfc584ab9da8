"""Evaluation during training: when it is due, and who does it: the loop, or a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gymnast.config.schema import Config
from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.mix.build import build_mix
from gymnast.errors import RunFailed
from gymnast.policies.policy import Policy
from gymnast.rollout.evaluate import Score, evaluate, evaluation_envs
from gymnast.rollout.source import Progress
from gymnast.training.budget import Budget
from gymnast.training.state import TrainState

if TYPE_CHECKING:
    from gymnast.training.session import Session


@dataclass(frozen=True, slots=True)
class Result:
    """A score and the env step whose weights earned it."""

    score: Score
    env_steps: int


@dataclass(frozen=True, slots=True)
class EvaluationSeeds:
    """Seeds of episodes that are not training's."""

    evaluation: int  # of the scores during training, which choose the best checkpoint
    held_out: int  # of episodes that neither trained a policy nor chose its checkpoint; the same each time


def evaluation_seeds(seed: int, eval_seed: int | None) -> EvaluationSeeds:
    """Of a run with these settings `seed` and `eval.seed`; neither is the seed of training's envs."""

    def drawn(*words: int) -> int:
        return int(np.random.SeedSequence(words).generate_state(1)[0])

    first = drawn(seed, 0xE7A1) if eval_seed is None else eval_seed
    return EvaluationSeeds(first, drawn(seed, first, 0x7E57))


def evaluation_seed(config: Config) -> int:
    return evaluation_seeds(config.seed, config.eval.seed).evaluation


def held_out_seed(config: Config) -> int:
    return evaluation_seeds(config.seed, config.eval.seed).held_out


def sampling_rng(seed: int, env_steps: int) -> np.random.Generator:
    """For a stochastic evaluation: a function of the step, so that resuming changes nothing."""
    return np.random.default_rng([seed, env_steps])


def build_evaluation_envs(config: Config, *, episodes: int, n_envs: int | None, seed: int) -> Envs:
    """Envs as in training, without training-only wrappers; for a mix, the same number of each task."""
    if config.env.mix is not None:
        tasks = config.env.tasks
        given = None if n_envs is None else max(1, n_envs // len(tasks))
        counts = [min(given or evaluation_envs(task.env, episodes), episodes) for task in tasks]
        return build_mix(config.env, counts=counts, seed=seed, training=config.eval.training_wrappers)
    count = n_envs or evaluation_envs(config.env, episodes)
    return build_envs(
        config.env, n_envs=min(count, episodes), seed=seed, training=config.eval.training_wrappers
    )


class EvalSchedule:
    """Which updates are followed by an evaluation: a function of counters alone."""

    def __init__(self, config: Config, solved_at: float | None) -> None:
        self.config = config.eval
        self.solved_at = solved_at

    def due(self, state: TrainState, steps_before: int) -> bool:
        every = self.config.every
        if every == 0 or state.env_steps < self.config.warmup:
            return False
        return state.env_steps // every > steps_before // every and self._good_enough(state)

    def due_at_end(self, state: TrainState, budget: Budget) -> bool:
        """Whether this is the last update of the step budget: its weights get a score, due or not."""
        return self.config.every > 0 and budget.steps_spent(state)

    def _good_enough(self, state: TrainState) -> bool:
        fraction = self.config.from_train_fraction
        if fraction is None or self.solved_at is None:
            return True
        score = state.train_return
        # 0.8 of 475 is 380, 0.8 of -100 is -120: the rest of the way is measured in the threshold's size.
        return score is not None and score >= self.solved_at - (1 - fraction) * abs(self.solved_at)


class Evaluator(Protocol):
    """Scores the policy now, or later."""

    def start(self, policy: Policy, env_steps: int, progress: Progress) -> Result | None:
        """Score the policy as it is now; None if the result comes later."""

    def poll(self) -> Result | None:
        """A result that has arrived meanwhile."""

    def wait(self, progress: Progress) -> Result | None:
        """The result that is still awaited, if any; `progress` may raise Interrupted."""

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""

    def close(self) -> None:
        """Release envs and processes."""


class InlineEvaluator:
    """Evaluates while training waits."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.seed = evaluation_seed(config)
        self._envs: Envs | None = None

    def start(self, policy: Policy, env_steps: int, progress: Progress | None = None) -> Result:
        """Score the policy as it is now."""
        episodes = self.config.eval.episodes
        rng = sampling_rng(self.seed, env_steps) if self.config.eval.stochastic else None
        try:
            score = evaluate(policy, self.envs(), episodes, rng=rng, progress=progress)
        except EnvFailure as failure:
            raise RunFailed(
                f"{self.config.env.id}: in the evaluation after step {env_steps:,}, {failure}"
            ) from failure
        return Result(score, env_steps)

    def envs(self) -> Envs:
        """Built when first needed: a short run may never evaluate."""
        if self._envs is None:
            settings = self.config.eval
            self._envs = build_evaluation_envs(
                self.config, episodes=settings.episodes, n_envs=settings.n_envs, seed=self.seed
            )
        return self._envs

    def poll(self) -> Result | None:
        return None

    def wait(self, progress: Progress) -> Result | None:
        return None

    @property
    def busy(self) -> bool:
        return False

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()


@dataclass(frozen=True, slots=True)
class Scored:
    """What evaluation gave in this update."""

    result: Result | None = None
    best: bool = False  # whether no score before was higher
    begun: bool = False  # whether the weights of this moment are being scored in the background


def evaluate_if_due(s: Session, due: bool, note_best: Callable[[Result], None], progress: Progress) -> Scored:
    """A score that has arrived, or a new one if that is due. With nothing else left to do, wait for it.

    Where both come at once, the earlier one goes to `note_best` if it is the best so far, and the
    later one is returned. Raises Interrupted if `progress` does: what is not complete then is dropped.
    """
    over = s.over() is not None
    result = s.evaluator.wait(progress) if over else s.evaluator.poll()
    best = result is not None and _take_score(s, result)
    if not due or s.evaluator.busy:
        return Scored(result, best)
    if result is not None and best:
        note_best(result)
    new = s.evaluator.start(s.learner.policy, s.state.env_steps, progress)
    if new is None and over:
        new = s.evaluator.wait(progress)
    if new is not None:
        return Scored(new, _take_score(s, new))
    return Scored(result, best, begun=True)


def _take_score(s: Session, result: Result) -> bool:
    """Note the score; whether it is the best so far."""
    score = result.score
    return s.state.take_score(score.mean, s.solves(score), is_mix=bool(score.tasks))
