"""Parts that many kinds share: object metadata, owner references and conditions."""

from typing import Annotated, Literal

from msgspec import Meta, field

from manta_common.api.wire import NonNegative64, Strings, Time, Wire, doc

CONDITION_TYPE_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
CONDITION_REASON_PATTERN = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class OwnerReference(Wire, frozen=True, kw_only=True):
    """Who owns an object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """The metadata that Manta reads; managed fields and the like are left out."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: Strings = ()


class Condition(Wire, frozen=True, kw_only=True):
    """One aspect of an object's state; the list holds each type once."""

    type: Annotated[
        str, Meta(max_length=316, pattern=CONDITION_TYPE_PATTERN), doc("Which aspect of the state this is about.")
    ]
    status: Annotated[Literal["True", "False", "Unknown"], doc("Whether it holds.")]
    observed_generation: Annotated[NonNegative64, doc("The generation of the spec that this was said of.")] = 0
    last_transition_time: Annotated[Time, doc("When `status` last changed.")]
    reason: Annotated[
        str,
        Meta(min_length=1, max_length=1024, pattern=CONDITION_REASON_PATTERN),
        doc("One CamelCase word that says why."),
    ]
    message: Annotated[str, Meta(max_length=32768), doc("The same for people.")]
