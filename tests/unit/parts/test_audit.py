"""The audit log tells what service accounts made and deleted."""

import json
import pathlib
from typing import Any

from tests.parts import audit


def event(verb: str, name: str, at: str, *, code: int = 200, **place: str) -> str:
    about: dict[str, Any] = {"resource": "pods", "namespace": "team", "name": name, **place}
    told = {"verb": verb, "objectRef": about, "requestReceivedTimestamp": at, "responseStatus": {"code": code}}
    return json.dumps(told, separators=(",", ":"))


def test_what_was_made_and_deleted_is_told_in_order(tmp_path: pathlib.Path) -> None:
    lines = [
        event("delete", "a", "2026-01-01T00:00:03.000000Z"),
        event("create", "a", "2026-01-01T00:00:01.000000Z", code=201),
        event("create", "b", "2026-01-01T00:00:02.000000Z", code=409),
        event("create", "c", "2026-01-01T00:00:02.000000Z", code=201, namespace="other"),
        event("create", "d", "2026-01-01T00:00:02.000000Z", code=201, resource="services"),
        event("create", "e", "2026-01-01T00:00:02.000000Z", code=201, subresource="binding"),
        event("get", "a", "2026-01-01T00:00:02.000000Z"),
        '{"verb":"list","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}',
    ]
    log = tmp_path / "audit.log"
    log.write_text("\n".join(lines))
    found = audit.writes(log, "team", "pods")
    assert [(one.verb, one.name) for one in found] == [("create", "a"), ("delete", "a")]
