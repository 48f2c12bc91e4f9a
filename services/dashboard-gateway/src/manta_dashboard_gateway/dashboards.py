"""The dashboards of all clusters that the feed shows, each made when it is first asked for."""

from collections.abc import Callable, Iterator

from manta_common.dashboard.calls import UNKNOWN_CLUSTER
from manta_common.errors import Refused
from manta_common.feed import View
from manta_common.keys import Key
from manta_dashboard_gateway.places import Target, Ways, proxy, target
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import HeadProxy
from manta_dashboard_gateway.seen import BY_CLUSTER, CLUSTERS, SERVICES


class Dashboards:
    """Hands out dashboards; a cluster that was made anew, or whose dashboard is elsewhere now, has another."""

    def __init__(
        self, ways: Ways, make: Callable[[Target], Dashboard], make_proxy: Callable[[Target], HeadProxy]
    ) -> None:
        self._ways, self._make, self._make_proxy = ways, make, make_proxy
        self._known: dict[Key, Dashboard] = {}
        self._proxies: dict[Key, HeadProxy] = {}

    def of(self, view: View, cluster: Key) -> Dashboard:
        """The dashboard of a cluster; Refused when there is no such cluster."""
        found = view.of(CLUSTERS).get(cluster)
        if found is None:
            self._known.pop(cluster, None)
            raise Refused(404, UNKNOWN_CLUSTER, f"there is no RayCluster {cluster}")
        wanted = target(found, view.of(SERVICES).find(BY_CLUSTER, cluster), self._ways)
        known = self._known.get(cluster)
        if known is None or known.target != wanted:
            known = self._known[cluster] = self._make(wanted)
        return known

    def proxy_of(self, view: View, cluster: Key) -> HeadProxy | None:
        """Serve's proxy in the head pod of a cluster, if there is such a pod."""
        found = view.of(CLUSTERS).get(cluster)
        wanted = proxy(found, self._ways) if found else None
        known = self._proxies.get(cluster)
        if wanted is None:
            self._proxies.pop(cluster, None)
            return None
        if known is None or known.target != wanted:
            known = self._proxies[cluster] = self._make_proxy(wanted)
        return known

    def prune(self, view: View) -> None:
        """Forget the dashboards of clusters that are no more."""
        clusters = view.of(CLUSTERS)
        for cluster in [cluster for cluster in self._known if clusters.held(cluster) is None]:
            del self._known[cluster]
            self._proxies.pop(cluster, None)

    def __iter__(self) -> Iterator[Dashboard]:
        return iter(list(self._known.values()))
