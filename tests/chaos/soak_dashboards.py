"""The dashboards of a soak: each cluster has one of its own, told apart by the name it is called by."""

import collections
import time

from aiohttp import web

from tests.chaos.soak_plan import MARK
from tests.parts.stub_dashboard import StubDashboard

REMEMBERED_SECONDS = 300.0  # after its end a job is no longer listed, so that no list grows for ever


class SoakDashboards(StubDashboard):
    """As the stub, but a list shows the jobs of one cluster; `taken` counts the submissions of each RayJob."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: collections.Counter[str] = collections.Counter()
        self._of: collections.defaultdict[str, list[str]] = collections.defaultdict(list)  # ids by host

    async def _submit(self, request: web.Request) -> web.Response:
        answer = await super()._submit(request)
        if answer.status == 200:
            body = await request.json()
            self.taken[(body.get("metadata") or {}).get(MARK, "")] += 1
            self._of[request.host].append(body["submission_id"])
            self.paths.clear()  # nobody asks for them here
        return answer

    async def _list(self, request: web.Request) -> web.Response:
        since = 1000 * (time.time() - REMEMBERED_SECONDS)
        shown = [self.jobs[name].shown() for name in self._of[request.host] if name in self.jobs]
        listed = [one for one in shown if (one["end_time"] or since) >= since]
        self._of[request.host] = [one["submission_id"] for one in listed]
        return web.json_response(listed)
