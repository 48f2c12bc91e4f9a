"""Tokens: the Secret that holds one, and what the containers need to show and to ask for it."""

import base64

from manta_common.api import containers, env, labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest, asks_for_token, child
from manta_common.ray.draft import Draft, add_volume, append, append_absent, variable


def auth_secret(cluster: RayCluster, token: bytes) -> Manifest:
    """The Secret with the cluster's token, from 32 random bytes."""
    name = names.auth_secret(cluster.metadata.name)
    made = child(cluster, "v1", "Secret", name=name, labelled={labels.CLUSTER: cluster.metadata.name})
    text = base64.b64encode(token)
    return made | {"data": {containers.AUTH_TOKEN_KEY: base64.b64encode(text).decode()}}


def set_auth(draft: Draft) -> None:
    """Let Ray ask for the token, and give it to the containers that wait for Ray."""
    waiting = draft.init_container(containers.WAIT_GCS_READY)
    for container in (draft.ray, *([waiting] if waiting else [])):
        give_token(draft.cluster, container)
    if asks_for_token(draft.cluster) and _is_by_kubernetes(draft.cluster):
        account = {"serviceAccountToken": {"path": "token"}}
        add_volume(draft.spec, {"name": containers.TOKEN_VOLUME, "projected": {"sources": [account]}})


def give_token(cluster: RayCluster, container: Manifest) -> None:
    """Give one container the token, if there is one: by its Secret, or from the pod's own account."""
    if not asks_for_token(cluster):
        return
    append_absent(container, [variable(env.RAY_AUTH_MODE, "token")])
    if _is_by_kubernetes(cluster):
        append_absent(container, [variable(env.ENABLE_K8S_TOKEN_AUTH, labels.TRUE)])
        if all(one["name"] != containers.TOKEN_VOLUME for one in container.get("volumeMounts", ())):
            mounted = {"name": containers.TOKEN_VOLUME, "mountPath": containers.TOKEN_PATH, "readOnly": True}
            append(container, "volumeMounts", [mounted])
        return
    options = cluster.spec.auth_options
    secret = names.auth_secret(cluster.metadata.name, (options.secret_name if options else None) or "")
    reference = {"secretKeyRef": {"name": secret, "key": containers.AUTH_TOKEN_KEY}}
    append_absent(container, [{"name": env.RAY_AUTH_TOKEN, "valueFrom": reference}])


def _is_by_kubernetes(cluster: RayCluster) -> bool:
    return cluster.spec.auth_options is not None and cluster.spec.auth_options.enable_k8s_token_auth is True
