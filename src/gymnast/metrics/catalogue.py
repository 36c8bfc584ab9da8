"""Every metric there is, declared once. Nothing is recorded, shown or charted that is not here.

A key is `stage/group/name`; a part `*` stands for any name (shares of the reward, values of episodes, tasks).
`docs/metrics.md` is generated from this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gymnast.errors import GymnastError, did_you_mean


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric: what it means, how it is shown, and what values it can have at all."""

    key: str
    help: str
    unit: str = ""
    precision: int = 3  # digits after the point when shown
    low: float | None = None  # a value below is impossible
    high: float | None = None  # a value above is impossible
    better: Literal["higher", "lower"] | None = None


class UnknownMetric(GymnastError, KeyError):
    """A key that the catalogue does not declare."""

    __str__ = GymnastError.__str__  # KeyError would print the message in quotes


_M = MetricSpec
_DECLARED = (
    # Counters: in every row, so that runs with different settings can be laid side by side.
    _M("time/env_steps", "Steps of single envs taken in training.", "steps", 0, low=0),
    _M("time/vec_steps", "Steps of all envs together: env steps / n_envs.", "steps", 0, low=0),
    _M("time/updates", "Rollouts collected and learnt from.", "updates", 0, low=0),
    _M("time/epochs", "Passes over rollouts, all updates together.", "epochs", 0, low=0),
    _M("time/episodes", "Training episodes finished.", "episodes", 0, low=0),
    _M("time/seconds", "Seconds of training, resumed parts added up.", "s", 1, low=0),
    _M("time/progress", "Share of the budget that is spent.", "", 3, low=0, high=1),
    # Speed.
    _M("time/fps", "Env steps a second, since the last row.", "steps/s", 0, low=0, better="higher"),
    _M("time/collect_seconds", "Seconds this update spent stepping envs.", "s", 4, low=0, better="lower"),
    _M("time/update_seconds", "Seconds this update spent learning.", "s", 4, low=0, better="lower"),
    _M("time/eval_seconds", "Seconds of the evaluation.", "s", 3, low=0, better="lower"),
    # Training episodes.
    _M(
        "train/return/mean", "Mean return of the last 100 episodes, shaping included.", "", 2, better="higher"
    ),
    _M("train/return/std", "Standard deviation of these returns.", "", 2, low=0),
    _M("train/return/min", "Lowest of these returns.", "", 2, better="higher"),
    _M("train/return/max", "Highest of these returns.", "", 2, better="higher"),
    _M("train/return_plain/mean", "Their mean without what wrappers added.", "", 2, better="higher"),
    _M("train/length/mean", "Mean steps of the last 100 episodes.", "steps", 1, low=0),
    # The objective, averaged over the update's minibatches.
    _M("train/loss/policy", "Policy loss.", "", 4),
    _M("train/loss/value", "Value loss, before its coefficient.", "", 4, low=0, better="lower"),
    _M("train/loss/entropy", "Entropy loss, before its coefficient: minus the entropy.", "", 4),
    _M("train/loss/total", "The sum that is minimised, coefficients applied.", "", 4),
    _M("train/entropy", "Entropy of the policy; falls as it makes up its mind.", "nats", 3),
    _M("train/kl", "Estimated KL divergence from the policy that collected.", "nats", 5, better="lower"),
    _M("train/clip_fraction", "Share of samples whose ratio left the clip range.", "", 3, low=0, high=1),
    _M("train/ratio/max", "Largest probability ratio of new to old policy.", "", 3, low=0),
    _M(
        "train/explained_variance",
        "Share of the returns' variance that values explain.",
        "",
        3,
        high=1,
        better="higher",
    ),
    _M("train/value/mean", "Mean value estimate of the rollout.", "", 3),
    _M("train/popart/mean", "Running mean of the value targets that PopArt takes off.", "", 3),
    _M("train/popart/std", "Running std of the value targets that PopArt divides by.", "", 3, low=0),
    _M("train/advantage/mean", "Mean advantage, before normalisation.", "", 4),
    _M("train/advantage/std", "Standard deviation of the advantage, before normalisation.", "", 4, low=0),
    _M(
        "train/used_samples",
        "Share of the rollout's samples that were learnt from; 0: no episode ended, no step was taken.",
        "",
        3,
        low=0,
        high=1,
    ),
    _M("train/epochs_done", "Passes over this rollout, KL stops counted.", "epochs", 0, low=0),
    _M("train/kl_stops", "Updates so far that KL cut short.", "updates", 0, low=0, better="lower"),
    _M("train/action_std", "Mean standard deviation of a continuous policy's actions.", "", 4, low=0),
    # The optimiser, and every scheduled setting as it stood in this update.
    _M("opt/grad_norm", "Mean norm of the gradient, before it is cut.", "", 4, low=0),
    _M("opt/lr", "Learning rate.", "", 6, low=0),
    _M("opt/resets", "Times so far that a jump of the learning rate reset the optimiser.", "", 0, low=0),
    _M("opt/interventions", "Interventions so far, by all rules.", "", 0, low=0),
    _M("opt/reverts", "Interventions so far that were taken back.", "", 0, low=0),
    _M("opt/critic_lr", "Learning rate of the critic's own weights.", "", 6, low=0),
    _M("opt/clip_range", "How far a ratio may move from 1.", "", 4, low=0),
    _M("opt/value_clip_range", "How far a value may move from the old one.", "", 4, low=0),
    _M("opt/entropy_coef", "Weight of the entropy bonus.", "", 5, low=0),
    _M("opt/value_coef", "Weight of the value loss.", "", 4, low=0),
    _M("opt/gamma", "Discount.", "", 5, low=0, high=1),
    _M("opt/gae_lambda", "Trace of the advantage estimate.", "", 4, low=0, high=1),
    _M("opt/max_grad_norm", "Gradients are scaled down to this norm; 0: never.", "", 3, low=0),
    _M("opt/target_kl", "KL that ends an update early, before the factor 1.5.", "nats", 4, low=0),
    _M("opt/n_epochs", "Passes over a rollout asked for.", "epochs", 0, low=1),
    # What the envs hand out.
    _M("env/reward/mean", "Mean reward of the rollout, as the agent was rewarded.", "", 4),
    _M("env/reward/std", "Standard deviation of these rewards.", "", 4, low=0),
    _M("env/reward/min", "Lowest of these rewards.", "", 4),
    _M("env/reward/max", "Highest of these rewards.", "", 4),
    _M("env/obs/mean", "Mean of all components of the rollout's observations.", "", 4),
    _M("env/obs/std", "Standard deviation of all components of the rollout's observations.", "", 4, low=0),
    _M(
        "env/restarts",
        "Env processes that died or hung and were started anew, since the run was started or resumed.",
        "",
        0,
        low=0,
        better="lower",
    ),
    _M(
        "env/reward_scale",
        "What reward normalisation divides by; of a mix, the mean over tasks.",
        "",
        4,
        low=0,
    ),
    _M(
        "env/reward_part/*",
        "Mean share of the reward that goes by this name: a wrapper's, or the env's own.",
        "",
        4,
    ),
    _M("env/episode/*", "What the env tells of a finished episode, mean of the last 100 episodes.", "", 3),
    # Each task of a mix (`env.mix`), by its name.
    _M(
        "task/*/return/mean",
        "Mean return of its last 100 episodes, shaping included.",
        "",
        2,
        better="higher",
    ),
    _M("task/*/return_plain/mean", "Their mean without what wrappers added.", "", 2, better="higher"),
    _M("task/*/length/mean", "Mean steps of its last 100 episodes.", "steps", 1, low=0),
    _M("task/*/episodes", "Its training episodes finished.", "episodes", 0, low=0),
    _M("task/*/share", "Its share of the env copies, and so of the steps.", "", 3, low=0, high=1),
    _M("task/*/reward_scale", "What reward normalisation divides its rewards by.", "", 4, low=0),
    _M("task/*/episode/*", "What its env tells of a finished episode, mean of its last 100.", "", 3),
    # Evaluation: only in the rows of updates that were followed by one.
    _M("eval/return/mean", "Mean return of the evaluation: the score.", "", 2, better="higher"),
    _M("eval/return/std", "Standard deviation of its returns.", "", 2, low=0),
    _M("eval/return/min", "Lowest of its returns.", "", 2, better="higher"),
    _M("eval/return/max", "Highest of its returns.", "", 2, better="higher"),
    _M("eval/length/mean", "Mean steps of its episodes.", "steps", 1, low=0),
    _M("eval/episodes", "Its episodes.", "episodes", 0, low=1),
    _M("eval/episode/*", "What the env tells of a finished episode, mean of its episodes.", "", 3),
    _M("eval/task/*/return/mean", "Mean return of the task of this name.", "", 2, better="higher"),
    _M("eval/task/*/length/mean", "Mean steps of its episodes.", "steps", 1, low=0),
    _M("eval/task/*/episode/*", "What its env tells of a finished episode, mean of its episodes.", "", 3),
    _M("eval/env_steps", "The env step at which its weights were taken.", "steps", 0, low=0),
    _M(
        "eval/best",
        "Best score so far; in a mix, of those that solved every task if there is one.",
        "",
        2,
        better="higher",
    ),
    _M("eval/solved", "1 if the score reached the threshold.", "", 0, low=0, high=1, better="higher"),
)

