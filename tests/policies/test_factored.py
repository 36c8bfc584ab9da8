"""Actions of several parts against torch.distributions, part by part, with and without masks."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torch import distributions as reference

from gymnast.policies.distributions import Categorical, Gaussian, SquashedGaussian
from gymnast.policies.factored import Factored
from gymnast.spaces.action_form import ActionForm, Leaf
from gymnast.spaces.masks import MaskReader, masked

seeds = st.integers(0, 2**31)
B = 5

discretes = st.builds(
    lambda n, start: gym.spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-3, 3)
)
multi_discretes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(
    lambda nvec: gym.spaces.MultiDiscrete(nvec, start=list(range(len(nvec))))
)
nested = st.just(gym.spaces.MultiDiscrete(np.array([[2, 3], [3, 4]]), start=np.array([[1, 0], [0, -2]])))
binaries = st.sampled_from([gym.spaces.MultiBinary(3), gym.spaces.MultiBinary((2, 2))])
boxes = st.builds(
    lambda shape, dtype: gym.spaces.Box(-1.5, 0.1, shape, dtype),
    st.sampled_from([(), (1,), (3,), (2, 2)]),
    st.sampled_from([np.float32, np.float64]),
)
leaves = st.one_of(discretes, multi_discretes, nested, binaries, boxes)
spaces = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(gym.spaces.Tuple),
        st.dictionaries(st.sampled_from("wxyz"), inner, min_size=1, max_size=3).map(gym.spaces.Dict),
    ),
    max_leaves=4,
)


def arrays(xp: ModuleType, *values: np.ndarray) -> list[Any]:
    return [value if xp is np else torch.from_numpy(value.copy()) for value in values]


def part_of(action: Any, leaf: Leaf) -> Any:
    for key in leaf.keys:
        action = action[key]
    return action


def expected(
    form: ActionForm, logits: torch.Tensor, means: torch.Tensor, log_std: torch.Tensor, actions: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of log-probabilities and entropies [B] over the parts of the env's own actions."""
    log_prob, entropy = torch.zeros(B), torch.zeros(B)
    batch = form.batch(actions)
    mean_at = 0
    for leaf in form.leaves:
        values = np.asarray(part_of(batch, leaf))
        rows = logits[leaf.logits]
        match leaf.space:
            case gym.spaces.Discrete(start=start):
                known: Any = reference.Categorical(logits=rows.T)
                log_prob = log_prob + known.log_prob(torch.from_numpy(values - start))
                entropy = entropy + known.entropy()
            case gym.spaces.MultiDiscrete(nvec=nvec, start=start):
                at = 0
                chosen = torch.from_numpy((values - start).reshape(B, -1))
                for column, n in enumerate(np.ravel(nvec)):
                    known = reference.Categorical(logits=rows[at : at + n].T)
                    log_prob = log_prob + known.log_prob(chosen[:, column])
                    entropy = entropy + known.entropy()
                    at += n
            case gym.spaces.MultiBinary():
                # log-odds of on against off
                known = reference.Bernoulli(logits=(rows[1::2] - rows[0::2]).T)
                log_prob = log_prob + known.log_prob(torch.from_numpy(values.reshape(B, -1)).float()).sum(1)
                entropy = entropy + known.entropy().sum(1)
            case gym.spaces.Box():
                n = len(leaf.sizes)
                here = slice(mean_at, mean_at + n)
                known = reference.Normal(means[here].T, log_std[here].exp().T.expand(B, n))
                raw = torch.from_numpy(actions[:, leaf.columns].copy())
                log_prob = log_prob + known.log_prob(raw).sum(1)
                entropy = entropy + known.entropy().sum(1)
                mean_at += n
    return log_prob, entropy


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=60)
@given(seed=seeds, space=spaces, state_dependent=st.booleans(), scale=st.sampled_from([0.01, 1.0, 10.0]))
def test_log_probabilities_entropies_and_gradients_add_up(
    xp: ModuleType, seed: int, space: gym.Space[Any], state_dependent: bool, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    ours = Factored(space, Gaussian, state_dependent)
    form, m = ours.form, ours.form.n_logits
    outputs = rng.normal(0, scale, (m + form.n_means, B)).astype(np.float32)
    log_std = rng.normal(0, 0.5, (form.n_means, B if state_dependent else 1)).astype(np.float32)
    actions = ours.sample(outputs, log_std, ours.noise(rng, 1, B)[0])
    assert actions.shape == (B, form.n_columns)
    assert actions.dtype == form.dtype
    d_log_prob, d_entropy = rng.normal(size=(2, B)).astype(np.float32)

    leaf, std_leaf = (torch.from_numpy(v.copy()).requires_grad_() for v in (outputs, log_std))
    log_prob, entropy = expected(form, leaf[:m], leaf[m:], std_leaf, actions)
    (log_prob * torch.from_numpy(d_log_prob) + entropy * torch.from_numpy(d_entropy)).sum().backward()

    x, s, a, dl, de = arrays(xp, outputs, log_std, actions, d_log_prob, d_entropy)
    evaluated = ours.evaluate_actions(xp, x, s if form.n_means else None, a)
    assert_allclose(evaluated.log_prob, log_prob.detach(), rtol=1e-3, atol=2e-4)
    assert_allclose(evaluated.entropy, entropy.detach(), rtol=1e-3, atol=2e-4)
    d_outputs, d_log_std = ours.backward(xp, evaluated, dl, de)
    assert_allclose(d_outputs, leaf.grad, rtol=2e-3, atol=2e-4)
    if form.n_means:
        assert d_log_std is not None
        total = d_log_std if state_dependent else d_log_std.sum(1)[:, None]
        assert_allclose(total, std_leaf.grad, rtol=2e-3, atol=2e-3)
    no_bonus, _ = ours.backward(xp, evaluated, dl, 0.0)  # the shortcut when nothing is asked of the entropy
    assert_allclose(no_bonus, ours.backward(xp, evaluated, dl, 0.0 * de)[0], rtol=1e-5, atol=1e-6)


def legal_masks(rng: np.random.Generator, form: ActionForm) -> np.ndarray:
    """Random masks [B, M] that leave every factor a choice."""
    rows = rng.random((B, form.n_logits)) < 0.5
    at = 0
    for n in form.sizes:
        if n:
            rows[np.arange(B), at + rng.integers(0, n, B)] = True
            at += n
    return rows


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=60)
@given(seed=seeds, space=spaces, scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_masked_choices_count_for_nothing(
    xp: ModuleType, seed: int, space: gym.Space[Any], scale: float
) -> None:
    rng = np.random.default_rng(seed)
    ours = Factored(space, Gaussian, False)
    form, m = ours.form, ours.form.n_logits
    if not m:
        return
    outputs = rng.normal(0, scale, (m + form.n_means, B)).astype(np.float32)
    log_std = rng.normal(0, 0.5, (form.n_means, 1)).astype(np.float32)
    masks = legal_masks(rng, form)
    allowed = masked(np, outputs, masks)
    actions = ours.sample(allowed, log_std, ours.noise(rng, 1, B)[0])
    d_log_prob, d_entropy = rng.normal(size=(2, B)).astype(np.float32)

    # Row by row, a distribution over nothing but what is allowed.
    leaf = torch.from_numpy(outputs.copy()).requires_grad_()
    log_probs, entropies = [], []
    for b in range(B):
        row, mean_at = 0, m
        for column, n in enumerate(form.sizes):
            if n:
                left = torch.from_numpy(np.flatnonzero(masks[b, row : row + n]))
                known: Any = reference.Categorical(logits=leaf[row + left, b])
                log_probs.append(known.log_prob((left == int(actions[b, column])).nonzero()[0, 0]))
                row += n
            else:
                std = torch.from_numpy(log_std[mean_at - m, 0:1]).exp()[0]
                known = reference.Normal(leaf[mean_at, b], std)
                log_probs.append(known.log_prob(torch.tensor(actions[b, column])))
                mean_at += 1
            entropies.append(known.entropy())
    log_prob, entropy = (torch.stack(each).reshape(B, -1).sum(1) for each in (log_probs, entropies))
    (log_prob * torch.from_numpy(d_log_prob) + entropy * torch.from_numpy(d_entropy)).sum().backward()

    x, s, a, k, dl, de = arrays(xp, outputs, log_std, actions, masks, d_log_prob, d_entropy)
    evaluated = ours.evaluate_actions(xp, masked(xp, x, k), s if form.n_means else None, a)
    assert_allclose(evaluated.log_prob, log_prob.detach(), rtol=1e-3, atol=2e-4)
    assert_allclose(evaluated.entropy, entropy.detach(), rtol=1e-3, atol=2e-4)
    d_outputs, _ = ours.backward(xp, evaluated, dl, de)
    assert_allclose(d_outputs, leaf.grad, rtol=2e-3, atol=2e-4)
    assert (np.asarray(d_outputs)[:m].T[~masks] == 0).all()  # exactly


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=40)
@given(seed=seeds, n=st.integers(2, 8), scale=st.sampled_from([0.01, 1.0, 3.0]))
def test_one_masked_choice_against_a_categorical_over_the_allowed_ones(
    xp: ModuleType, seed: int, n: int, scale: float
) -> None:
    """Entropy, KL and log-probability are those of the distribution over what is left."""
    rng = np.random.default_rng(seed)
    ours = Categorical(gym.spaces.Discrete(n))
    old, new = rng.normal(0, scale, (2, n, 1)).astype(np.float32)
    mask = rng.random((1, n)) < 0.5
    mask[0, rng.integers(n)] = True
    left = np.flatnonzero(mask[0])
    actions = np.arange(n)

    def log_probs(outputs: np.ndarray) -> tuple[np.ndarray, float]:
        x, k = arrays(xp, np.repeat(outputs, n, 1), np.repeat(mask, n, 0))
        evaluated = ours.evaluate_actions(xp, masked(xp, x, k), None, *arrays(xp, actions))
        return np.asarray(evaluated.log_prob), float(evaluated.entropy[0])

    (old_log, old_entropy), (new_log, _) = log_probs(old), log_probs(new)
    known_old, known_new = (
        reference.Categorical(logits=torch.from_numpy(outputs[left, 0])) for outputs in (old, new)
    )
    assert_allclose(old_log[left], known_old.logits, rtol=1e-4, atol=1e-4)
    assert (np.exp(old_log[~mask[0]]) == 0).all()
    assert old_entropy == pytest.approx(float(known_old.entropy()), rel=1e-3, abs=1e-4)
    kl = float((np.exp(old_log) * (old_log - new_log))[left].sum())
    assert kl == pytest.approx(float(reference.kl_divergence(known_old, known_new)), rel=1e-3, abs=1e-3)


