"""Names of containers, volumes, mounts and ports that Manta puts into Pods and Services."""

from typing import Final

AUTOSCALER: Final = "autoscaler"
HISTORY_COLLECTOR: Final = "ray-history-collector"
JOB_SUBMITTER: Final = "ray-job-submitter"
WAIT_GCS_READY: Final = "wait-gcs-ready"
WAIT_TLS_IP_SAN: Final = "wait-for-tls-ip-san"

SHARED_MEMORY_VOLUME: Final = "shared-mem"
SHARED_MEMORY_PATH: Final = "/dev/shm"
LOGS_VOLUME: Final = "ray-logs"
LOGS_PATH: Final = "/tmp/ray"
TOKEN_VOLUME: Final = "ray-token"
TOKEN_PATH: Final = "/var/run/secrets/ray.io/serviceaccount"
TLS_VOLUME: Final = "ray-tls"
TLS_PATH: Final = "/etc/ray/tls"
GCS_STORAGE_VOLUME: Final = "gcs-storage"
GCS_STORAGE_PATH: Final = "/data/gcs"

AUTH_TOKEN_KEY: Final = "auth_token"

GCS_PORT_NAME: Final = "gcs-server"
CLIENT_PORT_NAME: Final = "client"
DASHBOARD_PORT_NAME: Final = "dashboard"
METRICS_PORT_NAME: Final = "metrics"
SERVE_PORT_NAME: Final = "serve"
SERVE_PORT_PREFIX: Final = "serve-"

GCS_PORT: Final = 6379
CLIENT_PORT: Final = 10001
DASHBOARD_PORT: Final = 8265
METRICS_PORT: Final = 8080
SERVE_PORT: Final = 8000
DASHBOARD_AGENT_PORT: Final = 52365
EVENTS_PORT: Final = 8084

# The head Service of a cluster whose Ray container declares no ports.
DEFAULT_PORTS: Final = (
    (CLIENT_PORT_NAME, CLIENT_PORT),
    (GCS_PORT_NAME, GCS_PORT),
    (DASHBOARD_PORT_NAME, DASHBOARD_PORT),
    (METRICS_PORT_NAME, METRICS_PORT),
    (SERVE_PORT_NAME, SERVE_PORT),
)
