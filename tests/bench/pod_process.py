"""The `manta` command as in a pod: it gets in by a service account, whose folder MANTA_BENCH_ACCOUNT names.

To read a kubeconfig, which no pod has, costs a little memory and time to start.
"""

import functools
import os
import pathlib
import sys

from manta_cli.main import main
from manta_common.kube import access

if __name__ == "__main__":
    account = pathlib.Path(os.environ.pop("MANTA_BENCH_ACCOUNT"))
    setattr(access, "service_account", functools.partial(access.service_account, folder=account))  # noqa: B010
    sys.exit(main())
