"""Rules of health about a run as a whole: its score, evaluations, speed and trackers."""

from __future__ import annotations

import math

from gymnast.algorithms.alerts.exploration import more_entropy
from gymnast.metrics.alerts.alert import Severity
from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_RETURN, _PLAIN, _STD = "train/return/mean", "train/return_plain/mean", "train/return/std"
_EVAL, _EVAL_STD, _EPISODES = "eval/return/mean", "eval/return/std", "eval/episodes"
_FPS, _SECONDS, _DROPPED = "time/fps", "time/seconds", "time/tracker_dropped"
_SLOW_SECONDS = 20.0
_SCORES = (_RETURN, _PLAIN, _STD)


def _score(look: Look, n: int) -> float | None:
    """The mean of the last n scores, as ScoreHistory counts them."""
    plain = look.mean(_PLAIN, n)
    return look.mean(_RETURN, n) if plain is None else plain


def _range(look: Look) -> float:
    """Highest minus lowest score so far."""
    key = _PLAIN if look.peak(_PLAIN) is not None else _RETURN
    high, low = look.peak(key), look.lowest(key)
    return 0.0 if high is None or low is None else high[0] - low[0]


def _by_luck(look: Look, step: int) -> bool:
    """Whether a score of then was the mean of a few episodes, which says little."""
    episodes = look.row.get("time/episodes")
    return step * 20 < look.step if episodes is None else episodes * step / max(1, look.step) < 50


def _plateau(look: Look) -> Finding | None:
    best, progress = look.score.best, look.progress
    if best is None or not progress or not look.late or look.step <= 0:
        return None
    since = (look.step - best[0]) / look.step * progress
    if since < 0.25 or _by_luck(look, best[0]) or not look.score.flat(min(1.0, 0.25 / progress)):
        return None
    return Finding("info", f"the best score ({best[1]:.4g}) is {since:.0%} of the budget ago")


def _more_data(look: Look) -> str:
    """Smoother updates; smaller ones only where they are large, more noise only where there is little."""
    kl, entropy = look.last("train/kl"), look.last("train/entropy_fraction")
    return either(
        look.raise_("algo.n_steps", 2.0),
        look.lower("algo.lr", 0.3) if kl is not None and kl > 0.005 else "",
        more_entropy(look) if entropy is not None and entropy < 0.3 else "",
    )


def _collapse(look: Look) -> Finding | None:
    best, score = look.score.best, _score(look, 5)
    if best is None or score is None:
        return None
    gained = best[1] - look.score.first[0]  # failing in the first update loses nothing that was learned
    if not score < best[1] - 0.5 * gained or gained <= 0:
        return None
    spread = look.peak(_STD)
    if gained < (0.1 * abs(best[1]) if spread is None else spread[0]) or _by_luck(look, best[0]):
        return None  # it never learned much
    lost = (best[1] - score) / gained
    long_ago = look.step - best[0] > 0.1 * look.step
    severity: Severity = "critical" if lost >= 1 and long_ago else "warning"
    share = f"{lost:.0%} of its gain" if lost < 1 else "all it had gained"
    return Finding(severity, f"the score fell from {best[1]:.4g} to {score:.4g}: {share} is lost")


def _eval_gap(look: Look) -> Finding | None:
    evaluated = look.last(_EVAL)
    then, now = look.score.at(look.step_of(_EVAL)), _score(look, 1)
    if evaluated is None or then is None or now is None:
        return None
    # The last evaluation may be long ago; and training's mean of 100 episodes follows a fall later.
    trained = min(then, now)
    gap = trained - evaluated
    if not gap > 0.05 * abs(trained) or look.facts.settings.get("env.mix"):
        return None
    episodes = max(1.0, look.last(_EPISODES) or 10.0)
    error = math.hypot((look.last(_EVAL_STD) or 0.0) / math.sqrt(episodes), (look.last(_STD) or 0.0) / 10.0)
    if not gap > 2 * error or not gap > 0.2 * _range(look) or not look.score.flat():
        return None
    return Finding("warning", f"evaluation gives {evaluated:.4g}, below the {trained:.4g} of training")


