"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from gymnast.config.schedules import scheduled
from gymnast.config.values import PositiveCount, Section


class PPOConfig(Section):
    """Settings of PPO. Every number marked schedulable takes a schedule as well."""

    name: Literal["ppo"] = "ppo"
    n_steps: PositiveCount = Field(128, description="Steps of each env in a rollout.")
    batch_size: Annotated[float, Field(gt=0)] | Literal["all"] = Field(
        0.25, description="Samples in a minibatch; at most 1: a fraction of the rollout; `all`: the rollout."
    )
    n_epochs: scheduled(1, 1000) = Field(4, description="Passes over a rollout. Schedulable.")
    lr: scheduled(0, 10) = Field(3e-4, description="Learning rate of Adam. Schedulable.")
    gamma: scheduled(0, 1) = Field(0.99, description="Discount. Schedulable.")
    gae_lambda: scheduled(0, 1) = Field(0.95, description="Trace of the advantage estimate. Schedulable.")
    clip_range: scheduled(0, 10) = Field(0.2, description="How far a ratio may move from 1. Schedulable.")
    value_clip_range: scheduled(0) | None = Field(None, description="How far a value may move from the old one; null: free. Schedulable.")
    entropy_coef: scheduled(0) = Field(0.0, description="Weight of the entropy bonus. Schedulable.")
    value_coef: scheduled(0) = Field(0.5, description="Weight of the squared value error. Schedulable.")
    max_grad_norm: scheduled(0) = Field(0.5, description="Gradients are scaled down to this norm; 0: never. Schedulable.")
    target_kl: scheduled(0) | None = Field(None, description="Stop an update's epochs when KL passes 1.5 × this. Schedulable.")
    normalize_advantage: bool = Field(True, description="Advantages of a minibatch get mean 0 and std 1.")
    normalize_reward: bool = Field(False, description="Divide rewards by the running std of the discounted return.")
    clip_reward: float | None = Field(10.0, gt=0, description="Normalised rewards are cut to ± this; null: never.")
    adam_eps: float = Field(1e-5, gt=0, description="Adam's epsilon.")
    adam_betas: tuple[float, float] = Field((0.9, 0.999), description="Adam's decay rates.")
