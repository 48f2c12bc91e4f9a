"""A session of kubectl: its commands in order, what they are given, and what of their output may differ."""

import json
import re
import subprocess

import msgspec

from tests.parts.cluster import Cluster
from tests.parts.patience import patient
from tests.tools.catalogue import TOOLS

LIMIT_SECONDS = 60
MANIFESTS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: demo}}
data: {colour: red, size: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: access}
stringData: {password: hidden}
---
apiVersion: v1
kind: Service
metadata: {name: front, labels: {app: demo}}
spec:
  selector: {app: demo}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: metrics, port: 9090}]
---
apiVersion: v1
kind: Pod
metadata: {name: lonely, labels: {app: demo}}
spec:
  schedulerName: nobody
  containers:
    - name: main
      image: example/none:1
      command: [sleep, "10"]
      env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
      ports: [{containerPort: 8080, name: http}]
      resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
      volumeMounts: [{name: scratch, mountPath: /scratch}]
    - {name: side, image: "example/side:2"}
  volumes: [{name: scratch, emptyDir: {}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: later}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "example/none:1"}]
"""
CHANGED = (
    MANIFESTS.replace("colour: red", "colour: blue")
    .replace('size: "3"', 'shape: "round"')
    .replace('{name: A, value: "1"}, ', "")
)
CHANGED_MAP = CHANGED.split("---")[0]
CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: small}
spec:
  rayVersion: "2.52.0"
  headGroupSpec:
    rayStartParams: {}
    template:
      spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}
  workerGroupSpecs:
    - groupName: workers
      replicas: 1
      minReplicas: 0
      maxReplicas: 4
      rayStartParams: {}
      template:
        spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.52.0"}]}
"""
UNKNOWN_FIELD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong}
date: {a: b}
"""
STATUS = json.dumps(
    {
        "status": {
            "state": "ready",
            "conditions": [
                {
                    "type": "HeadPodReady",
                    "status": "True",
                    "reason": "R",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
    }
)


class Command(msgspec.Struct, frozen=True):
    """One call of kubectl: its words, its standard input, and arguments that have blanks in them."""

    line: str
    given: str = ""
    arguments: tuple[str, ...] = ()


COMMANDS = (
    Command("apply -f -", MANIFESTS),
    Command("apply -f -", MANIFESTS),
    Command("apply --server-side -f -", CLUSTER),
    Command("get configmap,secret,service,pod,job"),
    Command("get pod lonely -o wide"),
    Command("get service front -o wide"),
    Command("get all -l app=demo"),
    Command("get raycluster"),
    Command("get raycluster small -o wide"),
    Command("get configmap settings -o yaml"),
    Command("get pod lonely -o json"),
    Command("get pod lonely -o jsonpath={.spec.containers[*].name}"),
    Command("get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image"),
    Command("get job later -o name"),
    Command("describe configmap settings"),
    Command("describe pod lonely"),
    Command("describe service front"),
    Command("describe job later"),
    Command("apply -f -", CHANGED_MAP),
    Command("get configmap settings -o jsonpath={.data}"),
    Command("diff -f -", MANIFESTS.split("---")[1]),
    Command("apply --dry-run=server -f -", CHANGED_MAP.replace("settings", "other")),
    Command("get configmap other"),
    Command("patch configmap settings --type merge -p", arguments=('{"data":{"added":"yes"}}',)),
    Command("patch configmap settings --type json -p", arguments=('[{"op":"remove","path":"/data/added"}]',)),
    Command(
        "patch service front -p",
        arguments=('{"spec":{"ports":[{"port":90,"name":"extra"},{"port":9090,"$patch":"delete"}]}}',),
    ),
    Command("get service front -o jsonpath={.spec.ports[*].port}"),
    Command("label pod lonely tier=back"),
    Command("annotate pod lonely note=kept"),
    Command("patch raycluster small --subresource status --type merge -p", arguments=(STATUS,)),
    Command("get raycluster small --watch --request-timeout=4s"),
    Command("wait raycluster/small --for=condition=HeadPodReady --timeout=30s"),
    Command("wait raycluster/small --for=jsonpath={.status.state}=ready --timeout=30s"),
    Command("explain pod.spec.containers.env"),
    Command("explain raycluster.spec --recursive"),
    Command("explain configmap.data"),
    Command("auth can-i create pods"),
    Command("auth can-i --as=system:serviceaccount:default:nobody list secrets"),
    Command("create serviceaccount worker"),
    Command("create role reader --verb=get,list --resource=pods,configmaps"),
    Command("create rolebinding reading --role=reader --serviceaccount={namespace}:worker"),
    Command("auth can-i --as=system:serviceaccount:{namespace}:worker list pods"),
    Command("auth can-i --as=system:serviceaccount:{namespace}:worker delete pods"),
    Command("get pods --as=system:serviceaccount:{namespace}:worker"),
    Command("get secrets --as=system:serviceaccount:{namespace}:worker"),
    Command("get role,rolebinding -o wide"),
    Command("describe rolebinding reading"),
    Command("get --raw /api/v1/namespaces/{namespace}/pods/absent"),
    Command("apply -f -", UNKNOWN_FIELD),
    Command("get gizmos"),
    Command("get pods -l", arguments=("a b",)),
    Command("get pod absent"),
    Command("create -f -", MANIFESTS.split("---", maxsplit=1)[0]),
    Command("scale raycluster small --replicas=2"),
    Command("scale job later --replicas=2"),
    Command("set image pod/lonely main=example/none:2"),
    Command("logs lonely -c main"),
    Command("get events"),
    Command("delete pod lonely --grace-period=0 --force"),
    Command("delete configmap settings --wait=false"),
    Command("delete service front"),
    Command("delete raycluster,job,secret --all"),
    Command("get configmap,secret,service,pod,job,raycluster --ignore-not-found"),
)
VARYING = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"resourceVersion\"?: \"?\d+\"?", "resourceVersion: N"),
    (r"Resource Version:  *\d+", "Resource Version: N"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+\d{4}", "TIME"),
    (r"\b10\.\d+\.\d+\.\d+\b *", "ADDRESS "),
    (r"\b\d+(s|m|m\d+s)( ago)?( |$)", "AGE "),
    (r"/tmp/(LIVE|MERGED)-\d+", r"/tmp/\1"),
    (r"\b(\w+/)?v1\.\w+-[a-z0-9]{5}\b", "NAME"),
    (r" +$", ""),
)


def run(cluster: Cluster, namespace: str, command: Command) -> str:
    """What kubectl prints and how it ends, without what differs from run to run."""
    words = (
        command.line.format(namespace=namespace).replace("{{", "{") if "{namespace}" in command.line else command.line
    )
    done = subprocess.run(
        [
            *(str(TOOLS["kubectl"].path), "--kubeconfig", str(cluster.kubeconfig), "-n", namespace),
            *words.split(),
            *command.arguments,
        ],
        input=command.given or None,
        capture_output=True,
        text=True,
        timeout=patient(LIMIT_SECONDS),
        check=False,
    )
    return plain(f"{done.stdout}{done.stderr}exit code {done.returncode}", namespace)


def plain(text: str, namespace: str) -> str:
    """A text without ages, uids, times, versions and addresses; widths of columns follow from these."""
    found = text.replace(namespace, "NAMESPACE")
    for pattern, word in VARYING:
        found = re.sub(pattern, word, found, flags=re.MULTILINE)
    return re.sub(r" {2,}", "  ", found)