CATALOGUE: dict[str, MetricSpec] = {metric.key: metric for metric in _DECLARED}
COUNTERS: tuple[str, ...] = tuple(metric.key for metric in _DECLARED[:7])
_POSITION = {key: position for position, key in enumerate(CATALOGUE)}
_PATTERNS = {key: key.split("/") for key in CATALOGUE if "*" in key}
_STAGES = {
    "time": "Counters and speed. The first seven are in every row of `metrics.csv`.",
    "train": "Training episodes and the update that followed.",
    "opt": "The optimiser, and each scheduled setting as it stood in that update.",
    "env": "What the environments handed out in that rollout.",
    "task": "Training episodes of each task of a mix, by its name.",
    "eval": "Evaluation; only in rows of updates that were followed by one.",
}


def spec(key: str) -> MetricSpec:
    """What is declared for `key`, by itself or through a pattern."""
    return CATALOGUE[_declared_as(key)]


def order(key: str) -> tuple[int, str]:
    """Sorts keys as the catalogue lists them, those of one pattern by name."""
    return _POSITION[_declared_as(key)], key


def _declared_as(key: str) -> str:
    if key in CATALOGUE and "*" not in key:
        return key
    parts = key.split("/")
    for pattern, wanted in _PATTERNS.items():
        if len(wanted) == len(parts) and all(map(_fits, parts, wanted)):
            return pattern
    raise UnknownMetric(f"no metric {key!r} in the catalogue{did_you_mean(key, CATALOGUE)}")


