"""Recordings: make, follow, list, fetch, remove."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast import api
from gymnast.api import Recording
from gymnast.errors import GymnastError
from gymnast.inspect.context import answer, in_thread, inspector_of, share_in
from gymnast.inspect.wishes import read_wish
from gymnast.web.guard import read_json_object
from gymnast.web.security import Refused
from gymnast.web.wire import MIME


async def record(request: Request) -> Response:
    inspector = inspector_of(request)
    job = inspector.jobs.add(read_wish(await read_json_object(request), inspector))
    return answer(job.to_json(), 202)


async def list_jobs(request: Request) -> Response:
    return answer({"jobs": [job.to_json() for job in inspector_of(request).jobs.all()]})


async def show_job(request: Request) -> Response:
    return answer(inspector_of(request).jobs.get(request.path_params["job"]).to_json())


async def cancel_job(request: Request) -> Response:
    jobs = inspector_of(request).jobs
    job = jobs.get(request.path_params["job"])
    jobs.cancel(job)
    return answer(job.to_json())


async def list_recordings(request: Request) -> Response:
    inspector = inspector_of(request)
    run = request.query_params.get("run")
    folder = None if not run else inspector.run(run).path
    found = await in_thread(api.list_recordings, folder, runs_dir=inspector.runs_dir)
    return answer({"recordings": [info.to_json() for info in found]})


async def loaded_recording(request: Request) -> Recording:
    """The recording that the path names; 404 if there is none."""
    inspector = inspector_of(request)
    try:
        return await in_thread(inspector.loaded.get, request.path_params["recording"])
    except GymnastError as error:
        raise Refused(404, str(error)) from None


async def show_data(request: Request) -> Response:
    gamma, lam = share_in(request, "gamma"), share_in(request, "lam")
    recording = await loaded_recording(request)
    return Response(await in_thread(api.recording_binary, recording, gamma, lam), media_type=MIME)


async def show_csv(request: Request) -> Response:
    gamma, lam = share_in(request, "gamma"), share_in(request, "lam")
    recording = await loaded_recording(request)
    text = await in_thread(api.recording_csv, recording, gamma, lam)
    named = {"content-disposition": f'attachment; filename="{recording.info.id}.steps.csv"'}
    return Response(text.encode(errors="replace"), media_type="text/csv; charset=utf-8", headers=named)


async def delete_recording(request: Request) -> Response:
    inspector = inspector_of(request)
    name = request.path_params["recording"]
    try:
        await in_thread(api.recording_info, name, runs_dir=inspector.runs_dir)
    except GymnastError as error:
        raise Refused(404, str(error)) from None
    await in_thread(api.delete_recording, name, runs_dir=inspector.runs_dir)
    inspector.loaded.forget(name)
    return answer({"deleted": name})


ROUTES = [
    Route("/api/recordings", record, methods=["POST"]),
    Route("/api/recordings", list_recordings),
    Route("/api/recordings/{recording}", delete_recording, methods=["DELETE"]),
    Route("/api/recordings/{recording}/data", show_data),
    Route("/api/recordings/{recording}/steps.csv", show_csv),
    Route("/api/jobs", list_jobs),
    Route("/api/jobs/{job}", show_job),
    Route("/api/jobs/{job}", cancel_job, methods=["DELETE"]),
]