@settings(max_examples=60)
@given(seed=seeds, space=spaces)
def test_the_env_gets_elements_of_its_space_and_they_lead_back(seed: int, space: gym.Space[Any]) -> None:
    rng = np.random.default_rng(seed)
    for kind in (Gaussian, SquashedGaussian):
        ours = Factored(space, kind, False)
        form = ours.form
        outputs = rng.normal(0, 3, (form.n_logits + form.n_means, B)).astype(np.float32)
        log_std = np.full((form.n_means, 1), 0.7, np.float32)
        for flat in (ours.sample(outputs, log_std, ours.noise(rng, 1, B)[0]), ours.mode(outputs)):
            legal = ours.to_env(flat)
            elements = form.each(legal)
            assert all(space.contains(element) for element in elements)
            assert gym.vector.utils.batch_space(space, B).contains(form.batch(legal)) or form.n_means
            for row, element in zip(legal, elements, strict=True):
                assert_allclose(form.flatten(element), row, rtol=1e-6)


def test_most_likely_choices_are_taken_and_samples_follow_the_probabilities() -> None:
    space = gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Box(-9, 9, (1,)), gym.spaces.MultiBinary(2)])
    ours = Factored(space, Gaussian, False)
    logits = np.log(np.array([0.8, 0.2, 0.1, 0.9, 0.6, 0.4], np.float32))
    outputs = np.append(logits, np.float32(1.5))[:, None]
    assert ours.mode(outputs).tolist() == [[0, 1.5, 1, 0]]
    n = 20_000
    rng = np.random.default_rng(0)
    wide = np.repeat(outputs, n, 1)
    actions = ours.sample(wide, np.zeros((1, 1), np.float32), ours.noise(rng, 1, n)[0])
    assert_allclose(actions.mean(0), [0.2, 1.5, 0.9, 0.4], atol=0.02)
    assert actions[:, 1].std() == pytest.approx(1.0, abs=0.02)
    masks = np.tile([True, True, True, False, False, True], (n, 1))
    held = ours.sample(masked(np, wide, masks), np.zeros((1, 1), np.float32), ours.noise(rng, 1, n)[0])
    assert (held[:, 2] == 0).all()
    assert (held[:, 3] == 1).all()
    assert held[:, 0].mean() == pytest.approx(0.2, abs=0.02)
    assert ours.mode(masked(np, outputs, masks[:1])).tolist() == [[0, 1.5, 0, 1]]


