"""The threads of linear algebra, which all that runs in a process share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_holder: _Holder | None = None
_torch_users = _torch_threads = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread until the last one who wants that leaves; then as many as before the first came.

    Some libraries count threads for each thread that calls them: for those the limit is set here. Others have
    one number for the process, and then whatever else computes in it meanwhile has one thread too; for those
    the limit is set by a thread of its own, since of several trainings the first may well end first.
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    _come(controller)
    try:
        with controller.limit(limits=1, user_api="blas"):
            yield
    finally:
        _leave()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """The same for torch, which has one number for the process."""
    import torch

    global _torch_users, _torch_threads  # noqa: PLW0603  - as torch has
    with _lock:
        if _torch_users == 0:
            _torch_threads = torch.get_num_threads()
            torch.set_num_threads(1)
        _torch_users += 1
    try:
        yield
    finally:
        with _lock:
            _torch_users -= 1
            if _torch_users == 0:
                torch.set_num_threads(_torch_threads)


class _Holder:
    """Limits the process's threads until it is let go; the thread that sets a limit must also lift it."""

    def __init__(self, controller: Any) -> None:
        self._is_set, self._let_go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(controller,), daemon=True)
        self._thread.start()
        self._is_set.wait()

    def _hold(self, controller: Any) -> None:
        try:
            with controller.limit(limits=1, user_api="blas"):
                self._is_set.set()
                self._let_go.wait()
        finally:
            self._is_set.set()

    def release(self) -> None:
        self._let_go.set()
        self._thread.join()


def _come(controller: Any) -> None:
    global _users, _holder  # noqa: PLW0603  - there is one set of libraries in the process
    with _lock:
        _users += 1
        if _holder is None:
            _holder = _Holder(controller)


def _leave() -> None:
    global _users, _holder  # noqa: PLW0603
    with _lock:
        _users -= 1
        if _users == 0 and _holder is not None:
            _holder.release()
            _holder = None