def _slow(look: Look) -> Finding | None:
    now, first = look.last(_FPS), look.first(_FPS)
    if now is None or not first or not now < 0.4 * first:
        return None
    mean = look.mean(_FPS, 10)
    if mean is None or not mean < 0.4 * first:
        return None
    seconds = look.values(_SECONDS, WINDOW)
    short = seconds is not None and seconds[-1] - seconds[0] < _SLOW_SECONDS  # the machine did something else
    text = f"{mean:,.0f} steps per second, {mean / first:.0%} of the first updates"
    return Finding("info" if short else "warning", text)


def _dropped(look: Look) -> Finding | None:
    rows = look.last(_DROPPED)
    return Finding("info", f"{rows:,.0f} rows were dropped by a tracker") if rows else None


RULES = (
    AlertRule(
        id="score.plateau",
        group="run",
        metric=_PLAIN,
        reads=(*_SCORES, "train/kl", "train/entropy_fraction", "opt/lr", "opt/entropy_coef"),
        when="after 30 % of the budget, the score has not risen for 25 % of it, nor beaten its best",
        means="Training continues without gaining anything. It may have learned all that its settings allow: "
        "then stop, or change what limits it.",
        check=_plateau,
        advise=_more_data,
        source="our own number",
        warmup=20,
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="score.collapse",
        group="run",
        metric=_PLAIN,
        reads=(*_SCORES, "opt/lr", "opt/n_epochs"),
        when="the mean of 5 scores has lost more than half (critical: all) of its gain since the start",
        means="The policy has forgotten what it knew. Usually an update was too large: its learning rate is "
        "too high, or it has too many epochs. The best checkpoint is kept: train from there.",
        check=_collapse,
        advise=lambda look: either(
            look.lower("algo.lr", 0.3, at_most=1e-3),
            look.facts.switch("algo.target_kl", 0.02) if (look.setting("algo.n_epochs") or 0) > 1 else "",
            look.lower("algo.n_epochs", 0.5),
        ),
        source="our own numbers",
        warmup=10,
        raise_after=5,
    ),
    AlertRule(
        id="eval.gap",
        group="run",
        metric=_EVAL,
        reads=(_EVAL, _EVAL_STD, _EPISODES, *_SCORES),
        when="the score does not rise, and evaluation is more than two standard errors and 20 % of the "
        "score's range below what training scored then and scores now; not of a mix",
        means="The most likely action is worse than a sampled one, as where an agent gets stuck without "
        "noise; or evaluation lacks a wrapper, or its episodes differ. Evaluation above training is normal.",
        check=_eval_gap,
        advise=lambda look: either(
            look.facts.switch("eval.stochastic", True),
            look.facts.suggest("eval.episodes", 100) if (look.last(_EPISODES) or 0.0) < 50 else "",
        ),
        source="our own numbers",
        warmup=20,
    ),
    AlertRule(
        id="fps.drop",
        group="run",
        metric=_FPS,
        reads=(_FPS, _SECONDS),
        when="ten updates are on average less than 40 % as fast as the first five (info where 20 updates "
        "take less than 20 seconds)",
        means="Something slows the run down more and more. Most often it is statistics, logging or videos; "
        "or another program uses the machine, or episodes became slower to step.",
        check=_slow,
        advise=lambda look: either(
            "look at time/collect_seconds and time/update_seconds: which one grew",
            look.facts.switch("video.record", "never"),
            look.facts.switch("observe.network", False),
        ),
        source="Jones, Debugging RL: it always turned out to be statistics and logging",
        warmup=20,
        raise_after=1,
        by_clock=True,
    ),
    AlertRule(
        id="tracker.dropped",
        group="run",
        metric=_DROPPED,
        reads=(_DROPPED,),
        when="rows were dropped because a tracker did not take them in time",
        means="The tracker's curves have holes; metrics.csv is complete. The network or the server is slow: "
        "training does not wait for them.",
        check=_dropped,
        advise=lambda look: "metrics.csv has every row; --track wandb=offline needs no server",
        source="our own",
        warmup=0,
        by_clock=True,
    ),
)
