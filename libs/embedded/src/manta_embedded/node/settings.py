"""How the node is set up."""

import os
import pathlib
import shutil
import sys
from collections.abc import Mapping

import msgspec

from manta_embedded.node.restarts import Pace
from manta_embedded.node.sandbox import Spaces

CPU_OVERCOMMIT = 8  # requests are told to Ray but take nothing from anybody: a laptop can hold a small cluster
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

OWN_PROGRAMS = "/run/manta"  # where containers with files of their own see `own_programs`


class Api(msgspec.Struct, frozen=True, kw_only=True):
    """Where pods reach the API, and by which authority they trust it."""

    host: str = ""
    port: int = 0
    ca: str = ""  # PEM


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One node. `folder` holds what its pods write; `programs` is where `ray` and `python` are."""

    folder: pathlib.Path
    name: str = "manta"
    bridge: str = "manta0"  # empty: pods share the machine's network
    subnet: str = "10.244.0.0/16"
    services: str = "10.96.0.0/14"  # what addresses services have
    spaces: Spaces = Spaces()
    capacity: Mapping[str, str] = {}
    programs: str = ""
    api: Api = Api()
    proxy: str = ""  # a URL: the way out of the pods' network for HTTPS, see `proxy.way_out`
    pace: Pace = Pace()
    path: tuple[str, ...] = SYSTEM_PATH

    @property
    def search_path(self) -> str:
        """The PATH of containers that set none."""
        own = OWN_PROGRAMS if self.spaces.isolated else str(self.own_programs)
        return os.pathsep.join([self.program_folder, *self.path, own])

    @property
    def own_programs(self) -> pathlib.Path:
        """Where the node keeps what the machine may lack."""
        return self.folder / "programs"

    @property
    def program_folder(self) -> str:
        """Where Ray's programs are: beside the Python that runs this, or on the PATH, or where a setting says."""
        own = pathlib.Path(sys.executable).parent
        if self.programs or (own / "ray").exists():
            return self.programs or str(own)
        found = shutil.which("ray")
        return str(pathlib.Path(found).parent if found else own)

    @property
    def has_ray(self) -> bool:
        """Whether there is a Ray to run."""
        return os.access(pathlib.Path(self.program_folder) / "ray", os.X_OK)


def machine_capacity() -> dict[str, str]:
    """What this machine has for pods, CPU several times over."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": str((os.cpu_count() or 1) * CPU_OVERCOMMIT),
        "memory": f"{memory // 1024}Ki",
        "ephemeral-storage": "1Ti",
        "pods": "110",
    }
