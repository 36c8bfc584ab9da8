"""One sitting at a game: who drives, what is shown now, and what the episodes came to.

A session knows nothing of clocks, keys or screens. Whoever has it looks at `moment` and calls `act`, with
the action of a person or without one. It plays through `iter_steps`, so the policy sees every observation
in its turn, whoever acts: its memory and its stack of frames are right when it is handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np

from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.play.episode import PlayedEpisode
from gymnast.play.game import Driver, Game
from gymnast.play.keymap import as_step
from gymnast.play.makers import chosen_alone, given_by_hand
from gymnast.traces.recorder import iter_steps
from gymnast.traces.step import TraceStep

ENDLESS = 2**62


class Session:
    """Episodes one after another until somebody stops."""

    def __init__(
        self,
        game: Game,
        driver: Driver,
        *,
        keep: Callable[[TraceStep], None] | None = None,
        on_episode: Callable[[PlayedEpisode], None] | None = None,
    ) -> None:
        """`keep` gets every step once it is known what was done there."""
        if driver not in game.drivers:
            raise GymnastError(f"there is no policy for {game.env.id}: name a run, or use random or human")
        self.game, self.driver = game, driver
        self.first_seed = game.env.seed
        self.episodes: list[PlayedEpisode] = []  # those that are over
        self.current = PlayedEpisode()
        self._keep, self._on_episode = keep, on_episode
        self._kept = 0  # episodes that `keep` got; numbers in a trace run on over restarts
        self._steps: Generator[TraceStep, np.ndarray | None, None] | None = None
        self._moment: TraceStep
        self._begin()

    @property
    def moment(self) -> TraceStep:
        """What is seen now."""
        return self._moment

    @property
    def over(self) -> bool:
        """Whether the episode has ended, and `next_episode` is to be called."""
        return self._moment.decision is None

    def act(self, action: np.ndarray | None = None) -> TraceStep:
        """Take one step: with the flat action [K] of a person, or as the driver decides."""
        if self.over:
            raise RuntimeError("the episode is over")
        seen, driver, env = self._moment, self.driver, self.game.env
        decision = seen.decision
        assert decision is not None
        if driver == "human" and action is None:
            raise RuntimeError("a person drives, and no action is given")
        sent: np.ndarray | None = None
        if action is not None:
            sent = as_step(action, env.actions, 0 if env.choices is None else env.choices.start)
            if self.game.player is None:
                decision = chosen_alone(decision, action)
            else:
                decision = given_by_hand(decision, action, env.actions.form.sizes)
        elif driver == "random" and self.game.player is not None:
            sent, drawn, _ = self._chance.choose(np.zeros(0), env.envs.masks)
            decision = given_by_hand(decision, drawn.action, env.actions.form.sizes)
        self._moment = self._advanced(sent)
        self._hand_on(replace(seen, decision=decision), driver)
        self._count(driver)
        return self._moment

    def _advanced(self, sent: np.ndarray | None) -> TraceStep:
        assert self._steps is not None
        try:
            return self._steps.send(sent)
        except EnvFailure as failure:
            raise RunFailed(f"{self.game.env.id}: {failure}") from failure

    def _count(self, driver: Driver) -> None:
        outcome, now = self._moment.outcome, self.current
        assert outcome is not None
        now.total, now.length = self._moment.total, self._moment.step
        own = outcome.reward - sum(outcome.parts.values())
        for name, share in (outcome.parts | {"env": own}).items():
            now.parts[name] = now.parts.get(name, 0.0) + share
        now.drivers[driver] = now.drivers.get(driver, 0) + 1
        if outcome.done:
            self._hand_on(self._moment, driver)
            self._finish("terminated" if outcome.terminated else "truncated")

    def _finish(self, how: str) -> None:
        self.current.ended = how
        self.episodes.append(self.current)
        self._kept += 1
        if self._on_episode is not None:
            self._on_episode(self.current)

    def _hand_on(self, step: TraceStep, driver: Driver) -> None:
        if self._keep is None:
            return
        info = {**step.info, "driver": driver}
        if step.step == 0:
            info["seed"] = self.game.env.seed
        self._keep(replace(step, episode=self._kept, info=info))

    def next_episode(self) -> TraceStep:
        """The first observation of the next episode, after one has ended."""
        if not self.over:
            raise RuntimeError("the episode is not over: restart it instead")
        self._moment, self.current = self._advanced(None), PlayedEpisode()
        return self._moment

    def restart(self, seed: int | None = None) -> TraceStep:
        """Leave the episode and begin with the first one of a seed, by default the same."""
        self._leave()
        self.game.reseed(self.game.env.seed if seed is None else seed)
        self._begin()
        return self._moment

    def set_driver(self, driver: Driver) -> None:
        """From the next step on."""
        if driver not in self.game.drivers:
            reason = "you play against it" if self.game.rival else "there is no policy: a run has one"
            raise GymnastError(f"{driver} cannot drive here: {reason}")
        self.driver = driver

    def _begin(self) -> None:
        self._steps = iter_steps(self.game.env, self.game.maker(), episodes=ENDLESS, max_steps=ENDLESS)
        self._chance = self.game.chance()
        self._moment, self.current = self._advanced(None), PlayedEpisode()

    def _leave(self) -> None:
        """An episode that is left in the middle is recorded as cut."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        if not self.over and self.current.length:
            self._hand_on(replace(self._moment, decision=None, mask=None), self.driver)
            self._finish("cut")

    def close(self) -> None:
        """End the sitting. The game stays open."""
        self._leave()
