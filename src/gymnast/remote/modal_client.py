"""Talking to Modal: who we are there, what is deployed, what runs, and what lies on the volume.

Results of calls are never asked for: Modal would unpickle them. What became of a run is a file on the volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gymnast.errors import GymnastError, MissingExtra
from gymnast.runs.files import parse_json

if TYPE_CHECKING:
    import modal

HOW_TO_GET_A_TOKEN = (
    "to train on Modal you need an account there and its token: run `modal token new`, or set MODAL_TOKEN_ID"
    " and MODAL_TOKEN_SECRET; nothing was started"
)
_MOST_STATE = 1 << 20


@contextmanager
def faults_as_ours() -> Iterator[None]:
    """What Modal raises as one message."""
    try:
        from modal import exception
    except ImportError:
        raise MissingExtra("training on Modal", "modal") from None
    try:
        yield
    except exception.AuthError as error:
        why = "" if "Token missing" in str(error) else f" (Modal says: {_first_line(error)})"
        raise GymnastError(f"{HOW_TO_GET_A_TOKEN}{why}") from error
    except exception.ConnectionError as error:
        raise GymnastError(f"Modal cannot be reached: {_first_line(error)}; nothing was started") from error
    except exception.Error as error:
        raise GymnastError(f"Modal: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


def connect() -> None:
    """Raise GymnastError unless Modal is installed, can be reached, and knows us."""
    with faults_as_ours():
        import modal

        modal.Client.from_env().hello()


def deploy() -> None:
    """Bring the app there up to date; it outlives this process, and calls that run are left alone."""
    from gymnast.remote.modal_app import app

    with faults_as_ours():
        app.deploy()


def call_status(call_id: str) -> str | None:
    """What Modal knows of a call: pending, success, failure, timeout …; None if it knows nothing."""
    with faults_as_ours():
        import modal

        try:
            graph = modal.FunctionCall.from_id(call_id).get_call_graph()
        except modal.exception.NotFoundError:
            return None
    return next(
        (info.status.name.lower() for info in _inputs(graph) if info.function_call_id == call_id), None
    )


def _inputs(graph: list[Any]) -> Iterator[Any]:
    for info in graph:
        yield info
        yield from _inputs(info.children)


def cancel(call_id: str) -> None:
    with faults_as_ours():
        import modal

        modal.FunctionCall.from_id(call_id).cancel()


def log_lines(call_id: str, follow: bool) -> Iterator[str]:
    """What a call has printed so far; with `follow` until it ends."""
    with faults_as_ours():
        import modal

        logs = modal.FunctionCall.from_id(call_id).logs
        for entry in logs.stream() if follow else logs.fetch():
            yield str(entry.message)


def volume() -> modal.Volume:
    """The volume with the runs, which is made if there is none yet."""
    from gymnast.remote.modal_app import volume

    return volume


def read_volume_text(name: str, most: int = _MOST_STATE) -> str | None:
    """A small file of the volume; None if there is none, or it is larger than it may be."""
    data = bytearray()
    try:
        with faults_as_ours():
            for block in volume().read_file(name):
                data += block
                if len(data) > most:
                    return None
        return data.decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def read_volume_json(name: str) -> Any:
    """The same as JSON; None also if it is not."""
    text = read_volume_text(name)
    try:
        return None if text is None else parse_json(text)
    except ValueError:
        return None