def test_uniformity_is_relative_to_what_the_masks_allow() -> None:
    space = gym.spaces.MultiDiscrete([2, 4])
    ours = Factored(space, Gaussian, False)
    flat = np.zeros((6, 3), np.float32)
    masks = np.tile([True, True, True, True, False, False], (3, 1))
    assert ours.uniformity(flat, None) == pytest.approx(1.0)
    assert ours.uniformity(masked(np, flat, masks), masks) == pytest.approx(1.0)
    sharp = flat.copy()
    sharp[0] = 9.0
    assert ours.uniformity(sharp, None) == pytest.approx(np.log(4) / (np.log(2) + np.log(4)), abs=0.01)
    one = Categorical(gym.spaces.Discrete(3))
    only = np.tile([False, True, False], (3, 1))
    assert one.uniformity(masked(np, flat[:3], only), only) is None
    assert one.uniformity(flat[:3], None) == pytest.approx(1.0)


def test_labels_name_the_parts() -> None:
    space = gym.spaces.Dict(
        {
            "aim": gym.spaces.Box(-1, 1, (2,)),
            "do": gym.spaces.Tuple([gym.spaces.Discrete(3), gym.spaces.MultiBinary(2)]),
        }
    )
    assert ActionForm(space).labels == ("aim[0]", "aim[1]", "do.0", "do.1[0]", "do.1[1]")
    assert ActionForm(gym.spaces.MultiDiscrete([2, 2])).labels == ("action 0", "action 1")