def _fits(part: str, wanted: str) -> bool:
    # A comma, a quote or a line break in a name would break the rows of metrics.csv.
    return part == wanted if wanted != "*" else part != "" and not set(part) & set(',"*\r\n')


def matching(text: str) -> list[MetricSpec]:
    """The metrics that mention `text` in key or help, whatever the case."""
    wanted = text.lower()
    return [metric for metric in _DECLARED if wanted in metric.key or wanted in metric.help.lower()]


def bounds(metric: MetricSpec) -> str:
    """Its possible values as text: '0 … 1', '≥ 0', or nothing."""
    if metric.low is not None and metric.high is not None:
        return f"{metric.low:g} … {metric.high:g}"
    if metric.low is not None:
        return f"≥ {metric.low:g}"
    return f"≤ {metric.high:g}" if metric.high is not None else ""


def markdown() -> str:
    """The text of docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "Generated from `src/gymnast/metrics/catalogue.py` by `gymnast metrics --markdown`; edit there.",
        "Nothing is recorded that is not declared here. Each run keeps its rows in `metrics.csv`,",
        "one an update; a metric that an update does not have is an empty cell.",
    ]
    for stage, about in _STAGES.items():
        lines += [
            "",
            f"## {stage}",
            "",
            about,
            "",
            "| key | meaning | unit | values | better |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{metric.key}` | {metric.help} | {metric.unit} | {bounds(metric)} | {metric.better or ''} |"
            for metric in _DECLARED
            if metric.key.startswith(f"{stage}/")
        ]
    return "\n".join(lines) + "\n"
