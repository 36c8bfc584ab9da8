"""A sweep as a file that `wandb sweep` takes, and that `gymnast sweep` reads again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gymnast.config.load import load_config
from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.sweeps.distributions import Beta, Dimension, Normal, Quantised
from gymnast.sweeps.objective import OBJECTIVES
from gymnast.sweeps.plan import Plan
from gymnast.sweeps.planning import steps_per_iteration

_POINTS = 12  # of a range for which W&B has no distribution


def wandb_file(plan: Plan) -> str:
    """YAML (JSON values are YAML). What only we understand is left out."""
    objective = plan.objective
    metric: dict[str, Any] = {"name": "eval/return/mean", "goal": "maximize"}
    if objective.name not in OBJECTIVES:
        target = {} if objective.target is None else {"target": objective.target}
        metric = {"name": objective.name, "goal": objective.goal, **target}
    settings = [f"{key}={json.dumps(value)}" for key, value in plan.overrides.items()]
    command = ["gymnast", "train", plan.reference, *settings, "--track", "wandb", "${args_no_hyphens}"]
    lines = ["# For `wandb sweep`; `gymnast sweep` reads it too."]
    if objective.name in OBJECTIVES:
        lines.append(f"# W&B cannot compute {objective.name}, so it compares the last evaluation.")
    lines += [
        "program: gymnast",
        f"command: {json.dumps(command)}",
        f"method: {plan.method}",
        f"metric: {json.dumps(metric)}",
        f"run_cap: {plan.trials}",
    ]
    if plan.rungs:
        lines.append(f"early_terminate: {json.dumps(_hyperband(plan))}")
    if plan.name:
        lines.append(f"name: {json.dumps(plan.name)}")
    if plan.description:
        lines.append(f"description: {json.dumps(plan.description)}")
    lines.append("parameters:")
    lines += [f"  {key}: {json.dumps(_spec(dimension))}" for key, dimension in plan.space.dimensions.items()]
    return "\n".join(lines) + "\n"


def _hyperband(plan: Plan) -> dict[str, Any]:
    """The rungs, which W&B counts in logged values."""
    dirs = [Path(folder) for folder in plan.config_dirs]
    config = load_config(plan.reference, plan.overrides, config_dirs=dirs).config
    least = max(1, round(plan.rungs[0] / steps_per_iteration(config, plan.objective)))
    return {"type": "hyperband", "min_iter": least, "eta": plan.eta, "s": len(plan.rungs)}


def _spec(dimension: Dimension) -> dict[str, Any]:
    match dimension:
        case Range(low, high, whole):
            return {"distribution": "int_uniform" if whole else "uniform", "min": low, "max": high}
        case LogRange(low, high, whole):
            kind = "q_log_uniform_values" if whole else "log_uniform_values"
            return {"distribution": kind, "min": low, "max": high} | ({"q": 1} if whole else {})
        case OneMinusLog():
            values = [dimension.value(place / (_POINTS - 1)) for place in range(_POINTS)]
            return {"values": [float(f"{value:.6g}") for value in values]}
        case Pow2():
            return {"values": list(dimension.values)}
        case Choice(values, weights):
            return {"values": list(values)} | ({"probabilities": list(weights)} if weights else {})
        case Quantised(inner, step):
            kind = "q_log_uniform_values" if isinstance(inner, LogRange) else "q_uniform"
            return {"distribution": kind, "min": inner.low, "max": inner.high, "q": step}
        case Normal(mu, sigma, log, step):
            kind = f"{'q_' if step else ''}{'log_' if log else ''}normal"
            return {"distribution": kind, "mu": mu, "sigma": sigma} | ({"q": step} if step else {})
        case Beta(a, b, step):
            return {"distribution": "q_beta" if step else "beta", "a": a, "b": b} | (
                {"q": step} if step else {}
            )
    raise AssertionError(dimension)
