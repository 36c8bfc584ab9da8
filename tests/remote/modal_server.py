"""A server on this machine that speaks Modal's protocol and executes what it is given.

A call is a container: Modal's own container entrypoint in a process of its own, with a folder as the volume.
So everything on the way there and back is real but the machines: what is deployed is imported and called by
Modal's code, logs are what the process prints, and a machine that is taken away is a process that gets SIGINT
or SIGKILL, after which the same input is given to another one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import web
from google.protobuf.empty_pb2 import Empty
from grpclib import GRPCError, Status
from grpclib.server import Server, Stream
from modal_proto import api_pb2
from modal_proto.api_grpc import ModalClientBase

import gymnast

PENDING = api_pb2.GenericResult.GENERIC_STATUS_UNSPECIFIED
SUCCESS = api_pb2.GenericResult.GENERIC_STATUS_SUCCESS
FAILURE = api_pb2.GenericResult.GENERIC_STATUS_FAILURE
TERMINATED = api_pb2.GenericResult.GENERIC_STATUS_TERMINATED
TIMEOUT = api_pb2.GenericResult.GENERIC_STATUS_TIMEOUT
BLOCK = 8 << 20
TOKEN = ("ak-test", "as-test")


@dataclass(eq=False)
class Call:
    """One input of the function, in as many containers after each other as it takes."""

    id: str
    function_id: str
    input: api_pb2.FunctionInput
    input_id: str
    created: float = field(default_factory=time.time)
    status: int = PENDING
    containers: int = 0
    failures: int = 0
    process: asyncio.subprocess.Process | None = None
    logs: list[tuple[float, str]] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    given: asyncio.Event = field(default_factory=asyncio.Event)  # its container has asked for the input
    volume: Path = Path()  # as its container sees it
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)  # of it, when it was committed last


class FakeModal:
    """Everything that Modal would keep: one app, its function, its calls and its volume."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.versions = [folder / "committed" / "0"]
        self.committed.mkdir(parents=True)
        self.blocks: dict[str, bytes] = {}  # of files that were asked for: a block never changes
        self.timeout: float | None = None  # seconds of a container, in place of the function's own
        self.calls: dict[str, Call] = {}
        self.function: api_pb2.Function | None = None  # as it was deployed
        self.options: dict[str, api_pb2.FunctionOptions] = {}  # of functions with options
        self.images: list[api_pb2.Image] = []
        self.mounted: set[str] = set()
        self.secrets: dict[str, dict[str, str]] = {}
        self.commits = 0
        self.missing: list[str] = []  # calls of the protocol that are not implemented here
        self.asked: list[str] = []
        self._numbers = count(1)
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = self.blocks_url = ""

    @property
    def committed(self) -> Path:
        """The volume as everybody sees it, and the next container: a folder that does not change."""
        return self.versions[-1]

    # The machine that it runs on

    @contextmanager
    def serving(self) -> Iterator[FakeModal]:
        self._thread.start()
        assert self._ready.wait(30)
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        self.url, self._server = await self.listen(None)
        app = web.Application()
        app.router.add_get("/block", self._block)
        self._web = web.AppRunner(app)
        await self._web.setup()
        site = web.TCPSite(self._web, "127.0.0.1", 0)
        await site.start()
        self.blocks_url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/block"  # type: ignore[union-attr]

    async def listen(self, call: Call | None) -> tuple[str, Server]:
        """A server for clients, or for the container of a call: that has one of its own, as a worker is."""
        server = Server([Servicer(self, call)])
        await server.start("127.0.0.1", 0)
        port = server._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return f"http://127.0.0.1:{port}", server

    async def _end(self) -> None:
        for call in self.calls.values():
            if call.process is not None and call.process.returncode is None:
                call.process.kill()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server.close()
        await self._web.cleanup()

    async def _block(self, request: web.Request) -> web.Response:
        return web.Response(body=self.blocks[request.query["block"]])

    def new_id(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers):06d}"

    # What a test does to it

    def wait_for(self, condition: Callable[[], Any], seconds: float = 300) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if result := condition():
                return result
            time.sleep(0.02)
        shown = {call.id: "".join(text for _, text in call.logs)[-3000:] for call in self.calls.values()}
        raise AssertionError(f"it did not happen within {seconds} s; {self.missing}; {shown}")

    def take_machine_away(self, call: Call, how: signal.Signals = signal.SIGINT) -> None:
        """As Modal does for somebody else: the container is interrupted, and may be killed."""
        assert call.process is not None
        os.kill(call.process.pid, how)

    # Containers

    def spawn(self, call: Call) -> None:
        self.calls[call.id] = call
        task = asyncio.ensure_future(self._keep(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, call: Call) -> None:
        """Containers for a call until it has an outcome."""
        definition = self.function_of(call.function_id)
        retries = definition.retry_policy.retries
        while call.status == PENDING:
            timed_out = await self._container(call, definition)
            if call.status != PENDING:
                return
            if call.cancelled.is_set():
                call.status = TERMINATED
            elif not call.given.is_set():  # it did not even import what was deployed
                call.status = FAILURE
            elif timed_out:
                call.failures += 1
                if call.failures > retries:
                    call.status = TIMEOUT

    def function_of(self, function_id: str) -> api_pb2.Function:
        assert self.function is not None
        return self.function

    async def _container(self, call: Call, definition: api_pb2.Function) -> bool:
        """One container, to its end; whether it ran out of time."""
        url, server = await self.listen(call)
        call.containers += 1
        call.given = asyncio.Event()
        task_id = self.new_id("ta")
        call.volume = self.folder / "volumes" / task_id
        shutil.copytree(self.committed, call.volume)  # a new machine sees what was committed
        call.seen = _files(call.volume)
        metadata = self.handle(call.function_id)
        own = api_pb2.Object(object_id=call.function_id, function_handle_metadata=metadata)
        others = [_object(dependency.object_id) for dependency in definition.object_dependencies]
        layout = api_pb2.AppLayout(function_ids={"train": call.function_id}, objects=[own, *others])
        arguments = self.folder / f"{task_id}.pb"
        arguments.write_bytes(
            api_pb2.ContainerArguments(
                task_id=task_id,
                function_id=call.function_id,
                app_id="ap-1",
                function_def=definition,
                app_layout=layout,
                environment_name="main",
            ).SerializeToString()
        )
        secrets: dict[str, str] = {}
        options = self.options.get(call.function_id)
        for secret in options.secret_ids if options is not None else ():
            secrets |= self.secrets[secret]
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MODAL_", "WANDB_", "GYMNAST_RUNS"))
        }
        call.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "modal._container_entrypoint",
            env={
                **inherited,
                **secrets,
                "MODAL_IS_REMOTE": "1",
                "MODAL_SERVER_URL": url,
                "MODAL_TASK_ID": task_id,
                "MODAL_CONTAINER_ARGUMENTS_PATH": str(arguments),
                "MODAL_IMAGE_ID": "im-1",
                "GYMNAST_REMOTE_RUNS": str(call.volume),
                "PYTHONPATH": str(Path(gymnast.__file__).parent.parent),  # what was mounted
                "PYTHONUNBUFFERED": "1",
            },
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        reading = asyncio.ensure_future(_read_lines(call))
        ended, given = asyncio.ensure_future(call.process.wait()), asyncio.ensure_future(call.given.wait())
        try:
            # The limit is of the input: a container may take as long as it likes to start.
            await asyncio.wait([ended, given], return_when=asyncio.FIRST_COMPLETED)
            done, _ = await asyncio.wait([ended], timeout=self.timeout or definition.timeout_secs)
            if not done:
                call.process.kill()
                await ended
            return not done
        finally:
            given.cancel()
            await asyncio.wait([reading], timeout=5)
            server.close()

    def handle(self, function_id: str) -> api_pb2.FunctionHandleMetadata:
        definition = self.function_of(function_id)
        return api_pb2.FunctionHandleMetadata(
            function_name="train",
            function_type=definition.function_type,
            definition_id="de-1",
            function_schema=definition.function_schema,
            supported_input_formats=definition.supported_input_formats,
            supported_output_formats=definition.supported_output_formats,
            app_id="ap-1",
        )


