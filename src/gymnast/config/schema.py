"""The whole config: one frozen model composed of the sections."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.algorithms.ppo import PPOConfig
from gymnast.config.values import Section
from gymnast.envs.settings import EnvConfig
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.settings import EvalConfig
from gymnast.training.settings import BudgetConfig, CheckpointConfig, StopConfig

AlgoConfig = PPOConfig  # becomes a union discriminated by `name` with the second algorithm


class Config(Section):
    """Everything a run needs; what a preset leaves out takes the default shown here."""

    seed: int = Field(0, ge=0, description="Seed of envs, weights, sampling and shuffling.")
    engine: Literal["auto", "numpy", "torch"] = Field(
        "auto", description="numpy: small MLPs on CPU, no torch needed; auto picks it wherever it can."
    )
    env: EnvConfig = Field(description="The environment.")
    policy: PolicyConfig = Field(default_factory=PolicyConfig, description="The network.")
    algo: AlgoConfig = Field(default_factory=PPOConfig, description="The learner.")
    budget: BudgetConfig = Field(default_factory=BudgetConfig, description="How long to train.")
    stop: StopConfig = Field(default_factory=StopConfig, description="Scores that end training.")
    eval: EvalConfig = Field(default_factory=EvalConfig, description="Scoring the policy.")
    checkpoint: CheckpointConfig = Field(default_factory=CheckpointConfig, description="What is kept.")
