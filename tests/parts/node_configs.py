"""The configuration files of what runs on a real node."""

import json
import pathlib
from typing import Any

POD_NETWORK = "10.88.0.0/16"
DOMAIN = "cluster.local"
DNS_ADDRESS = "10.96.0.10"  # within the control plane's network of services
DNS_PORTS = {"dns": "UDP", "dns-tcp": "TCP"}
PAUSE_IMAGE = "manta.test/pause:1"


def containerd(folder: pathlib.Path, *, plugins: pathlib.Path, socket: pathlib.Path) -> str:
    """containerd's: everything under one folder; version 2 is read by containerd 1 and 2."""
    return f"""
version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{folder}/network"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""


def network() -> str:
    """The pods' network: each has a link to the node, which passes on between them and knows no way out.

    A bridge would need br_netfilter in the kernel: else what two pods say to each other over a service's address
    takes a short cut back over the bridge and is not translated.
    """
    ipam = {"type": "host-local", "subnet": POD_NETWORK, "routes": [{"dst": "0.0.0.0/0"}]}
    plugins = [{"type": "ptp", "ipam": ipam}, {"type": "portmap", "capabilities": {"portMappings": True}}]
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins})


def kubelet(folder: pathlib.Path, *, address: str, ca: pathlib.Path, cgroup: str, socket: pathlib.Path) -> str:
    """The kubelet's: runs on cgroup v1 and without CAP_SYS_RESOURCE too, and never evicts for a full disk."""
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": str(ca)}},
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": DOMAIN,
        "containerRuntimeEndpoint": f"unix://{socket}",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "featureGates": {"KubeletInUserNamespace": True},
        "imageGCHighThresholdPercent": 100,
        "podLogsDir": f"{folder}/logs",
        "resolvConf": f"{folder}/resolv.conf",
    }
    return json.dumps(document, indent=2)


def kube_proxy(kubeconfig: pathlib.Path, *, address: str, node: str) -> str:
    """kube-proxy's: iptables; connection tracking is left as it is, a namespace may not change it."""
    document: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": address,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": POD_NETWORK,
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "hostnameOverride": node,
        "iptables": {"minSyncPeriod": "100ms"},
        "mode": "iptables",
    }
    return json.dumps(document, indent=2)


def coredns(kubeconfig: pathlib.Path, *, address: str) -> str:
    """CoreDNS's: the cluster's names and no others."""
    return f"""
.:53 {{
    bind {address}
    errors
    ready {address}:8181
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 1
    }}
}}
"""


def dns_service() -> dict[str, Any]:
    """The service under whose address pods ask for names."""
    ports = [{"name": name, "port": 53, "protocol": protocol} for name, protocol in DNS_PORTS.items()]
    return {"metadata": {"name": "kube-dns"}, "spec": {"clusterIP": DNS_ADDRESS, "ports": ports}}


def dns_endpoints(address: str) -> dict[str, Any]:
    """Where that service leads: to CoreDNS on the node itself."""
    return {
        "metadata": {"name": "kube-dns-node", "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": name, "port": 53, "protocol": protocol} for name, protocol in DNS_PORTS.items()],
    }
