"""The `cluster` section: actors on other cores or machines that collect for one learner."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from gymnast.config.values import Count, CountOrAuto, Seconds, Section

LONGEST_GAE_LAG = 1  # beyond it the policy that learns has moved too far from the one that acted


class ClusterConfig(Section):
    """Where the experience of a run is collected; see docs/cluster.md."""

    on: Literal["none", "local", "ray"] = Field(
        "none", description="none: in this process; local: processes here; ray: wherever Ray has cores."
    )
    address: str | None = Field(
        None,
        description="The Ray cluster: HOST:6379 from one of its machines, ray://HOST:10001 from elsewhere; "
        "unset: the one that runs here, or one that is started for this run.",
    )
    mode: Literal["rollouts", "steps"] = Field(
        "rollouts",
        description="rollouts: actors have a copy of the policy and return whole rollouts; steps: they only "
        "step envs, the policy acts at the learner.",
    )
    actors: CountOrAuto = Field(
        "auto", description="Actors that share the envs; auto: as many as there are cores for, at any time."
    )
    cpus: float = Field(1.0, gt=0, le=1024, description="Cores that an actor takes.")
    resources: dict[str, float] = Field(
        default_factory=dict, description="Ray's own resources that an actor takes, for placement."
    )
    lag: Count | None = Field(
        None,
        description="Updates that the acting policy is behind; unset: 1 with algo.collect_ahead, else 0. "
        "More than 1 needs algo.advantage: vtrace.",
    )
    same_bits: bool | None = Field(
        None,
        description="Act so that results do not depend on the number of actors, to the bit. It costs actors "
        "time with image encoders, so unset means: without one.",
    )
    timeout: Seconds = Field(
        600.0, description="A rollout that takes an actor longer counts as lost, and the actor too; 0: never."
    )

    @property
    def collects(self) -> bool:
        """Whether actors return whole rollouts."""
        return self.on != "none" and self.mode == "rollouts"

    @model_validator(mode="after")
    def _is_whole(self) -> ClusterConfig:
        if self.address is not None and self.on != "ray":
            raise ValueError(f"address is of a Ray cluster, and on is {self.on}; use on: ray")
        if self.actors == 0:
            raise ValueError("actors must be at least 1, or auto")
        return self