def _object(object_id: str) -> api_pb2.Object:
    """What a container is given of an image, a mount or the volume."""
    if object_id.startswith("vo-"):
        metadata = api_pb2.VolumeMetadata(version=api_pb2.VOLUME_FS_VERSION_V2)
        return api_pb2.Object(object_id=object_id, volume_metadata=metadata)
    return api_pb2.Object(object_id=object_id)


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    facts = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {str(path.relative_to(folder)): (fact.st_size, fact.st_mtime_ns) for path, fact in facts.items()}


async def _read_lines(call: Call) -> None:
    assert call.process is not None
    assert call.process.stdout is not None
    while line := await call.process.stdout.readline():
        call.logs.append((time.time(), line.decode(errors="replace")))


def _data(function: api_pb2.Function) -> api_pb2.FunctionData:
    ranked = api_pb2.FunctionData.RankedFunction(rank=0, function=function)
    return api_pb2.FunctionData(function_name=function.function_name, ranked_functions=[ranked])


class Servicer:
    """The protocol: `grpclib` asks for `__mapping__`, whose handlers look for a method of this class."""

    def __init__(self, modal: FakeModal, call: Call | None) -> None:
        self.modal, self.call = modal, call

    def __mapping__(self) -> Any:
        class Unbound(ModalClientBase):
            pass

        Unbound.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
        mapping = Unbound().__mapping__()  # type: ignore[abstract]
        for path, handler in mapping.items():
            name = path.rpartition("/")[2]
            mapping[path] = handler._replace(func=self._answering(name))
        return mapping

    def _answering(self, name: str) -> Callable[[Stream[Any, Any]], Any]:
        async def answer(stream: Stream[Any, Any]) -> None:
            self.modal.asked.append(name)
            method = getattr(self, name, None)
            if method is None:
                self.modal.missing.append(name)
                raise GRPCError(Status.UNIMPLEMENTED, f"the fake has no {name}")
            if self.call is None and stream.metadata is not None:
                given = stream.metadata.get("x-modal-token-id"), stream.metadata.get("x-modal-token-secret")
                if given != TOKEN:
                    raise GRPCError(Status.UNAUTHENTICATED, "Token ID is malformed or not known")
            request = await stream.recv_message()
            result = method(request)
            if hasattr(result, "__aiter__"):
                async for message in result:
                    await stream.send_message(message)
                return
            await stream.send_message(await result if asyncio.iscoroutine(result) else result)

        return answer

    # Who are you?

    def ClientHello(self, request: Empty) -> api_pb2.ClientHelloResponse:
        return api_pb2.ClientHelloResponse(image_builder_version="2025.06")

    def EnvironmentGetOrCreate(self, request: Any) -> api_pb2.EnvironmentGetOrCreateResponse:
        settings = api_pb2.EnvironmentSettings(image_builder_version="2025.06")
        metadata = api_pb2.EnvironmentMetadata(name="main", settings=settings)
        return api_pb2.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)

    # Deploying

    def AppGetByDeploymentName(self, request: Any) -> api_pb2.AppGetByDeploymentNameResponse:
        return api_pb2.AppGetByDeploymentNameResponse(app_id="ap-1" if self.modal.function else "")

    def AppCreate(self, request: Any) -> api_pb2.AppCreateResponse:
        return api_pb2.AppCreateResponse(app_id="ap-1")

    def AppGetLayout(self, request: Any) -> api_pb2.AppGetLayoutResponse:
        objects = api_pb2.Object(object_id="fu-1", function_handle_metadata=self.modal.handle("fu-1"))
        layout = api_pb2.AppLayout(function_ids={"train": "fu-1"}, objects=[objects])
        return api_pb2.AppGetLayoutResponse(app_layout=layout)

    def AppHeartbeat(self, request: Any) -> Empty:
        return Empty()

    def AppClientDisconnect(self, request: Any) -> Empty:
        return Empty()

    def AppPublish(self, request: Any) -> api_pb2.AppPublishResponse:
        return api_pb2.AppPublishResponse(url="https://modal.invalid/apps/gymnast", deployed_at=time.time())

    def MountPutFile(self, request: Any) -> api_pb2.MountPutFileResponse:
        self.modal.mounted.add(request.sha256_hex)
        return api_pb2.MountPutFileResponse(exists=True)

    def MountBatchedCheckExistence(self, request: Any) -> api_pb2.MountBatchedCheckExistenceResponse:
        return api_pb2.MountBatchedCheckExistenceResponse()

    def MountGetOrCreate(self, request: Any) -> api_pb2.MountGetOrCreateResponse:
        self.modal.mounted |= {file.filename for file in request.files}
        metadata = api_pb2.MountHandleMetadata(content_checksum_sha256_hex="00")
        return api_pb2.MountGetOrCreateResponse(mount_id=self.modal.new_id("mo"), handle_metadata=metadata)

    def ImageGetOrCreate(self, request: Any) -> api_pb2.ImageGetOrCreateResponse:
        self.modal.images.append(request.image)
        return api_pb2.ImageGetOrCreateResponse(
            image_id=self.modal.new_id("im"), result=api_pb2.GenericResult(status=SUCCESS)
        )

    def SecretGetOrCreate(self, request: Any) -> api_pb2.SecretGetOrCreateResponse:
        secret_id = self.modal.new_id("st")
        self.modal.secrets[secret_id] = dict(request.env_dict)
        return api_pb2.SecretGetOrCreateResponse(secret_id=secret_id)

    def FunctionPrecreate(self, request: Any) -> api_pb2.FunctionPrecreateResponse:
        metadata = api_pb2.FunctionHandleMetadata(function_name=request.function_name, app_id="ap-1")
        return api_pb2.FunctionPrecreateResponse(function_id="fu-1", handle_metadata=metadata)

    def FunctionCreate(self, request: Any) -> api_pb2.FunctionCreateResponse:
        self.modal.function = request.function
        return api_pb2.FunctionCreateResponse(
            function_id="fu-1",
            function=request.function,
            function_data=_data(request.function),
            handle_metadata=self.modal.handle("fu-1"),
        )

    # Calls

    def FunctionGet(self, request: Any) -> api_pb2.FunctionGetResponse:
        if self.modal.function is None:
            raise GRPCError(Status.NOT_FOUND, "no such function")
        return api_pb2.FunctionGetResponse(
            function_id="fu-1",
            handle_metadata=self.modal.handle("fu-1"),
            function=_data(self.modal.function),
        )

    def FunctionBindParams(self, request: Any) -> api_pb2.FunctionBindParamsResponse:
        function_id = self.modal.new_id("fu")
        self.modal.options[function_id] = request.function_options
        metadata = self.modal.handle(function_id)
        return api_pb2.FunctionBindParamsResponse(bound_function_id=function_id, handle_metadata=metadata)

    def FunctionMap(self, request: Any) -> api_pb2.FunctionMapResponse:
        (item,) = request.pipelined_inputs
        call = Call(self.modal.new_id("fc"), request.function_id, item.input, self.modal.new_id("in"))
        self.modal.spawn(call)
        answer = api_pb2.FunctionPutInputsResponseItem(idx=0, input_id=call.input_id)
        return api_pb2.FunctionMapResponse(function_call_id=call.id, pipelined_inputs=[answer])

    def FunctionCallFromId(self, request: Any) -> api_pb2.FunctionCallFromIdResponse:
        call = self._known(request.function_call_id)
        metadata = api_pb2.FunctionCallHandleMetadata(app_id="ap-1", function_id=call.function_id)
        return api_pb2.FunctionCallFromIdResponse(function_call_id=call.id, num_inputs=1, metadata=metadata)

    def FunctionGetCallGraph(self, request: Any) -> api_pb2.FunctionGetCallGraphResponse:
        call = self._known(request.function_call_id)
        status: Any = call.status
        return api_pb2.FunctionGetCallGraphResponse(
            inputs=[
                api_pb2.InputCallGraphInfo(
                    input_id=call.input_id, status=status, function_call_id=call.id, task_id="ta-1"
                )
            ],
            function_calls=[
                api_pb2.FunctionCallCallGraphInfo(
                    function_call_id=call.id, function_name="train", module_name="gymnast.remote.modal_app"
                )
            ],
        )

    def FunctionCallCancel(self, request: Any) -> Empty:
        call = self._known(request.function_call_id)
        call.cancelled.set()
        return Empty()

    def FunctionCallGetInfo(self, request: Any) -> api_pb2.FunctionCallGetInfoResponse:
        call = self._known(request.function_call_id)
        kinds = {SUCCESS: "succeeded", FAILURE: "failed", TIMEOUT: "timeout", TERMINATED: "cancelled"}
        info = api_pb2.FunctionCallInfo(function_call_id=call.id, created_at=call.created, total_inputs=1)
        getattr(info, f"{kinds.get(call.status, 'pending')}_inputs").total = 1
        return api_pb2.FunctionCallGetInfoResponse(info=info)

    def _known(self, call_id: str) -> Call:
        if call_id not in self.modal.calls:
            raise GRPCError(Status.NOT_FOUND, f"no call {call_id}")
        return self.modal.calls[call_id]

    # Logs

    def _batches(self, call: Call, since: int = 0) -> list[api_pb2.TaskLogsBatch]:
        return [
            api_pb2.TaskLogsBatch(
                entry_id=str(number + 1),
                items=[
                    api_pb2.TaskLogs(
                        data=text,
                        timestamp=at,
                        file_descriptor=api_pb2.FILE_DESCRIPTOR_STDOUT,
                        function_call_id=call.id,
                    )
                ],
            )
            for number, (at, text) in enumerate(call.logs)
            if number >= since
        ]

    def AppFetchLogs(self, request: Any) -> api_pb2.AppFetchLogsResponse:
        return api_pb2.AppFetchLogsResponse(batches=self._batches(self._known(request.function_call_id)))

    async def AppCountLogs(self, request: Any) -> api_pb2.AppCountLogsResponse:
        call = self._known(request.function_call_id)
        bucket = api_pb2.AppCountLogsResponse.LogBucket(stdout_logs=len(call.logs))
        bucket.bucket_start_at.FromSeconds(int(call.created))
        return api_pb2.AppCountLogsResponse(buckets=[bucket])

    async def AppGetLogs(self, request: Any) -> AsyncIterator[api_pb2.TaskLogsBatch]:
        call = self._known(request.function_call_id)
        sent = int(request.last_entry_id or 0)
        end = time.monotonic() + (request.timeout or 55)
        while time.monotonic() < end:
            for batch in self._batches(call, sent):
                sent = int(batch.entry_id)
                yield batch
            if call.status != PENDING and sent == len(call.logs):
                return
            await asyncio.sleep(0.05)

    # The volume

    def VolumeGetOrCreate(self, request: Any) -> api_pb2.VolumeGetOrCreateResponse:
        metadata = api_pb2.VolumeMetadata(version=api_pb2.VOLUME_FS_VERSION_V2, name=request.deployment_name)
        return api_pb2.VolumeGetOrCreateResponse(
            volume_id="vo-1", version=api_pb2.VOLUME_FS_VERSION_V2, metadata=metadata
        )

    def VolumeReload(self, request: Any) -> Empty:
        return Empty()

    def VolumeCommit(self, request: Any) -> api_pb2.VolumeCommitResponse:
        """What a container has changed becomes what everybody sees, in one step; the last one wins."""
        call, versions = self.call, self.modal.versions
        assert call is not None
        self.modal.commits += 1
        new = versions[-1].with_name(str(self.modal.commits))
        shutil.copytree(versions[-1], new)
        now = _files(call.volume)
        for name in call.seen.keys() - now.keys():
            (new / name).unlink(missing_ok=True)
        for name in (name for name, facts in now.items() if call.seen.get(name) != facts):
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(call.volume / name, new / name)
        call.seen = now
        versions.append(new)
        for old in versions[:-4]:  # a test may be reading the last ones
            shutil.rmtree(old)
            versions.remove(old)
        return api_pb2.VolumeCommitResponse()

    async def VolumeListFiles2(self, request: Any) -> AsyncIterator[api_pb2.VolumeListFiles2Response]:
        root = self.modal.committed
        start = root / request.path.strip("/")
        if not start.exists():
            raise GRPCError(Status.NOT_FOUND, f"no such file or directory {request.path}")
        found = start.rglob("*") if request.recursive else start.iterdir()
        entries = [
            api_pb2.FileEntry(
                path=str(path.relative_to(root)),
                type=api_pb2.FileEntry.DIRECTORY if path.is_dir() else api_pb2.FileEntry.FILE,
                size=path.stat().st_size,
                mtime=int(path.stat().st_mtime),
            )
            for path in sorted(found)
        ]
        yield api_pb2.VolumeListFiles2Response(entries=entries)

    def VolumeGetFile2(self, request: Any) -> api_pb2.VolumeGetFile2Response:
        path = self.modal.committed / request.path.strip("/")
        if not path.is_file():
            raise GRPCError(Status.NOT_FOUND, f"no such file {request.path}")
        data = path.read_bytes()
        size = len(data)
        parts = [data[at : at + BLOCK] for at in range(0, size, BLOCK)]
        names = [hashlib.sha256(part).hexdigest() for part in parts]
        self.modal.blocks |= dict(zip(names, parts, strict=True))
        urls = [f"{self.modal.blocks_url}?block={name}" for name in names]
        return api_pb2.VolumeGetFile2Response(get_urls=urls, size=size, start=0, len=size)

    # What a container asks

    def ContainerHello(self, request: Any) -> Empty:
        return Empty()

    async def ContainerHeartbeat(self, request: Any) -> api_pb2.ContainerHeartbeatResponse:
        assert self.call is not None
        try:
            await asyncio.wait_for(self.call.cancelled.wait(), 5)
        except TimeoutError:
            return api_pb2.ContainerHeartbeatResponse()
        event = api_pb2.CancelInputEvent(input_ids=[self.call.input_id])
        return api_pb2.ContainerHeartbeatResponse(cancel_input_event=event)

    async def FunctionGetInputs(self, request: Any) -> api_pb2.FunctionGetInputsResponse:
        call = self.call
        assert call is not None
        if call.given.is_set():
            await asyncio.sleep(3600)
        call.given.set()
        item = api_pb2.FunctionGetInputsItem(
            input_id=call.input_id, input=call.input, function_call_id=call.id, retry_count=call.failures
        )
        return api_pb2.FunctionGetInputsResponse(inputs=[item])

    def FunctionPutOutputs(self, request: Any) -> Empty:
        call = self.call
        assert call is not None
        (output,) = request.outputs
        retries = self.modal.function_of(call.function_id).retry_policy.retries
        if output.result.status == FAILURE and call.failures < retries:
            call.failures += 1  # another container gets the same input
        else:
            call.status = output.result.status
        return Empty()

    def TaskResult(self, request: Any) -> Empty:
        assert self.call is not None
        self.call.status = request.result.status
        return Empty()
