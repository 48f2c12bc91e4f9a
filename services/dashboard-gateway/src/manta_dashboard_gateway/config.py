"""The dashboard-gateway's settings."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

from msgspec import Meta

import manta_common.config
from manta_common.config import Address, between
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import BY_POD, BY_PROXY, BY_SERVICE, Ways
from manta_dashboard_gateway.rounds import Limits

_REACH = "service, pod, proxy, or an address such as 127.0.0.1:8265"


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """How dashboards are reached, and how often they are asked."""

    SERVICE: ClassVar[str] = "dashboard-gateway"

    reach: Annotated[
        str,
        Meta(
            description="How dashboards are reached: by the DNS name of the head `service`, the address of the head"
            " `pod`, the API server's `proxy` (needs the right to `services/proxy`), or all at one address, told apart"
            " by the `Host` header.",
            extra={"expected": _REACH},
        ),
    ] = BY_SERVICE
    tls: Annotated[
        bool,
        Meta(
            description="Speak TLS to dashboards of clusters with `tlsOptions.enabled` (gate `RayClusterMTLS`), by"
            " their own CA. Ray serves its dashboard without TLS: only for those behind something that does."
        ),
    ] = False
    poll_interval: Annotated[
        timedelta, Meta(description="How often a dashboard is asked for its jobs.", extra=between("100ms", "1m"))
    ] = timedelta(seconds=3)
    new_poll_interval: Annotated[
        timedelta,
        Meta(
            description="The same for 30s after a job has begun or its cluster's head has become ready.",
            extra=between("50ms", "1m"),
        ),
    ] = timedelta(milliseconds=500)
    longest_poll_interval: Annotated[
        timedelta,
        Meta(description="The same for a dashboard that does not answer, at most.", extra=between("1s", "10m")),
    ] = timedelta(seconds=30)
    request_limit: Annotated[
        timedelta,
        Meta(
            description="How long a dashboard may take to tell of a job; for a list of all jobs three times as long.",
            extra=between("100ms", "1m"),
        ),
    ] = timedelta(seconds=5)
    requests_at_once: Annotated[
        int, Meta(ge=1, le=10_000, description="Most requests at once to dashboards that answer.")
    ] = 512

    def objections(self) -> Iterator[str]:
        """What a text cannot say of itself."""
        yield from super().objections()
        if self.reach not in (BY_SERVICE, BY_POD, BY_PROXY) and not _is_address(self.reach):
            yield f"MANTA_DASHBOARD_GATEWAY_REACH is {self.reach!r}; expected {_REACH}"

    @property
    def ways(self) -> Ways:
        """How dashboards are reached."""
        return Ways(reach=self.reach, domain=self.cluster_domain, tls=self.tls and self.feature_gates.mtls)

    @property
    def pace(self) -> Pace:
        """How often dashboards are asked."""
        return Pace(
            usual_seconds=self.poll_interval.total_seconds(),
            new_seconds=self.new_poll_interval.total_seconds(),
            longest_seconds=self.longest_poll_interval.total_seconds(),
        )

    @property
    def limits(self) -> Limits:
        """How long dashboards may take."""
        seconds = self.request_limit.total_seconds()
        return Limits(one_seconds=seconds, list_seconds=3 * seconds)


def _is_address(text: str) -> bool:
    try:
        found = Address.parse(text)
    except ValueError:
        return False
    return bool(found.host) and found.port > 0
