"""What runs inside an env worker: a share of the envs, stepped on command.

A command is one byte on a pipe and so is the answer; arrays are in the shared block. The worker
ends when its pipe closes, so it never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import traceback
from contextlib import suppress
from enum import IntEnum
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.backends.shared_block import SharedBlock
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import find_spec, make_env
from gymnast.envs.states import EnvState
from gymnast.errors import GymnastError
from gymnast.processes.messages import receive, send
from gymnast.processes.output import flush_streams
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.plain import plain_action_space, plain_space


class Command(IntEnum):
    """Commands; those that fill or read a frame come as two, one for each."""

    STEP_0, STEP_1, RESET_0, RESET_1, SNAPSHOT, RESTORE_0, RESTORE_1 = range(7)
    CAPTURE_0, CAPTURE_1, BEGIN_0, BEGIN_1 = range(7, 11)


class Answer(IntEnum):
    """Answers; FAILED, REFUSED and MESSAGE are followed by a message."""

    DONE, SOME_FINISHED, FAILED, MESSAGE, REFUSED = range(5)


def main(command_fd: int, answer_fd: int, memory_fd: int) -> None:
    """Build the envs and serve commands until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process to act on
    try:
        order = receive(command_fd)
        try:
            envs, block = _build(order, memory_fd)
        except GymnastError as error:
            send(answer_fd, {"error": str(error)})
            return
        send(answer_fd, {})
        start, stop = order["rows"]
        _serve(envs, block.actions[start:stop], start, command_fd, answer_fd)
        envs.close()
        flush_streams()
        os._exit(0)  # taking the interpreter down in order would keep `close` waiting
    except (EOFError, BrokenPipeError):
        pass  # the main process is gone


def register(registration: str | None) -> None:
    """Make an env known here that the parent may have registered at run time."""
    if registration is not None:
        given = json.loads(registration)
        spec = gym.envs.registration.EnvSpec.from_json(given["spec"])
        with suppress(GymnastError):  # unknown so far
            # A package that registers it does so now: later it would find it taken, and warn about that.
            find_spec(given["prefix"] + spec.id)
        gym.registry.setdefault(spec.id, spec)


def _build(order: dict[str, Any], memory_fd: int) -> tuple[InProcessEnvs, SharedBlock]:
    register(order["registered"])
    config = EnvConfig.model_validate(order["config"])
    start, stop = order["rows"]
    envs = [make_env(config, training=order["training"]) for _ in range(start, stop)]
    parts, values = tuple(order["reward_parts"]), tuple(order["episode_values"])
    actions = plain_action_space(envs[0].action_space)
    masked = config.action_masks
    block = SharedBlock(
        memory_fd,
        order["n_envs"],
        plain_space(envs[0].observation_space),
        actions,
        parts,
        MaskReader(actions).size if masked else 0,
        values,
    )
    frames = (block.frames[0].rows(start, stop), block.frames[1].rows(start, stop))
    return InProcessEnvs(envs, order["seeds"], parts, frames, masked, values), block


def _serve(envs: InProcessEnvs, actions: np.ndarray, start: int, command_fd: int, answer_fd: int) -> None:
    answers = [bytes([answer]) for answer in Answer]
    while True:
        received = os.read(command_fd, 1)
        if not received:
            return
        command = received[0]
        try:
            if command <= Command.STEP_1:
                step = envs.step_into(actions, command)
                os.write(answer_fd, answers[Answer.DONE if step.final_obs is None else Answer.SOME_FINISHED])
            elif command <= Command.RESET_1:
                envs.reset_into(command - Command.RESET_0)
                os.write(answer_fd, answers[Answer.DONE])
            elif command == Command.SNAPSHOT:
                snapshot = envs.snapshot()
                os.write(answer_fd, answers[Answer.MESSAGE])
                send(answer_fd, snapshot)
            elif command <= Command.RESTORE_1:
                saved = receive(command_fd)
                envs.restore_into(
                    saved["envs"], saved["exact"], command - Command.RESTORE_0, saved["started"]
                )
                os.write(answer_fd, answers[Answer.DONE])
            elif command <= Command.CAPTURE_1:
                states = envs.capture_from(receive(command_fd)["rows"], command - Command.CAPTURE_0)
                os.write(answer_fd, answers[Answer.MESSAGE])
                send(answer_fd, {"states": [state.to_json() for state in states]})
            else:
                given = receive(command_fd)
                states = [EnvState.from_json(state) for state in given["states"]]
                envs.begin_from_into(given["rows"], states, command - Command.BEGIN_0)
                os.write(answer_fd, answers[Answer.DONE])
        except GymnastError as error:
            os.write(answer_fd, answers[Answer.REFUSED])
            send(answer_fd, {"error": str(error)})
        except EnvFailure as failure:
            os.write(answer_fd, answers[Answer.FAILED])
            trace = "".join(traceback.format_exception(failure))
            where = {"index": start + failure.index, "seed": failure.seed}
            send(answer_fd, {**where, "reason": failure.reason, "trace": trace})
