"""The metadata of a trace: who played what, and which columns it has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**63)]
Positive = Annotated[int, Field(ge=1, lt=2**63)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Unit = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Dtype = Literal[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
Cut = Literal["frames", "size", "max_steps"]


class Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Column(Plain):
    """One row of a column."""

    dtype: Dtype
    shape: tuple[Count, ...] = Field(max_length=16)


class TraceMeta(Plain):
    """What is known of a recording beside its rows."""

    env_id: str
    task: str | None = None  # of a mix
    seed: int  # every env and random number follows from it
    sampled: bool  # whether actions were sampled; otherwise the most likely ones were taken
    run: str | None = None
    checkpoint: Count | None = None  # env steps of the weights; None: not from a checkpoint
    config_sha256: Sha256 | None = None  # of the run's config
    created: str
    version: str  # of Gymnast
    fps: Annotated[float, Field(gt=0, le=1e6)]  # as fast as the game really is
    gamma: Unit | None = None  # as the run learnt with; the table takes any
    gae_lambda: Unit | None = None
    value_scale: Finite | None  # rewards of the env in one unit of the critic; None: there is no critic
    frame_stack: Positive = 1  # observations that the policy sees at once
    observation_stack: Positive = 1  # frames that the env itself puts into an observation, oldest first
    action_names: tuple[str, ...]  # one for each column of `action` and `raw_action`
    choices: tuple[str, ...]  # one for each column of `probabilities` and `mask`
    numbers: tuple[str, ...]  # one for each column of `mean` and `std`
    observation_names: tuple[str, ...]  # of the components of `obs`; none where they are not known
    memory_names: tuple[str, ...]  # one for each column of `memory_norm`
    columns: dict[str, Column]
    same: dict[str, str]  # columns of `seen` that are not stored since they equal one of `obs`
    rows: Positive  # observations: one more in each episode than steps
    frames: bool  # whether there is a picture for every row
    cut: tuple[Cut, ...]  # what the recording lacks, and why: see docs/traces.md
