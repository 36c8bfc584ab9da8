"""`--on WHERE`, and a Ray that is not there: one message, and nothing started."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from gymnast import api
from gymnast.cluster.versions import check_versions, own_versions
from gymnast.cluster.where import settings_of
from gymnast.errors import GymnastError


@pytest.mark.parametrize(
    ("where", "on", "address"),
    [
        ("none", "none", None),
        ("local:4", "local", None),
        ("ray", "ray", None),
        ("ray://10.0.0.5:6379", "ray", "10.0.0.5:6379"),
        ("ray://10.0.0.5:10001", "ray", "ray://10.0.0.5:10001"),
    ],
)
def test_where_is_settings_of_the_cluster(where: str, on: str, address: str | None) -> None:
    found = settings_of(where)
    assert (found["cluster.on"], found["cluster.address"]) == (on, address)


@pytest.mark.parametrize("where", ["rey", "local:0", "local:many", "ray:7", "ray://"])
def test_another_place_is_refused(where: str) -> None:
    with pytest.raises(GymnastError, match=f"--on {where}"):
        settings_of(where)


@pytest.mark.parametrize(
    ("address", "message"),
    [("127.0.0.1:9", "no Ray at 127.0.0.1:9"), ("nonsense", "is not an address of Ray")],
)
def test_an_address_without_ray_is_refused_at_once(address: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    overrides = {"cluster.on": "ray", "cluster.address": address}
    with pytest.raises(GymnastError, match=message) as caught:
        api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path / "runs")
    assert caught.value.exit_code == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["nothing", "HTTP"])
def test_something_else_at_the_address_is_refused(
    says: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr("gymnast.cluster.ray_session._REACH_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            link, _ = server.accept()
            with link:
                link.sendall(says)
                with suppress(ConnectionError):
                    while link.recv(1000):
                        pass

        thread = threading.Thread(target=answer)
        thread.start()
        overrides = {"cluster.on": "ray", "cluster.address": f"127.0.0.1:{server.getsockname()[1]}"}
        with pytest.raises(GymnastError, match="something else listens there"):
            api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path / "runs")
        thread.join(60)
    assert not (tmp_path / "runs").exists()


def test_versions_that_differ_are_named() -> None:
    ours = own_versions()
    check_versions(dict(ours), "node-1")
    with pytest.raises(GymnastError, match=r"actors on node-1 run another version: Python 2\.7 there and"):
        check_versions({**ours, "python": "2.7"}, "node-1")
    with pytest.raises(GymnastError, match="gymnast's source 0 there"):
        check_versions({**ours, "source": "0"}, "node-1")
