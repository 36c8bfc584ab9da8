"""Training on one probe until it is decided: collect and learn as the training loop does, measure, stop.

A healthy learner needs a few hundred gradient steps. What does not move at all fails early; a value that is
right must stay right while training continues, since one on its way to a wrong target passes it too.
"""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Sequence

from gymnast.algorithms.algorithm import Hyper
from gymnast.config.schema import Config
from gymnast.doctor.causes import cause
from gymnast.doctor.finding import ProbeResult
from gymnast.doctor.measured import Measured, mean_of, measure
from gymnast.doctor.probe_config import VALUE_PROBES, Spaces, probe_config, why_not_tried
from gymnast.envs.contract import pass_on_ctrl_c
from gymnast.envs.families.probe import Kind
from gymnast.errors import GymnastError, RunFailed, described
from gymnast.policies.device import limit_threads
from gymnast.training.budget import build_budget
from gymnast.training.evaluator import Scored
from gymnast.training.hooks import Adjust, consult
from gymnast.training.report import Timing, make_report, make_update
from gymnast.training.session import Session, build_session

MOST_STEPS = 3000  # gradient steps; healthy learners need a tenth
PATIENCE, POLICY_PATIENCE = 300, 800  # gradient steps in which something must move; policies start slowly
STUCK, FAR = 0.03, 0.1  # of a reward of 1, or of all actions: what counts as moving, and as near
MOST_SECONDS = 60.0  # of processor time, for large networks, which may not get that far
SETTLE_STEPS = 30  # gradient steps at least for which a right answer must stay right
_MEAN_OF = 5  # measurements: a large learning rate lets values swing about the right ones
_WAY_INTO_THE_RUN = 0.25  # where schedules are read: after a warm-up, before the end of a decay


def train_probe(config: Config, kind: Kind, spaces: Spaces) -> ProbeResult:
    """Train the user's learner on a probe; whatever goes wrong in it is the result."""
    began = time.perf_counter()
    try:
        why = why_not_tried(config, kind, spaces)
        if why is not None:
            return ProbeResult(kind, "skipped", "", "", why)
        session = build_session(probe_config(config, kind, spaces))
        try:
            with limit_threads(session.learner.policy.network, session.learner.batch_size):
                return _Trial(session, config, kind).run(began)
        finally:
            session.close()
    except GymnastError as error:
        return _raised(kind, f"{error}{_place(error.__cause__)}", began)
    except BaseException as error:
        pass_on_ctrl_c(error)
        return _raised(kind, described(error), began)


def _raised(kind: Kind, what: str, began: float) -> ProbeResult:
    return ProbeResult(kind, "failed", "it trains", "an error", what, seconds=time.perf_counter() - began)


def _place(cause: BaseException | None) -> str:
    """' (my_nets.py:12)' where an error came from someone else's code."""
    found = None if cause is None else re.search(r" \([^()]+:\d+\)$", described(cause))
    return "" if found is None else found[0]


class _Trial:
    """One training, and what is measured in it."""

    def __init__(self, session: Session, config: Config, kind: Kind) -> None:
        self.session, self.kind, self.values = session, kind, kind in VALUE_PROBES
        total = build_budget(config.budget, session.envs.n_envs).total_steps
        self.at, self.total = (0, 2**62) if total is None else (int(_WAY_INTO_THE_RUN * total), total)
        self.steps = self.updates = 0  # gradient steps and updates so far
        self.cpu_before = time.process_time()  # a busy machine must not decide
        self.right = 0.5  # share of rewarded actions, over the last few rollouts
        self.latest: deque[list[Measured]] = deque(maxlen=_MEAN_OF)
        self.mark: tuple[int, float] | None = None  # when it was last looked at, and the way left then

    def run(self, began: float) -> ProbeResult:
        settled_at: int | None = None  # the gradient step until which a right answer has to stay right
        while True:
            hp, scale = self._update()
            now = measure(self.session.learner.policy, self.kind, hp.gamma, scale, self.right)
            self.latest.append(now)
            measured = mean_of(self.latest)
            miss = max(each.misses_by for each in measured)
            if miss > 0:
                settled_at = None
            elif settled_at is None:
                settled_at = self.steps + max(SETTLE_STEPS, self.steps // 2)
            elif self.steps >= settled_at:
                return self._result("ok", measured, "", began)
            # Of a policy the share of right actions moves bit by bit, while its greedy actions jump.
            if miss > 0 and self._is_stuck(miss if self.values else measured[0].misses_by):
                return self._result("failed", measured, self._why(measured, hp, "does not move"), began)
            seconds = time.process_time() - self.cpu_before
            if settled_at is None and (self.steps >= MOST_STEPS or seconds > MOST_SECONDS):
                return self._result("failed", measured, self._why(measured, hp, "is wrong"), began)
            if self.steps >= 2 * MOST_STEPS or seconds > 2 * MOST_SECONDS:
                return self._result("failed", measured, self._why(measured, hp, "did not settle"), began)

    def _is_stuck(self, way_left: float) -> bool:
        """Whether nothing has come nearer for as long as one has patience."""
        since, before = self.mark or (0, way_left)
        if self.mark is None or self.steps - since >= (PATIENCE if self.values else POLICY_PATIENCE):
            stuck = self.mark is not None and way_left > max(FAR, before - STUCK)
            self.mark = (self.steps, way_left)
            return stuck
        return False

    def _update(self) -> tuple[Hyper, float]:
        """One update; the hyperparameters it had, and what it divided rewards by."""
        s = self.session
        hp = s.adjustments.applied(s.learner.hyperparameters(self.at, self.total))
        collected = s.source.collect(s.learner.policy, s.rng)
        share = float((collected.rollout.rewards > 0).mean())
        self.right += 0.5 * (share - self.right)
        learned = s.learner.learn(collected.rollout, hp, s.rng)
        if learned.diverged:
            raise RunFailed(f"the loss became NaN or infinite in update {self.updates + 1}")
        before = s.state.env_steps
        s.state.advance(collected)
        self.updates += 1
        self.steps += hp.n_epochs * math.ceil(collected.rollout.rewards.size / s.learner.batch_size)
        if s.hooks:
            update = make_update(hp, before, collected, learned, Timing())
            commands, _, broken = consult(s.hooks, make_report(s, update, Scored()), hp)
            if broken is not None:
                raise broken
            for command in commands:
                if isinstance(command, Adjust):
                    s.adjustments.take(command)
        return hp, float(learned.metrics.get("env/reward_scale") or 1.0)

    def _result(self, status: str, measured: Sequence[Measured], reason: str, began: float) -> ProbeResult:
        return ProbeResult(
            self.kind,
            "ok" if status == "ok" else "failed",
            ", ".join(each.expected for each in measured),
            ", ".join(each.shown for each in measured),
            reason,
            self.updates,
            time.perf_counter() - began,
        )

    def _why(self, measured: Sequence[Measured], hp: Hyper, how: str) -> str:
        return cause(self.session.config, self.kind, measured, hp, how, self.steps)
