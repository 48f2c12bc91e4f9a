"""What is below a pod: its log, commands in it, its ports, its binding and its eviction."""

from collections.abc import Callable
from datetime import datetime, timedelta

from aiohttp import web

from manta_common.keys import Key
from manta_common.kinds import POD
from manta_embedded.api.ages import moment_of
from manta_embedded.api.asked import Asked
from manta_embedded.api.channels import attach, run
from manta_embedded.api.forwarding import forward
from manta_embedded.api.machine import Command, LogQuery, Node
from manta_embedded.store import errors
from manta_embedded.store.bodies import encoded
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj, at_path
from manta_embedded.store.store import Store

SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
NOT_STARTED = ("ContainerCreating", "PodInitializing")


class Pods:
    """Answers for pods, with the help of whoever runs them."""

    def __init__(self, store: Store, node: Callable[[], Node]) -> None:
        self._store, self._node = store, node

    async def answer(self, request: web.BaseRequest, what: Asked) -> web.StreamResponse:
        """A log, a command, or a way to ports."""
        pod = self._store.get(POD, Key(what.namespace, what.name))
        query = request.rel_url.query
        if what.subresource == "portforward":
            return await forward(request, pod, self._node())
        container = _container(pod, query.get("container", ""))
        if what.subresource == "log":
            return await self._log(request, pod, container)
        if what.subresource == "attach":
            if _is_set(query.get("stdin", "")):
                raise errors.bad_request("containers have no standard input here: use `kubectl exec -i`")
            _check_started(pod, container)
            return await attach(request, pod, container, self._node())
        command = Command(
            container=container,
            argv=tuple(query.getall("command", ())),
            stdin=_is_set(query.get("stdin", "")),
            stdout=_is_set(query.get("stdout", "")),
            stderr=_is_set(query.get("stderr", "")),
            tty=_is_set(query.get("tty", "")),
        )
        if not command.argv:
            raise errors.bad_request("you must specify at least 1 command for the container")
        if at_path(pod, "status.phase") in ("Succeeded", "Failed"):
            text = f"cannot exec into a container in a completed pod; current phase is {at_path(pod, 'status.phase')}"
            raise errors.bad_request(text)
        return await run(request, pod, command, self._node())

    def bind(self, key: Key, body: Obj) -> bytes:
        """Put a pod on a node."""
        self._store.bind(key, at_path(body, "target.name") or "")
        return encoded({**SUCCESS, "code": 201})

    def evict(self, key: Key, body: Obj) -> bytes:
        """Delete a pod because its node wants it."""
        options = body.get("deleteOptions") or {}
        self._store.delete(POD, key, Deletion(grace_seconds=options.get("gracePeriodSeconds")))
        return encoded({**SUCCESS, "code": 201})

    async def _log(self, request: web.BaseRequest, pod: Obj, container: str) -> web.StreamResponse:
        wanted = _log_query(request, container, self._store.now())
        if not at_path(pod, "spec.nodeName"):
            return web.Response(text="")  # on no node there is no log yet
        _check_started(pod, container)
        chunks = self._node().logs(pod, wanted)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        try:
            first = await anext(chunks, b"")
            await response.prepare(request)
            await response.write(first)
            async for chunk in chunks:
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            return response
        finally:
            await chunks.aclose()
        return response


def _container(pod: Obj, name: str) -> str:
    spec = pod["spec"]
    known = [one["name"] for part in ("containers", "initContainers") for one in spec.get(part) or ()]
    if name:
        if name not in known:
            raise errors.bad_request(f"container {name} is not valid for pod {pod['metadata']['name']}")
        return name
    main: list[str] = [one["name"] for one in spec["containers"]]
    annotated: str = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container", "")
    if len(main) > 1 and annotated not in main:
        choice = " ".join(main)
        text = f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{choice}]"
        raise errors.bad_request(text)
    return annotated if annotated in main else main[0]


def _check_started(pod: Obj, container: str) -> None:
    statuses = [
        *(at_path(pod, "status.containerStatuses") or ()),
        *(at_path(pod, "status.initContainerStatuses") or ()),
    ]
    waiting = next((at_path(one, "state.waiting") for one in statuses if one["name"] == container), None)
    reason = (waiting or {}).get("reason", "")
    if reason in NOT_STARTED:
        name = pod["metadata"]["name"]
        raise errors.bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


def _log_query(request: web.BaseRequest, container: str, now: datetime) -> LogQuery:
    query = request.rel_url.query
    since = query.get("sinceTime", "")
    moment = moment_of(since)
    if since and moment is None:
        raise errors.bad_request(f"sinceTime: {since!r} is no time, such as 2026-01-01T00:00:00Z")
    if seconds := _number(query.get("sinceSeconds"), "sinceSeconds"):
        moment = now - timedelta(seconds=seconds)
    return LogQuery(
        container=container,
        follow=_is_set(query.get("follow", "")),
        previous=_is_set(query.get("previous", "")),
        timestamps=_is_set(query.get("timestamps", "")),
        tail_lines=_number(query.get("tailLines"), "tailLines"),
        limit_bytes=_number(query.get("limitBytes"), "limitBytes"),
        since=moment,
    )


def _number(text: str | None, name: str) -> int | None:
    if text is None or text.isdigit():
        return None if text is None else int(text)
    raise errors.bad_request(f"{name}: {text!r} is no number")


def _is_set(text: str) -> bool:
    return text in ("true", "1")
