"""Service accounts, roles and role bindings, trimmed to what Manta reads of them."""

from msgspec import field

from manta_common.api.meta import ObjectMeta
from manta_common.api.wire import Strings, Wire


class ServiceAccount(Wire, frozen=True, kw_only=True):
    """A service account."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class PolicyRule(Wire, frozen=True, kw_only=True):
    """What a Role allows."""

    api_groups: Strings = ()
    resources: Strings = ()
    resource_names: Strings = ()
    verbs: Strings = ()


class Role(Wire, frozen=True, kw_only=True):
    """A Role."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    rules: tuple[PolicyRule, ...] = ()


class RoleRef(Wire, frozen=True, kw_only=True):
    """The role that is given."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class Subject(Wire, frozen=True, kw_only=True):
    """Who it is given to."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class RoleBinding(Wire, frozen=True, kw_only=True):
    """A role given to somebody."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    role_ref: RoleRef = field(default_factory=RoleRef)
    subjects: tuple[Subject, ...] = ()
