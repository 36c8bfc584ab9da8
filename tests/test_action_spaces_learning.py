"""Every action space is learned in seconds, with and without masks.

Bugs put in on purpose, one at a time, and what detects them (`test_bug_is_detected` does it again):
- derivative of the log-probability with the wrong sign: multi-discrete, multi-binary, dict;
- only the first factor gets a gradient: multi-discrete;
- Box parts get no gradient: dict;
- the env gets the parts of an action in another order: dict;
- the start of a space is left out: discrete, multi-discrete (the env raises);
- masks are ignored when acting, or in greedy evaluation alone: masked tasks (the env raises);
- masks of the step before are obeyed: masked tasks (the env raises);
- masks are left out of the update, or of the rollout's log-probabilities: the first ratio is not 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import action_envs
from gymnast import api
from gymnast.algorithms.table import ALGORITHMS
from gymnast.envs.backends import in_process
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies import factored, policy
from gymnast.spaces import action_form
from gymnast.training import update

TO_ZERO = {
    "kind": "linear",
    "start": 1e-2,
    "end": 0,
}  # more exact than a constant rate
SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"algo.n_steps": 32, "algo.batch_size": 64, "algo.n_epochs": 6, "algo.lr": TO_ZERO},
    "a2c": {"algo.n_steps": 8, "algo.lr": 1e-2},
    "reinforce": {"algo.n_steps": 20, "algo.lr": 1e-2},
}
STEPS = {"ppo": 5_000, "a2c": 8_000, "reinforce": 16_000}


def train(
    runs_dir: Path, space: str, algo: str = "ppo", *, masked: bool = False, steps: int = 0, **changes: Any
) -> api.Run:
    overrides = {
        "algo.name": algo,
        "env.n_envs": 8,
        "env.backend": "sync",
        "env.kwargs": {"space": space, "masked": masked},
        "env.action_masks": masked,
        "policy.hidden": [32],
        "policy.log_std_init": -1.0,
        "algo.entropy_coef": 0.0,
        "algo.gamma": 0.0,  # every step is independent
        "algo.normalize_reward": False,
        "eval.every": 0,
        **SETTINGS[algo],
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return api.train(
        "action_envs:RightAction",
        overrides=overrides,
        max_env_steps=steps or STEPS[algo],
        runs_dir=runs_dir,
    )


def score(run: api.Run, space: str, *, masked: bool = False, stochastic: bool = False) -> float:
    """The greedy return, as a fraction of the best possible."""
    found = api.evaluate(
        f"{run.id}/@last", episodes=50, stochastic=stochastic, runs_dir=run.path.parent
    ).mean_return
    return found / action_envs.RightAction(space, masked).best_return


# Random play scores from 0.25 (discrete) to 0.55 (Box parts), untrained Boxes about 0.6.
WANTED = 0.97


@pytest.mark.parametrize(
    ("space", "changes"),
    [
        *((space, {}) for space in action_envs.SPACES),
        ("box-matrix", {"policy__gaussian": "squashed"}),
        ("dict", {"policy__gaussian": "squashed", "policy__state_dependent_std": True}),
        ("dict", {"engine": "torch"}),
        ("multi-binary", {"engine": "torch"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_ppo_learns_every_action_space(space: str, changes: dict[str, Any], tmp_path: Path) -> None:
    assert score(train(tmp_path, space, **changes), space) > WANTED


@pytest.mark.parametrize(
    "space",
    [
        space if space in ("multi-discrete", "dict") else pytest.param(space, marks=pytest.mark.slow)
        for space in action_envs.SPACES
    ],
)
@pytest.mark.parametrize("algo", [name for name in ALGORITHMS if name != "ppo"])
def test_every_algorithm_learns_every_action_space(algo: str, space: str, tmp_path: Path) -> None:
    assert score(train(tmp_path, space, algo), space) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "changes"),
    [
        ("discrete", {}),
        ("discrete", {"engine": "torch"}),
        ("multi-discrete", {}),
        ("multi-binary", {}),
        ("tuple", {}),
        ("dict", {}),
        ("dict", {"engine": "torch"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_ppo_learns_the_best_allowed_action(space: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """The best choice is forbidden and so, at times, is the second best; a forbidden action raises."""
    run = train(tmp_path, space, masked=True, **changes)
    assert score(run, space, masked=True) > 0.93  # masks are random: worth a few percent
    assert score(run, space, masked=True, stochastic=True) > 0.8


@pytest.mark.parametrize("algo", [name for name in ALGORITHMS if name != "ppo"])
def test_every_algorithm_obeys_masks(algo: str, tmp_path: Path) -> None:
    assert score(train(tmp_path, "discrete", algo, masked=True), "discrete", masked=True) > 0.9


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("space", ["discrete", "dict"])
def test_first_ratio_under_masks_is_1(space: str, engine: str, tmp_path: Path) -> None:
    changes = {"algo__batch_size": "all", "algo__n_epochs": 1, "engine": engine}
    rows = train(tmp_path, space, masked=True, steps=1_500, **changes).metrics()
    assert max(row["train/ratio/max"] for row in rows) == pytest.approx(1.0, abs=1e-3)
    assert max(abs(row["train/kl"]) for row in rows) < 1e-5
    if space == "discrete":  # at most four of five choices are left
        assert max(row["train/entropy"] for row in rows) <= np.log(4) + 1e-5


def test_policy_with_a_memory_obeys_masks(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    changes = {"policy__memory": "gru", "policy__memory_size": 16, "algo__n_epochs": 4}
    run = train(tmp_path, "multi-discrete", masked=True, **changes)
    assert score(run, "multi-discrete", masked=True) > 0.93


@pytest.mark.parametrize(("gain", "warned"), [(0.01, False), (40.0, True)])
@pytest.mark.parametrize("masked", [False, True])
def test_first_policy_that_is_not_near_uniform_is_warned_of(
    gain: float, warned: bool, masked: bool, tmp_path: Path
) -> None:
    run = train(tmp_path, "dict", masked=masked, steps=256, policy__actor_gain=gain)
    assert ("not near uniform" in run.folder.log_path.read_text()) is warned


def test_best_allowed_combination_of_buttons_is_learned(tmp_path: Path) -> None:
    """Left and right together would earn most; of what is allowed, left and jump earn most."""
    wrapper = {"name": "forbidden-combinations", "combinations": [["left", "right"]]}
    changes = {"env.wrappers": [wrapper], "env.action_masks": True, "env.backend": "sync", "algo.lr": 1e-2}
    run = api.train("action_envs:Buttons", overrides=changes, max_env_steps=8_192, runs_dir=tmp_path)
    assert api.evaluate(f"{run.id}/@last", episodes=4, runs_dir=tmp_path).mean_return == pytest.approx(6.0)


def test_loaded_policy_gives_the_envs_own_actions(tmp_path: Path) -> None:
    run = train(tmp_path, "dict", masked=True, steps=4_000)
    agent = api.load_policy(f"{run.id}/@last", runs_dir=tmp_path)
    env = action_envs.RightAction("dict", masked=True)
    contexts, masks = [], []
    for seed in range(6):
        obs, info = env.reset(seed=seed)
        contexts.append(obs)
        masks.append(info["action_mask"])
    for rng in (None, np.random.default_rng(0)):
        actions = agent.predict(np.array(contexts), masks=masks, rng=rng)
        assert actions["aim"].shape == (6, 2)
        assert actions["aim"].dtype == np.float64
        for index in range(6):
            do, pair = actions["do"][0][index], actions["do"][1][index]
            choice, gears = masks[index]["do"]
            assert choice[do]
            assert gears[0][pair[0]]
            assert gears[1][pair[1]]
    with pytest.raises(GymnastError, match="mask of observation 1 forbids every action"):
        flat = np.ones((6, 10))
        flat[1, :4] = 0
        agent.predict(np.array(contexts), masks=flat)
    with pytest.raises(GymnastError, match="1 action masks are given for 6 observations"):
        agent.predict(np.array(contexts), masks=masks[:1])


def _flip_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    backward = factored.Factored.backward

    def wrong(self: Any, xp: Any, evaluated: Any, d_log_prob: Any, d_entropy: Any) -> Any:
        return backward(self, xp, evaluated, -d_log_prob, d_entropy)

    monkeypatch.setattr(factored.Factored, "backward", wrong)


def _gradient_of(rows: Callable[[Any], slice]) -> Callable[[pytest.MonkeyPatch], None]:
    def mutate(monkeypatch: pytest.MonkeyPatch) -> None:
        backward = factored.Factored.backward

        def wrong(self: Any, *args: Any) -> Any:
            d_outputs, d_log_std = backward(self, *args)
            kept = np.zeros_like(d_outputs)
            kept[rows(self.form)] = d_outputs[rows(self.form)]
            return kept, d_log_std

        monkeypatch.setattr(factored.Factored, "backward", wrong)

    return mutate


_first_factor_alone = _gradient_of(lambda form: form.choices[0].rows)
_no_gradient_of_real_numbers = _gradient_of(lambda form: slice(0, form.n_logits))


def _columns_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    each = action_form.ActionForm.each
    monkeypatch.setattr(
        action_form.ActionForm, "each", lambda self, actions: each(self, np.roll(actions, 1, axis=1))
    )


def _masks_ignored_when_acting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "masked", lambda xp, outputs, masks: outputs)


def _masks_ignored_when_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = policy.Policy.greedy
    monkeypatch.setattr(
        policy.Policy, "greedy", lambda self, obs, masks, *rest: greedy(self, obs, None, *rest)
    )


def _start_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "first_value", lambda space: 0)
    values = action_form.Leaf.values

    def wrong(self: Any, actions: np.ndarray) -> np.ndarray:
        return values(self, actions) - self.space.start

    monkeypatch.setattr(action_form.Leaf, "values", wrong)


def _masks_of(shift: int) -> Callable[[pytest.MonkeyPatch], None]:
    def mutate(monkeypatch: pytest.MonkeyPatch) -> None:
        act = policy.Policy.act
        seen: list[np.ndarray] = []

        def wrong(self: Any, obs: Any, noise: Any, masks: Any = None, *rest: Any) -> Any:
            seen.append(masks.copy())
            return act(self, obs, noise, seen[max(0, len(seen) - 1 - shift)], *rest)

        monkeypatch.setattr(policy.Policy, "act", wrong)

    return mutate


_masks_of_the_step_before = _masks_of(1)


def _masks_left_out_of_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "masked", lambda xp, outputs, masks: outputs)


def _masks_left_out_of_the_rollouts_log_probs(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = policy.Policy.evaluate_actions
    monkeypatch.setattr(
        policy.Policy, "evaluate_actions", lambda self, x, actions, masks=None: evaluate(self, x, actions)
    )


def _unmasked(space: str) -> Callable[[Path], None]:
    return lambda runs_dir: test_ppo_learns_every_action_space(space, {}, runs_dir)


def _masked(space: str) -> Callable[[Path], None]:
    return lambda runs_dir: test_ppo_learns_the_best_allowed_action(space, {}, runs_dir)


def _ratio(runs_dir: Path) -> None:
    test_first_ratio_under_masks_is_1("discrete", "numpy", runs_dir)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (_flip_gradient, _unmasked("multi-discrete")),
        (_flip_gradient, _unmasked("multi-binary")),
        (_flip_gradient, _unmasked("dict")),
        (_first_factor_alone, _unmasked("multi-discrete")),
        (_no_gradient_of_real_numbers, _unmasked("dict")),
        (_columns_in_another_order, _unmasked("dict")),
        (_start_left_out, _unmasked("discrete")),
        (_start_left_out, _unmasked("multi-discrete")),
        (_masks_ignored_when_greedy, _masked("discrete")),
        (_masks_ignored_when_acting, _masked("discrete")),
        (_masks_ignored_when_acting, _masked("dict")),
        (_masks_of_the_step_before, _masked("discrete")),
        (_masks_left_out_of_the_update, _ratio),
        (_masks_left_out_of_the_rollouts_log_probs, _ratio),
    ],
    ids=[
        "sign-multi-discrete",
        "sign-multi-binary",
        "sign-dict",
        "first-factor-alone",
        "no-gradient-of-real-numbers",
        "columns-in-another-order",
        "start-left-out",
        "start-left-out-multi-discrete",
        "masks-ignored-when-greedy",
        "masks-ignored-when-acting",
        "masks-ignored-when-acting-dict",
        "masks-of-the-step-before",
        "masks-left-out-of-the-update",
        "masks-left-out-of-the-log-probs",
    ],
)
def test_bug_is_detected(
    mutate: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, RunFailed)):
        check(tmp_path)
