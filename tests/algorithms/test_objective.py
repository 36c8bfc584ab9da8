"""A batch and its rows."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from gymnast.algorithms.batch import Batch


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
def test_rows_keep_samples_together(xp: ModuleType) -> None:
    ids = np.arange(12, dtype=np.float32)
    x = np.stack([ids, ids * 10, ids * 100], 1)
    columns: list[Any] = [x, x[:, :2].copy(), ids, ids + 1, ids + 2, ids + 3, ids + 4]
    batch = Batch(*(column if xp is np else torch.from_numpy(column) for column in columns))
    index = np.random.default_rng(0).permutation(12)
    picked = batch.rows(index if xp is np else torch.from_numpy(index))
    assert len(picked) == len(batch) == 12
    for field, column in zip(Batch.__slots__, columns, strict=False):
        assert (np.asarray(getattr(picked, field)) == column[index]).all()
    assert picked.masks is None
    part = picked.rows(slice(5, 20))
    assert len(part) == 7
    part.returns[0] = -1.0  # a slice is a view of the shuffled copy, and leaves the batch alone
    assert picked.returns[5] == -1.0
    assert (np.asarray(batch.returns) == ids + 3).all()
