"""Names, labels, quantities, versions, YAML and time zones; expectations were taken from Kubernetes and Go."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from manta_common.gotext import GoError
from manta_common.validation import syntax
from manta_common.validation.versions import (
    K8S_TOKEN_AUTH,
    SINGLE_HEALTH_ENDPOINT,
    TOKEN_AUTH,
    WORKER_PRIORITY,
    Version,
    parse_version,
    supports,
    supports_job_metadata,
)
from manta_common.validation.yamltext import mapping_fault
from manta_common.validation.zones import zone_fault

LONG = "must be no more than 63 characters"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("a", [], id="one letter"),
        pytest.param("a" * 63, [], id="63 letters"),
        pytest.param("a" * 64, [LONG], id="64 letters"),
        pytest.param("1a", [syntax.DNS1035_RULE], id="a digit first"),
        pytest.param("a-", [syntax.DNS1035_RULE], id="a hyphen last"),
        pytest.param("A", [syntax.DNS1035_RULE], id="a capital"),
        pytest.param("", [syntax.DNS1035_RULE], id="nothing"),
        pytest.param("a\n", [syntax.DNS1035_RULE], id="a line end"),
        pytest.param("A" * 64, [LONG, syntax.DNS1035_RULE], id="two faults"),
    ],
)
def test_dns_1035_labels(text: str, faults: list[str]) -> None:
    assert syntax.dns1035_label(text) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("1a", [], id="a digit first"),
        pytest.param("a.b", ["must not contain dots"], id="a dot"),
        pytest.param("a_b", [syntax.DNS1123_LABEL_RULE], id="an underscore"),
        pytest.param("a" * 64, [LONG], id="64 letters"),
    ],
)
def test_dns_1123_labels(text: str, faults: list[str]) -> None:
    assert syntax.dns1123_label(text) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("a", [], id="a name"),
        pytest.param("Ray.io_1-a", [], id="capitals, digits and signs"),
        pytest.param("a.b/c", [], id="a prefix"),
        pytest.param("a" * 64, ["name part must be no more than 63 bytes"], id="a name too long"),
        pytest.param("/a", ["prefix part must be non-empty"], id="no prefix"),
        pytest.param("a/", ["name part must be non-empty", f"name part {syntax.NAME_RULE}"], id="no name"),
        pytest.param("A/b", [f"prefix part {syntax.DNS1123_SUBDOMAIN_RULE}"], id="a prefix in capitals"),
        pytest.param(f"{'a' * 254}/b", ["prefix part must be no more than 253 bytes"], id="a prefix too long"),
        pytest.param("a/b/c", [syntax.QUALIFIED_NAME_RULE], id="two slashes"),
        pytest.param("é", [f"name part {syntax.NAME_RULE}"], id="another letter"),
    ],
)
def test_label_keys(text: str, faults: list[str]) -> None:
    assert syntax.qualified_name(text) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("a" * 63, [], id="63 letters"),
        pytest.param("é" * 32, ["must be no more than 63 bytes", syntax.LABEL_VALUE_RULE], id="64 bytes"),
        pytest.param("-a", [syntax.LABEL_VALUE_RULE], id="a hyphen first"),
    ],
)
def test_label_values(text: str, faults: list[str]) -> None:
    assert syntax.label_value(text) == faults


def test_several_faults_are_printed_as_go_prints_them() -> None:
    assert syntax.as_go_list(["a b", "c"]) == "[a b c]"


@pytest.mark.parametrize("value", ["0", "500m", "1.5Gi", ".5", "1.", "1e3", "1E-2", "-1", "+2k", "1Ei", 5])
def test_quantities(value: str | int) -> None:
    assert syntax.is_quantity(value)


@pytest.mark.parametrize("value", ["", "a", "1KB", "1 Gi", "1gi", "--1", ".", "1e"])
def test_what_is_no_quantity(value: str) -> None:
    assert not syntax.is_quantity(value)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("2.52.0", (2, 52), id="trailing zeros do not count"),
        pytest.param("2.52", (2, 52), id="two numbers are enough"),
        pytest.param(" v2.53.1", (2, 53, 1), id="a space and a v"),
        pytest.param("2.53.0rc1", (2, 53), id="a release candidate"),
        pytest.param("3.0.0.dev0+abc", (3,), id="a build of a day"),
        pytest.param("2.052", (2, 52), id="a zero within"),
        pytest.param("0.0", (), id="nothing but zeros"),
    ],
)
def test_a_version_is_read(text: str, version: Version) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", 'could not parse "" as version', id="nothing"),
        pytest.param("nightly", 'could not parse "nightly" as version', id="a word"),
        pytest.param("2", 'illegal version string "2"', id="one number"),
        pytest.param("02.1", 'illegal zero-prefixed version component "02" in "02.1"', id="a zero first"),
        pytest.param("2.1\nx", r'could not parse "2.1\nx" as version', id="two lines"),
        pytest.param(
            f"2.{2**64}",
            f'illegal non-numeric version component "{2**64}" in "2.{2**64}": '
            f'strconv.ParseUint: parsing "{2**64}": value out of range',
            id="a number too large",
        ),
    ],
)
def test_what_is_no_version_is_refused_in_kubernetes_words(text: str, complaint: str) -> None:
    with pytest.raises(GoError) as caught:
        parse_version(text)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    ("needed", "oldest", "newest_without"),
    [
        pytest.param(TOKEN_AUTH, "2.52.0", "2.51.99", id="token authentication"),
        pytest.param(SINGLE_HEALTH_ENDPOINT, "2.53", "2.52.1", id="one health endpoint"),
        pytest.param(K8S_TOKEN_AUTH, "2.55.0rc0", "2.54.0", id="Kubernetes' tokens"),
        pytest.param(WORKER_PRIORITY, "2.56.0", "2.55.0", id="priorities"),
    ],
)
def test_a_feature_needs_a_version(needed: Version, oldest: str, newest_without: str) -> None:
    assert supports(oldest, needed)
    assert not supports(newest_without, needed)
    assert not supports("nightly", needed)


@pytest.mark.parametrize(("version", "usable"), [("", True), ("2.6.0", True), ("2.5.9", False), ("nightly", False)])
def test_job_metadata_needs_ray_2_6_unless_no_version_is_given(version: str, usable: bool) -> None:
    assert supports_job_metadata(version) is usable


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("null", id="null"),
        pytest.param("# a comment", id="a comment"),
        pytest.param("{}", id="an empty mapping"),
        pytest.param("a: 1\na: 2", id="a key twice"),
        pytest.param("a: 2024-13-45", id="a date that is none"),
        pytest.param("a: !mine x", id="a tag nobody knows"),
        pytest.param("a: 1\n---\n[", id="a fault after the first document"),
        pytest.param("a: &x {b: c}\nd: *x\ne:\n  <<: *x", id="anchors and merges"),
        pytest.param("a: &x [*x]", id="a list within itself"),
        pytest.param("1: a\n1.5: b\ntrue: c", id="keys that become texts"),
    ],
)
def test_a_mapping_is_a_mapping(text: str) -> None:
    assert mapping_fault(text) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "a: [", "converting YAML to JSON: yaml: line 1: did not find expected node content", id="an open list"
        ),
        pytest.param('a: "x', "converting YAML to JSON: yaml: found unexpected end of stream", id="an open quote"),
        pytest.param(
            "a: 1\n b: 2",
            "converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
            id="an odd indentation",
        ),
        pytest.param(
            "a: 1\n\tb: 2",
            "converting YAML to JSON: yaml: line 2: found a tab character that violates indentation",
            id="a tab",
        ),
        pytest.param("a: *x", "converting YAML to JSON: yaml: unknown anchor 'x' referenced", id="an unknown anchor"),
        pytest.param("a\a: b", "converting YAML to JSON: yaml: control characters are not allowed", id="a bell"),
        pytest.param("[a]: b", "converting YAML to JSON: yaml: invalid map key in line 1", id="a list as a key"),
        pytest.param("a:\n  ~: b", "converting YAML to JSON: yaml: invalid map key in line 2", id="null as a key"),
        pytest.param(
            "<<: a",
            "converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value",
            id="a merge of a text",
        ),
        *(
            pytest.param(
                text,
                f"unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type "
                "types.RuntimeEnvType",
                id=f"{kind} instead of a mapping",
            )
            for text, kind in (("- a", "array"), ("a", "string"), ("5", "number"), ("1.5", "number"), ("yes", "bool"))
        ),
    ],
)
def test_what_is_no_mapping_is_refused_in_gos_words(text: str, complaint: str) -> None:
    assert mapping_fault(text) == f"error {complaint}"


@given(st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=5) | st.integers() | st.none(), max_size=3)))
def test_what_yaml_writes_is_a_mapping(value: dict[str, object]) -> None:
    assert mapping_fault(yaml.safe_dump(value)) is None


@given(st.text(alphabet="ab:-[]{},\"'\t\n#&*|>!?%@ ", max_size=12))
def test_any_text_gets_an_answer(text: str) -> None:
    assert mapping_fault(text) != ""


@pytest.mark.parametrize("name", ["UTC", "Local", "Europe/Berlin", "America/New_York", "Etc/GMT+5", "Asia/Kolkata"])
def test_a_time_zone_is_known(name: str) -> None:
    assert zone_fault(name) is None


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        pytest.param("Europe/Atlantis", "unknown time zone Europe/Atlantis", id="nowhere"),
        pytest.param("America", "unknown time zone America", id="a folder of zones"),
        pytest.param("a\0b", "unknown time zone a\0b", id="an impossible name"),
        pytest.param("../UTC", "time: invalid location name", id="a way out"),
        pytest.param("/etc/localtime", "time: invalid location name", id="a path"),
    ],
)
def test_a_time_zone_is_unknown(name: str, complaint: str) -> None:
    assert zone_fault(name) == complaint
