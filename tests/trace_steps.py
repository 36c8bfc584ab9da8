"""Random traces, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymnast.traces.keep import TraceKeeper
from gymnast.traces.step import Decision, Outcome, TraceStep, plain_info
from gymnast.traces.trace import Trace

FLOATS = st.floats(-1e6, 1e6)
INFOS = st.dictionaries(
    st.text(max_size=5),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.lists(FLOATS, max_size=3),
    max_size=3,
)


@st.composite
def traces(draw: st.DrawFn, *, frames: bool | None = None, critic: bool | None = None) -> Trace:
    """Episodes that terminate or are truncated, the last one perhaps cut; of any kind of policy."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    choices, numbers, memories = draw(st.integers(0, 3)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    choices = choices or int(not numbers)
    with_frames = draw(st.booleans()) if frames is None else frames
    with_critic = draw(st.booleans()) if critic is None else critic
    masked, ends = draw(st.booleans()), draw(st.sampled_from(["cut", "terminated", "truncated"]))
    parts = draw(st.sets(st.text(min_size=1, max_size=4), max_size=2))
    leaves = draw(st.sampled_from([("",), ("screen", "arm/0")]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    keeper = TraceKeeper()
    steps: list[TraceStep] = []
    for episode, length in enumerate(lengths):
        outcome, total = None, 0.0
        final = episode == len(lengths) - 1
        for step in range(length + 1):
            decision = None
            if step < length:
                decision = Decision(
                    rng.normal(size=1 + numbers).astype(np.float32) if numbers else np.array([1]),
                    -rng.random(),
                    rng.random(),
                    rng.random(choices).astype(np.float32),
                    rng.normal(size=numbers).astype(np.float32),
                    rng.random(numbers).astype(np.float32),
                    rng.random(memories).astype(np.float32),
                )
            image = rng.integers(0, 255, (3, 4), dtype=np.uint8)
            steps.append(
                TraceStep(
                    episode=episode,
                    step=step,
                    picture=rng.integers(0, 255, (2, 3, 3), dtype=np.uint8) if with_frames else None,
                    obs={name: image if name == "screen" else rng.normal(size=2) for name in leaves},
                    seen={name: image if name == "screen" else np.float32([step]) for name in leaves},
                    info=plain_info(draw(INFOS)),
                    value=draw(FLOATS) if with_critic else None,
                    total=total,
                    outcome=outcome,
                    decision=decision,
                    mask=rng.random(choices) < 0.5 if masked and decision else None,
                )
            )
            if step < length:
                last = step == length - 1
                kind = ends if final else draw(st.sampled_from(["terminated", "truncated"]))
                reward = draw(FLOATS)
                outcome = Outcome(
                    np.zeros(1 + numbers, np.float32) if numbers else np.array([2]),
                    draw(st.text(max_size=6)),
                    reward,
                    {name: draw(FLOATS) for name in sorted(parts)},
                    last and kind == "terminated",
                    last and kind == "truncated",
                    {"goals": 1.0} if last and kind != "cut" else {},
                )
                total += reward
    for _ in keeper.keep(steps):
        pass
    return keeper.trace(**about(choices, numbers, memories, with_critic))


def about(choices: int, numbers: int, memories: int, critic: bool) -> dict[str, Any]:
    factors = tuple(f"x{index}" for index in range(1 + numbers)) if numbers else ("action",)
    return {
        "env_id": "Env-v0",
        "seed": 3,
        "sampled": True,
        "fps": 30.0,
        "value_scale": 1.0 if critic else None,
        "action_names": factors,
        "choices": tuple(f"choice {index}" for index in range(choices)),
        "numbers": tuple(f"number {index}" for index in range(numbers)),
        "observation_names": ("a", "b"),
        "memory_names": tuple(f"memory {index}" for index in range(memories)),
    }


def same(ours: Any, theirs: Any) -> bool:
    """Whether two records are equal, arrays by their bits."""
    if isinstance(ours, np.ndarray):
        return (
            ours.dtype == theirs.dtype
            and ours.shape == theirs.shape
            and np.ascontiguousarray(ours).tobytes() == np.ascontiguousarray(theirs).tobytes()
        )
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, float):
        return repr(ours) == repr(theirs)
    return bool(ours == theirs)


ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.dtype(name) for name in ("float32", "int64", "bool", "uint8", "float64")]),
    shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
)