SPACE = gym.spaces.Dict(
    {
        "aim": gym.spaces.Box(-1, 1, (2,)),
        "buttons": gym.spaces.MultiBinary(2),
        "gear": gym.spaces.MultiDiscrete([[2], [3]]),
    }
)
ROW = [1, 0, 1, 1, 0, 1, 1, 0, 1]  # off/on of two buttons, then two gears, then three


@pytest.mark.parametrize(
    "mask",
    [
        ROW,
        np.array(ROW, np.int8),
        {
            "aim": None,
            "buttons": np.array([0, 2], np.int8),
            "gear": ((np.array([0, 1]),), (np.array([1, 0, 1]),)),
        },
        {"buttons": [1, 0, 1, 1], "gear": [0, 1, 1, 0, 1]},
    ],
)
def test_masks_are_read_in_every_form(mask: Any) -> None:
    reader = MaskReader(SPACE)
    row = np.zeros(reader.size, np.bool_)
    reader.read(mask, row)
    assert row.astype(int).tolist() == ROW
    assert reader.row_without_choice(row[None]) is None
    row[4:6] = False
    assert reader.row_without_choice(np.stack([np.ones_like(row), row])) == 1


def test_masks_allow_what_they_leave_out_and_wrong_ones_are_refused() -> None:
    reader = MaskReader(SPACE)
    row = np.zeros(reader.size, np.bool_)
    reader.read({"buttons": None}, row)
    assert row.all()
    with pytest.raises(ValueError, match=r"shape \(3,\) at buttons where \(4,\)"):
        reader.read({"buttons": [1, 1, 1]}, row)
    with pytest.raises(ValueError, match=r"shape \(2,\) where \(3,\)"):
        MaskReader(gym.spaces.Discrete(3)).read([1, 0], np.zeros(3, np.bool_))


@settings(max_examples=40)
@given(seed=seeds, space=st.one_of(discretes, multi_discretes, nested, binaries))
def test_gymnasiums_own_masks_allow_just_what_gymnasium_samples(seed: int, space: gym.Space[Any]) -> None:
    rng = np.random.default_rng(seed)
    form, reader = ActionForm(space), MaskReader(space)
    rows = legal_masks(rng, form)[0]
    split = [m.astype(np.int8) for m in np.split(rows, np.cumsum(form.sizes)[:-1])]
    match space:
        case gym.spaces.Discrete():
            mask: Any = split[0]
        case gym.spaces.MultiBinary(shape=shape):
            mask = np.array([2 if m.all() else int(m[1]) for m in split], np.int8).reshape(shape)
        case _ if space.shape == (2, 2):
            mask = (tuple(split[:2]), tuple(split[2:]))
        case _:
            mask = tuple(split)
    row = np.zeros(reader.size, np.bool_)
    reader.read(mask, row)
    assert row.tolist() == rows.tolist()
    space.seed(seed)
    for _ in range(5):
        chosen = form.flatten(space.sample(mask=mask))
        assert all(m[c] for m, c in zip(split, chosen, strict=True))
