"""The light-weight submitter: `/submitter [FLAGS] -- ENTRYPOINT`, the command of a submitterPodTemplate.

It takes the flags and the variables of KubeRay's, says the same, and ends with the same exit codes. It is the part of
Manta that runs in people's pods, beside Ray and without Ray's packages.
"""

import os
import sys

from manta_submitter.following import follow
from manta_submitter.submission import Failed, Target, submission, submit


def main() -> int:
    """Submit the job, unless Ray has it already, and copy its log until it ends; the exit code."""
    try:
        target = Target.of(os.environ)
        body = submission(sys.argv[1:], target.submission_id)
        job_id = submit(target, body)
        _say(f"SUCC -- Job '{job_id}' submitted successfully" if job_id else _known(target.submission_id))
        _say("INFO -- Tailing logs until the job finishes:")
        follow(target, job_id or target.submission_id, sys.stdout.buffer)
    except (Failed, OSError) as error:
        sys.stderr.write(f"ERROR -- {error}\n")
        return 1
    _say(f"SUCC -- Job '{job_id or target.submission_id}' succeeded")
    return 0


def _known(submission_id: str) -> str:
    return f"INFO -- Job '{submission_id}' has already been submitted, tailing logs."


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
