"""What runs inside an env worker: a share of the envs, stepped on command.

A command is one byte on a pipe and so is the answer; arrays are in the shared block. The worker
ends when its pipe closes, so it never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
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


def make_share(order: dict[str, Any]) -> tuple[EnvConfig, list[gym.Env[Any, Any]]]:
    """The envs of one share, and the config that they were made from."""
    register(order["registered"])
    config = EnvConfig.model_validate(order["config"])
    start, stop = order["rows"]
    return config, [make_env(config, training=order["training"]) for _ in range(start, stop)]


def _build(order: dict[str, Any], memory_fd: int) -> tuple[InProcessEnvs, SharedBlock]:
    config, envs = make_share(order)
    start, stop = order["rows"]
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

    def given() -> Any:
        return receive(command_fd)

    while received := os.read(command_fd, 1):
        answer, message = carry_out(received[0], envs, actions, start, given)
        os.write(answer_fd, answers[answer])
        if message is not None:
            send(answer_fd, message)


def carry_out(
    command: int, envs: InProcessEnvs, actions: np.ndarray, start: int, given: Callable[[], Any]
) -> tuple[Answer, Any]:
    """Do what a command says; the answer, and the message that follows it (None: there is none).

    start: the row of the first of these envs among all. given: reads the message that came with the command.
    """
    try:
        if command <= Command.STEP_1:
            step = envs.step_into(actions, command)
            return (Answer.DONE if step.final_obs is None else Answer.SOME_FINISHED), None
        if command <= Command.RESET_1:
            envs.reset_into(command - Command.RESET_0)
            return Answer.DONE, None
        if command == Command.SNAPSHOT:
            return Answer.MESSAGE, envs.snapshot()
        message = given()
        if command <= Command.RESTORE_1:
            turn = command - Command.RESTORE_0
            envs.restore_into(message["envs"], message["exact"], turn, message["started"])
            return Answer.DONE, None
        if command <= Command.CAPTURE_1:
            captured = envs.capture_from(message["rows"], command - Command.CAPTURE_0)
            return Answer.MESSAGE, {"states": [state.to_json() for state in captured]}
        states = [EnvState.from_json(state) for state in message["states"]]
        envs.begin_from_into(message["rows"], states, command - Command.BEGIN_0)
        return Answer.DONE, None
    except GymnastError as error:
        return Answer.REFUSED, {"error": str(error)}
    except EnvFailure as failure:
        trace = "".join(traceback.format_exception(failure))
        where = {"index": start + failure.index, "seed": failure.seed}
        return Answer.FAILED, {**where, "reason": failure.reason, "trace": trace}
