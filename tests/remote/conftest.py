"""Modal for a test: a server on this machine, and a client of it that has a token."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def modal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A `FakeModal`."""
    pytest.importorskip("modal")
    import modal

    from remote.modal_server import TOKEN, FakeModal

    with FakeModal(tmp_path / "modal").serving() as fake:
        monkeypatch.setenv("MODAL_SERVER_URL", fake.url)
        monkeypatch.setenv("MODAL_TOKEN_ID", TOKEN[0])
        monkeypatch.setenv("MODAL_TOKEN_SECRET", TOKEN[1])
        monkeypatch.setenv("MODAL_CONFIG_PATH", str(tmp_path / "no-modal.toml"))
        modal.Client._set_env_client(None)
        _as_new()
        yield fake
        modal.Client._set_env_client(None)
        _as_new()


def _as_new() -> None:
    """Objects of the app remember the server that they were made on: each test has its own."""
    sys.modules.pop("gymnast.remote.modal_app", None)
