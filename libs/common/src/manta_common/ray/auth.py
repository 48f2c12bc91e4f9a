"""Tokens: the Secret that holds one, and what the containers need to show and to ask for it."""

import base64

from manta_common.api import containers, env, labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest, asks_for_token, child
from manta_common.ray.draft import Draft, add_volume, append_absent, mount, variable


def auth_secret(cluster: RayCluster, token: bytes) -> Manifest:
    """The Secret with the cluster's token, from 32 random bytes."""
    name = names.auth_secret(cluster.metadata.name)
    made = child(cluster, "v1", "Secret", name=name, labelled={labels.CLUSTER: cluster.metadata.name})
    text = base64.b64encode(token)
    return made | {"data": {containers.AUTH_TOKEN_KEY: base64.b64encode(text).decode()}}


def set_auth(draft: Draft) -> None:
    """Let Ray ask for the token, and give it to the containers that talk to Ray."""
    others = (draft.init_container(containers.WAIT_GCS_READY), draft.container(containers.AUTOSCALER))
    for container in (draft.ray, *(one for one in others if one is not None)):
        give_token(draft, container)


def give_token(draft: Draft, container: Manifest) -> None:
    """Give one container the token, if there is one: by its Secret, or from the pod's own account."""
    if not asks_for_token(draft.cluster):
        return
    options = draft.cluster.spec.auth_options
    append_absent(container, [variable(env.RAY_AUTH_MODE, "token")])
    if options and options.enable_k8s_token_auth:
        append_absent(container, [variable(env.ENABLE_K8S_TOKEN_AUTH, labels.TRUE)])
        mount(container, {"name": containers.TOKEN_VOLUME, "mountPath": containers.TOKEN_PATH, "readOnly": True})
        account = {"serviceAccountToken": {"path": "token"}}
        add_volume(draft.spec, {"name": containers.TOKEN_VOLUME, "projected": {"sources": [account]}})
        return
    secret = names.auth_secret(draft.cluster.metadata.name, (options.secret_name if options else None) or "")
    reference = {"secretKeyRef": {"name": secret, "key": containers.AUTH_TOKEN_KEY}}
    append_absent(container, [{"name": env.RAY_AUTH_TOKEN, "valueFrom": reference}])
