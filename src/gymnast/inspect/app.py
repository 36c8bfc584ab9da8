"""The inspector's application: routes, what they share, the page's files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

import gymnast
from gymnast.api import Recording
from gymnast.inspect import curve_routes, recording_routes, run_routes, sweep_routes
from gymnast.inspect.context import Inspector, answer, inspector_of
from gymnast.inspect.insight_routes import insight_routes
from gymnast.inspect.jobs import Jobs
from gymnast.inspect.live import follow
from gymnast.inspect.loaded import LoadedRecordings
from gymnast.inspect.review_routes import review_routes
from gymnast.web.assets import SHARED, Assets, answer_file
from gymnast.web.guard import ERROR_HANDLERS, Guarded, log_in, socket_route
from gymnast.web.security import Access, Refused

STATIC = Path(__file__).parent / "static"


def build_inspector(
    runs_dir: Path, access: Access, *, trust: bool = False, opened: Sequence[Recording] = ()
) -> Guarded:
    """The application behind its guard. It owns a process for recordings while it runs; the page begins with
    the `opened` recordings."""
    jobs = Jobs()
    loaded = LoadedRecordings(runs_dir.absolute(), opened)
    inspector = Inspector(runs_dir.absolute(), trust, access, jobs, loaded)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            jobs.close()

    app = Starlette(routes=_routes(access), exception_handlers=ERROR_HANDLERS, lifespan=lifespan)
    app.state.inspector, app.state.access = inspector, access
    return Guarded(app, access)


def _routes(access: Access) -> list[BaseRoute]:
    return [
        Route("/api/session", show_session),
        Route("/api/login", log_in, methods=["GET", "POST"]),
        *run_routes.ROUTES,
        *curve_routes.ROUTES,
        *recording_routes.ROUTES,
        *sweep_routes.ROUTES,
        *insight_routes(),
        *review_routes(),
        socket_route("/api/live", access, follow),
        Route("/plotly.min.js", show_plotly),
        Assets({"/": STATIC, "/assets/": STATIC, "/web/": SHARED}).route(),
    ]


async def show_session(request: Request) -> Response:
    inspector = inspector_of(request)
    inspector.jobs.warm_up()  # a page is open: a recording may be wanted soon
    missing = [name for name in ("torch", "captum") if find_spec(name) is None]
    return answer(
        {
            "version": gymnast.__version__,
            "runs_dir_name": inspector.runs_dir.name,
            "attribution": {
                "available": not missing,
                "reason": f"{' and '.join(missing)}: not installed" if missing else None,
            },
            "can_control": True,
            "trust": inspector.trust,
            "opened": [recording.info.to_json() for recording in inspector.loaded.opened.values()],
        }
    )


async def show_plotly(request: Request) -> Response:
    """As it comes inside the installed plotly package."""
    spec = find_spec("plotly")
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    file = None if folder is None else folder / "package_data" / "plotly.min.js"
    if file is None or not file.is_file():
        raise Refused(404, "charts need plotly: pip install 'gymnast[inspect]'")
    return answer_file(request, file)
