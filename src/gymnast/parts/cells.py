"""Cells: observations that count as the same place, as keys of 64 bits.

A cell function maps observations [B, …] to keys [B]. Count bonuses, NovelD and the coverage metric share it.
Each leaf of an observation first becomes a few whole numbers (bins, gray levels, or its bits), and these
are hashed. Two different cells share a key with a probability of 2⁻⁶⁴.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from gymnast.config.values import PositiveCount, Section
from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    import gymnasium as gym

    from gymnast.spaces.observation_form import Leaf

CellFunction = Callable[[np.ndarray], np.ndarray]  # observations [B, …] → keys [B] uint64
_Columns = Callable[[np.ndarray], np.ndarray]  # values of one leaf [B, …] → words [B, W] uint32


class AutoCells(Section):
    """Images are downsampled (`downsample`), real numbers binned (`bins`), everything else is exact."""

    name: Literal["auto"] = "auto"


class HashCells(Section):
    """Every different observation is a cell of its own."""

    name: Literal["hash"] = "hash"


class BinsCells(Section):
    """The range of each component is cut into equal bins."""

    name: Literal["bins"] = "bins"
    bins: PositiveCount | tuple[PositiveCount, ...] = Field(
        10, description="Bins of each component: one number, or one per component."
    )
    low: float | tuple[float, ...] | None = Field(
        None, description="Lower bound: one number, or one per component; the observation space's if unset."
    )
    high: float | tuple[float, ...] | None = Field(
        None, description="Upper bound: one number, or one per component; the observation space's if unset."
    )


class DownsampleCells(Section):
    """Images become small and gray, with few levels; other parts of an observation are left out."""

    name: Literal["downsample"] = "downsample"
    width: PositiveCount = Field(11, description="Pixels across.")
    height: PositiveCount = Field(8, description="Pixels down.")
    levels: int = Field(8, ge=2, le=256, description="Levels of gray.")


class ComponentsCells(Section):
    """Some components alone, by name."""

    name: Literal["components"] = "components"
    of: dict[str, Annotated[float, Field(gt=0)]] | tuple[str, ...] = Field(
        description="Names of components or parts of the observation (`position`, `direction`, "
        "`variables[0]`); a map gives each the width of a cell, a list takes them exactly."
    )


def _named(value: Any) -> Any:
    """`cells: hash` is short for `cells: {name: hash}`."""
    if isinstance(value, dict) and "name" not in value:
        raise ValueError("needs a name: auto, hash, bins, downsample or components")
    return {"name": value} if isinstance(value, str) else value


CellsConfig: TypeAlias = Annotated[
    AutoCells | HashCells | BinsCells | DownsampleCells | ComponentsCells,
    Field(discriminator="name"),
    BeforeValidator(_named),
]


def build_cells(
    config: CellsConfig, space: gym.Space[Any], names: Sequence[str] = (), image_layout: str = "auto"
) -> CellFunction:
    """The cell function of observations in their array form (`spaces/observation_form.py`).

    `names` are those of the components of a plain observation, for `components`.
    """
    from gymnast.spaces.observation_form import ObservationForm

    form = ObservationForm(space)
    columns: list[tuple[str, _Columns]]
    match config:
        case HashCells():
            columns = [(leaf.name, _exact(leaf)) for leaf in form.leaves]
        case BinsCells():
            columns = [(leaf.name, _binned(leaf, config)) for leaf in form.leaves]
        case DownsampleCells():
            columns = [
                (leaf.name, small)
                for leaf in form.leaves
                if (small := _downsampled(leaf, config, image_layout)) is not None
            ]
            if not columns:
                raise GymnastError(
                    f"explore.cells: downsample needs an image of at least {config.width}×{config.height} "
                    f"pixels; {space} has none"
                )
        case ComponentsCells():
            columns = _components(config, form.leaves, names)
        case AutoCells():
            shrink, bins = DownsampleCells(), BinsCells()
            columns = [
                (
                    leaf.name,
                    _downsampled(leaf, shrink, image_layout)
                    or (_exact(leaf) if leaf.dtype == np.uint8 else _binned(leaf, bins)),
                )
                for leaf in form.leaves
            ]

    def keys(obs: np.ndarray) -> np.ndarray:
        parts = [of(obs[name] if form.has_parts else obs) for name, of in columns]
        return hash_words(parts[0] if len(parts) == 1 else np.concatenate(parts, 1))

    return keys


def hash_words(words: np.ndarray) -> np.ndarray:
    """Keys [B] uint64 of rows of words [B, W] uint32, by two multilinear hashes of 32 bits each.

    For random coefficients two different rows collide with a probability of 2⁻³² in each (Lemire and Kaser,
    2014, arXiv:1202.4961). The coefficients are fixed, so that keys of a checkpoint keep their meaning.
    """
    wide = words.astype(np.uint64)
    coefficients = scramble(np.arange(1, 2 * words.shape[1] + 1, dtype=np.uint64)).reshape(2, -1)
    first, second = (wide.dot(own) >> np.uint64(32) for own in coefficients)
    keys: np.ndarray = first << np.uint64(32) | second
    return keys


def scramble(numbers: np.ndarray) -> np.ndarray:
    """Numbers that look random, from distinct ones (SplitMix64, Steele et al., 2014)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def _exact(leaf: Leaf) -> _Columns:
    """The bits of a leaf."""
    import gymnasium as gym

    is_bits = isinstance(leaf.space, gym.spaces.MultiBinary)
    if isinstance(leaf.space, gym.spaces.Box) and leaf.dtype == np.uint8:
        is_bits = bool((leaf.space.high <= 1).all())

    def words(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(len(values), -1)
        if is_bits:
            flat = np.packbits(flat != 0, axis=1)
        elif flat.dtype == np.float32:
            flat = flat + np.float32(0)  # -0.0 and 0.0 are the same place
        data = np.ascontiguousarray(flat).view(np.uint8)
        if missing := -data.shape[1] % 4:
            data = np.pad(data, ((0, 0), (0, missing)))
        return data.view(np.uint32)

    return words


def _binned(leaf: Leaf, config: BinsCells) -> _Columns:
    import gymnasium as gym

    if not isinstance(leaf.space, gym.spaces.Box):
        return _exact(leaf)  # choices are cells already
    shape = leaf.shape or (1,)
    low = _per_component("low", config.low, leaf.space.low, leaf)
    high = _per_component("high", config.high, leaf.space.high, leaf)
    bins = _per_component("bins", config.bins, np.zeros(shape), leaf)
    if not (high > low).all():
        raise GymnastError("explore.cells.high must lie above explore.cells.low")

    def words(values: np.ndarray) -> np.ndarray:
        position = (values.reshape(len(values), -1) - low) / (high - low)
        return np.clip(np.floor(position * bins), 0, bins - 1).astype(np.uint32)

    return words


def _per_component(key: str, given: Any, own: np.ndarray, leaf: Leaf) -> np.ndarray:
    """One number for each component of a leaf [D]."""
    values = np.asarray(own if given is None else given, np.float64).ravel()
    size = own.size
    where = f" of '{leaf.name}'" if leaf.name else ""
    if values.size not in (1, size):
        raise GymnastError(f"explore.cells.{key}: {values.size} are given for {size} components{where}")
    values = np.broadcast_to(values, size)
    if not np.isfinite(values).all() or (abs(values) > 1e30).any():
        missing = np.flatnonzero(~np.isfinite(values) | (abs(values) > 1e30))[0]
        raise GymnastError(
            f"explore.cells.{key}: component {missing}{where} has no bound in the observation space; "
            "give explore.cells={name: bins, low: …, high: …}, or other cells"
        )
    return values


def _downsampled(leaf: Leaf, config: DownsampleCells, layout: str) -> _Columns | None:
    """None if the leaf is not an image larger than what it would become."""
    import gymnasium as gym

    from gymnast.policies.inputs import image_form

    form = image_form(leaf.space, layout) if isinstance(leaf.space, gym.spaces.Box) else None
    if form is None or form.height < config.height or form.width < config.width:
        return None
    rows = np.arange(config.height) * form.height // config.height  # where each small pixel begins
    columns = np.arange(config.width) * form.width // config.width
    areas = np.outer(np.diff(rows, append=form.height), np.diff(columns, append=form.width))
    full = areas * form.channels * form.scale  # the sum of a white pixel

    def words(values: np.ndarray) -> np.ndarray:
        image = values[:, -1] if form.stack else values  # the newest of a stack
        if form.order != "hw":
            image = image.sum(1 if form.order == "chw" else 3, dtype=np.float32)
        sums = np.add.reduceat(np.add.reduceat(image, rows, 1, dtype=np.float32), columns, 2)
        level = np.clip(sums / full * config.levels, 0, config.levels - 1)
        return level.reshape(len(values), -1).astype(np.uint32)

    return words


def _components(
    config: ComponentsCells, leaves: Sequence[Leaf], names: Sequence[str]
) -> list[tuple[str, _Columns]]:
    known: dict[str, tuple[Leaf, int | None]] = {}  # leaf, and which of its components; None: all
    for leaf in leaves:
        if leaf.name:
            known[leaf.name] = (leaf, None)
        size = int(np.prod(leaf.shape))
        known |= {f"{leaf.name or 'obs'}[{index}]": (leaf, index) for index in range(size)}
    if len(leaves) == 1 and not leaves[0].name:
        size = int(np.prod(leaves[0].shape))
        known |= {name: (leaves[0], index) for index, name in enumerate(names) if size == len(names)}
    columns = []
    for name in config.of:
        if name not in known:
            listed = "" if len(known) > 12 else f"; there are {', '.join(known)}"
            raise GymnastError(
                f"explore.cells.of: no component '{name}'{did_you_mean(name, list(known)) or listed}"
            )
        leaf, index = known[name]
        width = config.of[name] if isinstance(config.of, dict) else None
        columns.append((leaf.name, _chosen(leaf, index, width)))
    return columns


def _chosen(leaf: Leaf, index: int | None, width: float | None) -> _Columns:
    exact = _exact(leaf) if index is None else None

    def words(values: np.ndarray) -> np.ndarray:
        if width is None and exact is not None:
            return exact(values)
        flat = values.reshape(len(values), -1)
        chosen = flat if index is None else flat[:, index : index + 1]
        if width is not None:
            chosen = np.floor(chosen / width).astype(np.int64)
        elif chosen.dtype == np.float32:
            chosen = chosen + np.float32(0)
        return np.ascontiguousarray(chosen.astype(np.float64 if chosen.dtype.kind == "f" else np.int64)).view(
            np.uint32
        )

    return words
