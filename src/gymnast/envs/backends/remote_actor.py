"""An actor: a process that steps a share of a learner's envs and knows nothing of policies.

It dials the learner, proves that it has the run's token, is given envs to build, and carries out commands
until the learner ends it. It needs no torch.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.backends.remote_arrays import FrameArrays, layout, turn_of
from gymnast.envs.backends.remote_handshake import Refused, greet_learner
from gymnast.envs.backends.remote_wire import LONGEST_MESSAGE, LONGEST_ORDER, Kind, Wire, WireError, bytes_of
from gymnast.envs.backends.worker_process import Command, carry_out, make_share
from gymnast.errors import GymnastError
from gymnast.processes.messages import receive
from gymnast.processes.output import flush_streams
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.plain import action_array_type, plain_action_space, plain_space
from gymnast.terminal.text import echo

_GREETING_SECONDS = 10.0
_PAYLOAD_SECONDS = 60.0  # for what follows a header to arrive
_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # between two attempts to dial

Say = Callable[[str], None]


def serve(
    host: str,
    port: int,
    token: str,
    *,
    name: str = "",
    most_envs: int | None = None,
    patience: float = 60.0,
    say: Say | None = None,
) -> None:
    """Dial the learner at host:port and step what it gives until it says that this is over.

    Dials again where the connection is lost, for `patience` seconds; then, or if either side refuses the
    other, raises GymnastError. `most_envs`: how many it can take. `say` gets a line of what happens.
    """
    tell = say or (lambda line: None)
    name = name or f"{socket.gethostname()}:{os.getpid()}"
    where = f"{host}:{port}"
    until = time.monotonic() + patience
    while True:
        wire = _dial(host, port, until)
        if wire is None:
            raise GymnastError(f"no learner answers at {where} ({patience:g} s)")
        try:
            greet_learner(wire, token, name, most_envs, time.monotonic() + _GREETING_SECONDS)
            tell(f"connected to {where}; waiting for envs")
            _serve_learner(wire, lambda line: tell(f"{where}: {line}"))
            tell(f"the learner at {where} needs no more steps")
            return
        except Refused as refused:
            raise GymnastError(f"refused by the learner at {where}: {refused}") from None
        except LostAtWork as error:
            tell(f"lost the learner at {where}: {error}; dialling again")
            until = time.monotonic() + patience
        except WireError as error:  # in the greeting, which may fail every time
            if time.monotonic() > until:
                raise GymnastError(f"no learner answers at {where}: {error}") from None
            time.sleep(_PAUSE)
        finally:
            wire.close()


class LostAtWork(WireError):
    """The connection was lost after the learner had accepted this actor."""


def _dial(host: str, port: int, until: float) -> Wire | None:
    """A connection, tried again and again; None if there is none in time."""
    pause = _PAUSE
    while True:
        try:
            return Wire(socket.create_connection((host, port), timeout=_GREETING_SECONDS))
        except socket.gaierror as error:
            raise GymnastError(f"{host} is not a host that can be found: {error.strerror}") from None
        except OSError:
            if time.monotonic() + pause > until:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _serve_learner(wire: Wire, tell: Say) -> None:
    """Build the envs of an order and step them, until the learner ends it."""
    try:
        header = wire.read_header(None, LONGEST_ORDER)
        if header.kind == Kind.END:
            return
        order = wire.read_json(header.length, time.monotonic() + _PAYLOAD_SECONDS)
        try:
            share = _Share(order)
        except GymnastError as error:
            wire.write_message({"error": str(error)})
            tell(f"the envs could not be built: {error}")
            wire.read_header(None, 0)  # until it hangs up
            return
        try:
            wire.write_message({"layout": share.layout, "gymnasium": gymnasium.__version__})
            start, stop = order["rows"]
            which = f"env {start}" if stop == start + 1 else f"envs {start} to {stop - 1}"
            tell(f"steps {which} of {order['config']['id']}")
            while share.serve_one(wire):
                pass
        finally:
            share.close()
    except WireError as error:
        raise LostAtWork(str(error)) from None


class _Share:
    """The envs of one actor, and the memory that their steps are sent from."""

    def __init__(self, order: dict[str, Any]) -> None:
        config, envs = make_share(order)
        observations = plain_space(envs[0].observation_space)
        actions = plain_action_space(envs[0].action_space)
        parts, values = tuple(order["reward_parts"]), tuple(order["episode_values"])
        masked = config.action_masks
        mask_size = MaskReader(actions).size if masked else 0
        frames = [Frame(len(envs), observations, parts, mask_size=mask_size, values=values) for _ in range(2)]
        self._envs = InProcessEnvs(envs, order["seeds"], parts, (frames[0], frames[1]), masked, values)
        self._arrays = [FrameArrays.of(frame) for frame in frames]
        shape, dtype = action_array_type(actions)
        self._actions = np.zeros((len(envs), *shape), dtype)
        self._given = bytes_of(self._actions)
        self._start = int(order["rows"][0])
        self.layout = layout(observations, actions)

    def serve_one(self, wire: Wire) -> bool:
        """Carry out one command; False if there are no more."""
        header = wire.read_header(None, LONGEST_MESSAGE)
        command = header.kind
        if command == Kind.END:
            return False
        if command > Command.BEGIN_1 or header.length != (
            self._given.nbytes if command <= Command.STEP_1 else 0
        ):
            raise WireError("a command came that is none of this protocol")
        if command <= Command.STEP_1:
            wire.read([self._given], time.monotonic() + _PAYLOAD_SECONDS)

        def given() -> Any:
            return wire.read_message(time.monotonic() + _PAYLOAD_SECONDS, LONGEST_MESSAGE)

        began = time.perf_counter_ns()
        answer, message = carry_out(command, self._envs, self._actions, self._start, given)
        if message is not None:
            wire.write_message(message, kind=answer, number=header.number)
            return True
        busy = (time.perf_counter_ns() - began) // 1000
        views = self._arrays[turn_of(command)].to_send(command, answer)
        wire.write(answer, views, number=header.number, busy=busy)
        return True

    def close(self) -> None:
        self._envs.close()


def main(order_fd: int) -> None:
    """What runs in an actor's own process: its order comes through a pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    order = receive(order_fd)
    os.close(order_fd)
    talks = order.pop("talks")
    try:
        serve(**order, say=echo_line if talks else None)
    except GymnastError as error:
        echo(f"actor: {error}", err=True)
        flush_streams()
        os._exit(GymnastError.exit_code)
    flush_streams()
    os._exit(0)  # taking the interpreter down in order would keep the learner waiting


def echo_line(line: str) -> None:
    echo(f"actor: {line}")
