"""How the scheduler of the node puts pods on it, over any API that is reached by HTTP."""

from collections.abc import Awaitable, Callable

from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Kube

Bind = Callable[[Key, str], Awaitable[None]]


def binder(kube: Kube) -> Bind:
    """POSTs to pods/NAME/binding. The store in memory has no such path: there it is `store.bind`."""

    async def bind(key: Key, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": key.name}, "target": target}
        await kube.create(Kind("binding", "Binding", f"pods/{key.name}/binding"), key.namespace, body, dict)

    return bind
