"""What a page or a window shows beside the picture: plain data of the moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.play.controls import KEEP_ALIVE_SECONDS
from gymnast.play.game import Game
from gymnast.play.keyboard import CONTROLS, KEYS
from gymnast.play.keymap import shown_bindings
from gymnast.play.loop import GameLoop

_MOST_CHOICES = 64
_MOST_EPISODES = 50


def about_game(game: Game) -> dict[str, Any]:
    """What stays the same during a sitting."""
    checkpoint = game.checkpoint
    return {
        "env": game.env.id,
        "task": game.env.task,
        "run": None if checkpoint is None else checkpoint.run.id,
        "checkpoint": None if checkpoint is None else checkpoint.env_steps,
        "stochastic": game.stochastic,
        "training": game.training,
        "drivers": list(game.drivers),
        "turn_based": game.turn_based,
        "versus": game.steered,
        "fps": game.env.fps,
        "choices": list(game.env.actions.choices[:_MOST_CHOICES]),
        "factors": list(game.env.actions.factors),
        "numbers": list(game.env.actions.numbers),
        "ranges": [game.keymap.range_of(name) for name in game.env.actions.numbers],
        "parts": ["env", *game.env.envs.reward_parts] if game.env.envs.reward_parts else [],
        "bindings": shown_bindings(game.keymap),
        "neutral": game.keymap.has_neutral,
        "combines": game.keymap.combines,
        "controls": {
            name: {"code": KEYS[key].code, "key": KEYS[key].shown, "does": does}
            for name, (key, does) in CONTROLS.items()
            if name != "take_over" or len(game.drivers) > 1
        },
        "keep_alive_ms": round(1000 * KEEP_ALIVE_SECONDS),
        "note": game.note,
    }


def moment_of(loop: GameLoop) -> dict[str, Any]:
    """What is to be seen now."""
    session = loop.session
    step, game = session.moment, session.game
    outcome, decision = step.outcome, step.decision
    known = decision is not None and game.player is not None
    reward = None if outcome is None else outcome.reward
    parts: dict[str, float] = {}
    if outcome is not None and outcome.parts:
        parts = {"env": outcome.reward - sum(outcome.parts.values()), **outcome.parts}
    return {
        "episode": len(session.episodes) + (0 if session.over else 1),
        "step": step.step,
        "seed": game.env.seed,
        "driver": session.driver,
        "paused": loop.paused,
        "waiting": loop.waiting,
        "notice": loop.notice,
        "ended": loop.ended,
        "over": session.current.ended if session.over else None,
        "speed": loop.speed,
        "action": None if outcome is None else outcome.label,
        "reward": reward,
        "parts": parts,
        "part_sums": dict(session.current.parts) if parts or len(session.current.parts) > 1 else {},
        "return": step.total,
        "value": step.value,
        "probabilities": _numbers(decision.probabilities[:_MOST_CHOICES]) if known and decision else [],
        "mean": _numbers(decision.mean) if known and decision else [],
        "std": _numbers(decision.std) if known and decision else [],
        "would": [float(v) for v in decision.action] if known and decision else None,
        "mask": [] if step.mask is None else step.mask[:_MOST_CHOICES].astype(int).tolist(),
        "episodes": [
            {"return": e.total, "length": e.length, "ended": e.ended, "drivers": e.drivers}
            for e in session.episodes[-_MOST_EPISODES:]
        ],
        "played": len(session.episodes),
    }


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]
