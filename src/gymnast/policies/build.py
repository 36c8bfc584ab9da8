"""Which engine a policy runs on, and making it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

import gymnasium as gym

from gymnast.errors import GymnastError, MissingExtra
from gymnast.policies.device import check_precision, choose_device
from gymnast.policies.encoder_layout import needs_encoder
from gymnast.policies.layout import PolicyLayout, build_layout, init_parameters
from gymnast.policies.policy import Network, Policy
from gymnast.policies.settings import PolicyConfig

EngineName = Literal["numpy", "torch"]


def choose_engine(engine: str, layout: PolicyLayout, device: str = "auto") -> EngineName:
    """`auto` takes the NumPy engine, the faster one for every MLP on a CPU, where it can run the network."""
    reason = why_torch(layout)
    if reason is None and device.startswith("cuda"):
        reason = f"device: {device}"
    if engine == "numpy" and reason is not None:
        raise GymnastError(
            f"{reason} needs engine: torch; the numpy engine runs only MLPs (use torch or auto)"
        )
    return "torch" if engine == "torch" or reason is not None else "numpy"


def why_torch(layout: PolicyLayout) -> str | None:
    """Why the NumPy engine cannot run this network; None if it can."""
    config = layout.config
    if layout.memories:
        return f"policy.memory: {config.memory}"
    if layout.encoder is not None:
        return needs_encoder(config, layout.inputs)
    if config.batch_norm:
        return "policy.batch_norm"
    return f"policy.dropout: {config.dropout:g}" if config.dropout else None


def build_network(
    layout: PolicyLayout, engine: EngineName, device: str = "auto", precision: str = "f32"
) -> Network:
    """An engine's network with all parameters 0."""
    check_precision(precision, layout)
    if engine == "torch":
        if find_spec("torch") is None:
            raise MissingExtra("engine: torch", "torch")
        device = choose_device(device, layout)
        if layout.memories:
            from gymnast.policies.torch.recurrent import RecurrentNetwork

            return RecurrentNetwork(layout, device, precision)
        from gymnast.policies.torch.network import TorchNetwork

        return TorchNetwork(layout, device, precision)
    from gymnast.policies.numpy.network import NumpyNetwork

    return NumpyNetwork(layout)


def build_policy(
    config: PolicyConfig,
    engine: str,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    seed: int | None,
    device: str = "auto",
    precision: str = "f32",
    value_heads: tuple[str, ...] = ("value",),
) -> Policy:
    """A new policy for these spaces; without a seed all its weights are 0, to be loaded from elsewhere."""
    layout = build_layout(config, observation_space, action_space, value_heads)
    network = build_network(layout, choose_engine(engine, layout, device), device, precision)
    if seed is not None:
        network.load_arrays(init_parameters(layout, seed))
    return Policy(network)
