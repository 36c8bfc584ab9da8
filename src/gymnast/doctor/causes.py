"""Why a probe fails, in words: the setting that explains it, else the part that the probe is about."""

from __future__ import annotations

from collections.abc import Sequence

from gymnast.algorithms.algorithm import Hyper
from gymnast.config.schema import Config
from gymnast.doctor.measured import Measured
from gymnast.envs.families.probe import Kind


def cause(config: Config, kind: Kind, measured: Sequence[Measured], hp: Hyper, how: str, steps: int) -> str:
    """What is broken, from a probe that was trained and failed: `how` is what its numbers did."""
    worst = max(measured, key=lambda each: each.misses_by)
    what = f"the {worst.name} {how} in {steps:,} gradient steps"
    return f"{what}: {_setting(config, kind, hp) or _part(config, kind)}"


def _setting(config: Config, kind: Kind, hp: Hyper) -> str | None:
    values = kind in ("constant", "observation", "discount")
    algo = config.algo
    if hp.lr == 0 and not (values and hp.critic_lr):
        return "algo.lr is 0, so nothing is learned"
    if values and hp.critic_lr == 0:
        return "algo.critic_lr is 0, so the critic learns nothing"
    if values and hp.value_coef == 0:
        return "algo.value_coef is 0, so values are not learned"
    if hp.lr < 1e-5:
        return f"algo.lr is {hp.lr:g}, which is tiny; try 3e-4"
    if hp.lr > 0.02:
        return f"algo.lr is {hp.lr:g}, which is large; try 3e-4"
    if values and algo.normalize_reward and algo.clip_reward is not None and algo.clip_reward < 2:
        return f"algo.clip_reward={algo.clip_reward:g} cuts rewards of one std off; try 10"
    if not values and hp.entropy_coef >= 0.1:
        return f"algo.entropy_coef is {hp.entropy_coef:g}, which keeps the policy random; try 0.01"
    return None


def _part(config: Config, kind: Kind) -> str:
    encoder = config.policy.encoder
    network = f"policy.encoder {encoder}" if ":" in encoder else "the encoder or observation normalisation"
    if kind == "constant":
        return "the value head, its loss or the optimiser is broken"
    if kind == "observation":
        return f"values do not depend on the observation; {network} loses it"
    if kind == "discount":
        return "returns are not discounted by algo.gamma or not bootstrapped, or observations look alike"
    if kind == "action":
        return "actions that pay are not made more likely; the policy's loss, advantages or their sign"
    return f"actions do not depend on the observation; {network} or the actor loses it"
