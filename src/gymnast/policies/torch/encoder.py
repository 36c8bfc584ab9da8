"""From the preprocessed observation to features [B, F], in torch.

Each image has an encoder, each embedded choice a table; numbers and one-hots go through as they are;
all are then joined. An encoder of the user's own takes the place of all that. Encoders are
torch modules whose parameters are views of the network's flat vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gymnast.config.values import from_environment
from gymnast.errors import GymnastError
from gymnast.import_path import load_class
from gymnast.policies.encoder_layout import EncoderLayout
from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.inputs import Input
from gymnast.policies.settings import PolicyConfig
from gymnast.policies.torch.images import build_image_encoder, orthogonal_gain
from gymnast.policies.torch.tensors import PixelsLast, TensorParts
from gymnast.redact import redact, redacted

_ROWS = 2  # of the dry run that finds out how wide features are; batch norm wants more than one


class TorchEncoder:
    """Features of a batch, for the actor and for the critic."""

    def __init__(
        self,
        layout: Any,
        views: dict[str, torch.Tensor],
        buffers: dict[str, torch.Tensor],
        precision: str = "f32",
    ) -> None:
        self._embedding = views.get("embedding.weight")
        self._encoders: list[Encoder] = []
        for prefix in layout.encoder_names:
            encoder = Encoder(layout.config, layout.inputs, precision)
            encoder.bind(prefix, views, buffers)
            self._encoders.append(encoder)

    def actor(self, x: Any) -> torch.Tensor:
        """The actor's features [B, F]."""
        x = x.stacked() if isinstance(x, StackedRows) else x
        if self._encoders:
            return self._encoders[0].features(x)
        return x if self._embedding is None else functional.embedding(x, self._embedding)

    def modules_of(self, names: tuple[str, ...]) -> Iterator[tuple[str, list[nn.Module]]]:
        """Every module of each encoder, by the encoder's name."""
        for name, encoder in zip(names, self._encoders, strict=True):
            yield name, [inner for module in encoder.modules.values() for inner in module.modules()]

    def arrange(self, x: Any) -> Any:
        """A whole rollout's input as minibatches of it are read fastest."""
        return self._encoders[0].arrange(x) if self._encoders else x

    def both(self, x: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of actor and critic, [B, F] each; the same tensor where the encoder is shared."""
        x = x.stacked() if isinstance(x, StackedRows) else x
        features = self.actor(x)
        return features, features if len(self._encoders) < 2 else self._encoders[1].features(x)


class Encoder:
    """One encoder: a module for each part that needs one, or one of the user's own."""

    def __init__(self, config: PolicyConfig, inputs: tuple[Input, ...], precision: str = "f32") -> None:
        self.config, self.inputs = config, inputs
        self._half = precision == "bf16"
        self._dtype = torch.bfloat16 if self._half else torch.float32  # that convolutions run in
        self.own = ":" in config.encoder
        self._training = True  # as modules are when they are made
        self.device = torch.device("cpu")  # until `bind` knows where the parameters are
        self.modules: dict[str, nn.Module] = {}  # by the leaf's name; of the user's own: ""
        if self.own:
            self.modules[""] = _build_own(config, self.prepared_space())
            self.dry_run()  # lazy layers learn their sizes
            return
        for part in inputs:
            if part.image is not None:
                self.modules[part.leaf.name] = build_image_encoder(config, part.image, config.frame_stack)
            elif part.kind == "index":
                self.modules[part.leaf.name] = nn.Embedding(part.width, config.embedding_size)

    def features(self, x: Any) -> torch.Tensor:
        """[B, F] of a batch as `Policy.preprocess` makes it.

        Dropout drops and batch norm goes by the batch in updates alone, which are what needs gradients.
        """
        if self._training != torch.is_grad_enabled():
            self._training = torch.is_grad_enabled()
            for module in self.modules.values():
                module.train(self._training)
        if not self._half:
            return self._features(x)
        # Weights stay float32; torch gives each product the form of them that it is fastest in.
        with torch.autocast(self.device.type, torch.bfloat16):
            return self._features(x).float()

    def _features(self, x: Any) -> torch.Tensor:
        if self.own:
            prepared = self.prepare(x)
            own: torch.Tensor = self.modules[""](prepared[""] if set(prepared) == {""} else prepared)
            return own
        values = _parts_of(x)
        parts = [self._part(part, values[part.leaf.name]) for part in self.inputs]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def prepare(self, x: Any) -> dict[str, torch.Tensor]:
        """Every part as an encoder of the user's own is given it."""
        values = _parts_of(x)
        return {part.leaf.name: self._prepare(part, values[part.leaf.name]) for part in self.inputs}

    def _part(self, part: Input, x: Any) -> torch.Tensor:
        """One part's share of the features [B, F]."""
        if part.image is not None:
            return self._image_features(part, x)
        module, x = self.modules.get(part.leaf.name), self._prepare(part, x)
        return x if module is None else module(x).flatten(1)

    def _image_features(self, part: Input, x: Any) -> torch.Tensor:
        """Through the convolutions, channels last: in the other order a CPU takes half as long again.

        Pixels go in as they are, the first layer divides (`PixelConv2d`); bfloat16 holds 0 to 255 exactly.
        """
        images = self._images(part, x).to(self._dtype, memory_format=torch.channels_last)
        features: torch.Tensor = self.modules[part.leaf.name](images)
        return features.flatten(1)

    def _images(self, part: Input, x: Any) -> torch.Tensor:
        """[B, C, H, W] of a part as the env gives it, as yet in its own type."""
        assert part.image is not None
        if isinstance(x, PixelsLast):
            return x.images.permute(0, 3, 1, 2)
        form, frames = part.image, self.config.frame_stack * max(part.image.stack, 1)
        x = x.reshape(len(x), frames, *part.leaf.shape[1 if form.stack else 0 :])
        if form.order == "hwc":
            if frames == 1:  # channels are last already
                return x[:, 0].permute(0, 3, 1, 2)
            x = x.permute(0, 1, 4, 2, 3)
        return x.reshape(len(x), frames * form.channels, form.height, form.width)

    def arrange(self, x: Any) -> Any:
        """The same input with images turned once for all minibatches; stacked frames are turned later."""
        if self.own or isinstance(x, StackedRows):
            return x
        arranged = dict(_parts_of(x))
        for part in self.inputs:
            if part.image is not None:
                images = self._images(part, arranged[part.leaf.name])
                arranged[part.leaf.name] = PixelsLast(images.permute(0, 2, 3, 1).contiguous())
        return TensorParts(arranged) if isinstance(x, TensorParts) else arranged[""]

    def _prepare(self, part: Input, x: torch.Tensor) -> torch.Tensor:
        """A part as an encoder reads it: images float [B, C, H, W] from 0 to 1, numbers [B, D]."""
        if part.image is None:
            return x.reshape(len(x), -1) if part.kind == "index" or x.ndim > 2 else x
        images = self._images(part, x).to(torch.float32)
        return images if part.image.scale == 1.0 else images * (1.0 / part.image.scale)

    def prepared_space(self) -> gym.Space[Any]:
        """The space of what `_prepare` gives, without the batch axis: what an own encoder is built for."""
        spaces = {part.leaf.name: self._prepared_leaf(part) for part in self.inputs}
        return spaces[""] if set(spaces) == {""} else gym.spaces.Dict(spaces)

    def _prepared_leaf(self, part: Input) -> gym.Space[Any]:
        k = self.config.frame_stack
        if part.image is not None:
            form = part.image
            shape = (form.channels * max(form.stack, 1) * k, form.height, form.width)
            high = 1.0 if form.scale != 1.0 else np.inf
            return gym.spaces.Box(0.0 if form.scale != 1.0 else -np.inf, high, shape, np.float32)
        if part.kind == "index":
            return gym.spaces.MultiDiscrete([part.width] * k)
        bounds = (0.0, 1.0) if part.kind == "one_hot" else (-np.inf, np.inf)
        return gym.spaces.Box(*bounds, (part.width * k,), np.float32)

    def dry_run(self) -> torch.Tensor:
        """Features of zeros, to learn how wide they are; an error names the module that misbehaves."""
        x = self.zeros(_ROWS)
        try:
            with torch.no_grad():
                result: Any = self.features(x)
        except Exception as error:
            if not self.own:
                raise
            raise self._wrong(f"forward raised {type(error).__name__}: {redact(str(error))}") from error
        if self.own and (not isinstance(result, torch.Tensor) or result.ndim != 2 or len(result) != _ROWS):
            what = tuple(result.shape) if isinstance(result, torch.Tensor) else type(result).__name__
            raise self._wrong(f"forward must give a tensor [B, F], for B = {_ROWS} it gave {what}")
        if not result.is_floating_point():
            raise self._wrong(f"forward must give floats, it gave {result.dtype}")
        return result

    def zeros(self, rows: int) -> Any:
        """A batch as `Policy.preprocess` makes it, of zeros."""
        k, parts = self.config.frame_stack, {}
        for part in self.inputs:
            if part.image is not None:
                dtype = torch.from_numpy(np.zeros(0, part.leaf.dtype)).dtype
                parts[part.leaf.name] = torch.zeros((rows, k, *part.leaf.shape), dtype=dtype)
            elif part.kind == "index":
                parts[part.leaf.name] = torch.zeros((rows, k), dtype=torch.int64)
            else:
                parts[part.leaf.name] = torch.zeros((rows, part.width * k))
        return parts[""] if set(parts) == {""} else TensorParts(parts)

    def _wrong(self, problem: str) -> GymnastError:
        return GymnastError(
            f"policy.encoder '{self.config.encoder}': {problem}. It is built with the space"
            f" {self.prepared_space()} and given a batch of it"
        )

    def layout(self) -> EncoderLayout:
        """Names and shapes, and how weights start."""
        features = int(self.dry_run().shape[1])
        shapes, starts = {}, {}
        for name, _, owner, attribute, parameter in self.named():
            shapes[name] = tuple(parameter.shape)
            starts[name] = self._start(owner, attribute, name)
        buffers = {
            name: (tuple(buffer.shape), str(buffer.numpy().dtype))
            for name, _, _, buffer in self.named_buffers()
        }
        return EncoderLayout(features, shapes, buffers, starts, self.own)

    def _start(self, owner: nn.Module, attribute: str, name: str) -> float | str:
        if attribute != "weight":
            return "zero"
        if isinstance(owner, nn.Embedding):
            return "normal"
        gain = orthogonal_gain(owner, self.config.image.activation, ".layers." in name)
        return "one" if gain is None else gain

    def named(self) -> Iterator[tuple[str, str, nn.Module, str, nn.Parameter]]:
        """Every parameter once: name, the leaf's name, the layer it is in, its name there, itself."""
        seen: set[int] = set()
        for part, module in self.modules.items():
            for path, owner in module.named_modules():
                for attribute, parameter in owner._parameters.items():
                    if parameter is not None and id(parameter) not in seen:
                        seen.add(id(parameter))
                        yield (
                            ".".join(filter(None, (part, path, attribute))),
                            part,
                            owner,
                            attribute,
                            parameter,
                        )

    def named_buffers(self) -> Iterator[tuple[str, nn.Module, str, torch.Tensor]]:
        """Every buffer that belongs to a checkpoint."""
        for part, module in self.modules.items():
            for path, owner in module.named_modules():
                for attribute, buffer in owner._buffers.items():
                    if buffer is not None and attribute not in owner._non_persistent_buffers_set:
                        yield ".".join(filter(None, (part, path, attribute))), owner, attribute, buffer

    def bind(self, prefix: str, views: dict[str, torch.Tensor], buffers: dict[str, torch.Tensor]) -> None:
        """Let the modules work on views of the flat vector instead of parameters of their own."""
        replaced = {id(old): views[f"{prefix}.{name}"] for name, _, _, _, old in self.named()}
        self.device = next(iter(views.values())).device
        for module in self.modules.values():
            module.to(self.device)
            for owner in module.modules():
                for attribute, old in list(owner._parameters.items()):
                    if old is not None:  # a parameter that is used in two places stays one
                        setattr(owner, attribute, replaced[id(old)])
        for name, owner, attribute, _ in list(self.named_buffers()):
            setattr(owner, attribute, buffers[f"{prefix}.{name}"])


def _parts_of(x: Any) -> dict[str, Any]:
    """A preprocessed batch by the names of its parts; "" if there is only one."""
    return x.parts if isinstance(x, TensorParts) else {"": x}


def _build_own(config: PolicyConfig, space: gym.Space[Any]) -> nn.Module:
    created = load_class(config.encoder, nn.Module, "policy.encoder")
    try:
        module: nn.Module = created(space, **from_environment(config.encoder_kwargs, "policy.encoder_kwargs"))
    except GymnastError:
        raise
    except Exception as error:
        given = (
            f" and policy.encoder_kwargs {redacted(config.encoder_kwargs)}" if config.encoder_kwargs else ""
        )
        raise GymnastError(
            f"policy.encoder '{config.encoder}' could not be built with the space {space}{given}:"
            f" {type(error).__name__}: {error}"
        ) from error
    return module


def describe(config: PolicyConfig, inputs: tuple[Input, ...]) -> EncoderLayout:
    """The layout of an encoder for these inputs."""
    with torch.random.fork_rng(devices=[]):
        return Encoder(config, inputs).layout()


def own_values(config: PolicyConfig, inputs: tuple[Input, ...], seed: int) -> dict[str, np.ndarray]:
    """The weights and buffers that an encoder of the user's own starts with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = Encoder(config, inputs)
    values = {name: parameter.detach().numpy() for name, _, _, _, parameter in encoder.named()}
    return values | {name: buffer.numpy() for name, _, _, buffer in encoder.named_buffers()}
