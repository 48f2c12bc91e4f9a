"""YAML to JSON as Go does it; the expectations were taken from sigs.k8s.io/yaml and encoding/json."""

import pytest

from manta_common.gojson import encode
from manta_common.gotext import GoError
from manta_common.goyaml import read
from manta_common.validation.yamltext import mapping_fault


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("b: 1\na: x", '{"a":"x","b":1}', id="names in order"),
        pytest.param(
            "a: yes\nb: Off\nc: y\nd: null\ne: ~\nf:",
            '{"a":true,"b":false,"c":true,"d":null,"e":null,"f":null}',
            id="words",
        ),
        pytest.param("a: 'yes'\nb: \"1\"\nc: !!str 5", '{"a":"yes","b":"1","c":"5"}', id="quoted words are texts"),
        pytest.param(
            "a: 0777\nb: 0o17\nc: 0x1F\nd: 0b11\ne: 1_000\nf: 08",
            '{"a":511,"b":15,"c":31,"d":3,"e":1000,"f":8}',
            id="integers",
        ),
        pytest.param(
            "a: 1e3\nb: .5\nc: 1.\nd: 5.0\ne: -0\nf: !!float 3",
            '{"a":1000,"b":0.5,"c":1,"d":5,"e":0,"f":3}',
            id="floats",
        ),
        pytest.param(
            "a: 1e21\nb: 1.5e-7\nc: 1e-6\nd: 1e20",
            '{"a":1e+21,"b":1.5e-7,"c":0.000001,"d":100000000000000000000}',
            id="large and small",
        ),
        pytest.param(
            "a: 123456789012345678\nb: 99999999999999999999",
            '{"a":123456789012345680,"b":100000000000000000000}',
            id="integers are floats",
        ),
        pytest.param(
            "a: 1e400\nb: 1:30\nc: 2001-01-02\nd: 0o8\ne: '-'",
            '{"a":"1e400","b":"1:30","c":"2001-01-02","d":"0o8","e":"-"}',
            id="texts after all",
        ),
        pytest.param(
            "1: a\ntrue: b\n1.5: c\nyes: d", '{"1":"a","1.5":"c","true":"d"}', id="names are texts, the last one counts"
        ),
        pytest.param("a: <b>&\nü: 日本", '{"a":"\\u003cb\\u003e\\u0026","ü":"日本"}', id="what HTML could mistake"),
        pytest.param("x: &x {a: 1, b: 2}\nw: {<<: *x, b: 3}", '{"w":{"a":1,"b":3},"x":{"a":1,"b":2}}', id="merged"),
        pytest.param(
            "x: &x {a: 1}\nz: &z {a: 2, b: 4}\nw: {<<: [*x, *z]}",
            '{"w":{"a":1,"b":4},"x":{"a":1},"z":{"a":2,"b":4}}',
            id="the first merged one counts",
        ),
        pytest.param("x: &x {b: 2}\nw: {b: 3, <<: *x}", '{"w":{"b":2},"x":{"b":2}}', id="merged in where it stands"),
        pytest.param("a: [1, {b: ~}, []]", '{"a":[1,{"b":null},[]]}', id="lists"),
        pytest.param("", "null", id="nothing"),
    ],
)
def test_yaml_becomes_json(text: str, written: str) -> None:
    assert encode(read(text)) == written


@pytest.mark.parametrize(
    ("text", "because"),
    [
        pytest.param("a: [", "yaml", id="not YAML"),
        pytest.param("a: .inf", "unsupported value: +Inf", id="infinity"),
        pytest.param("a: .nan", "unsupported value: NaN", id="no number"),
        pytest.param("a: &x [*x]", "contains itself", id="a circle"),
        pytest.param("~: a", "unsupported map key", id="a name that is null"),
    ],
)
def test_what_json_cannot_say_is_told(text: str, because: str) -> None:
    with pytest.raises(GoError, match=because.replace("+", r"\+")):
        encode(read(text))


DEEP = {
    "lists": "[" * 60_000,
    "maps": "{a: " * 60_000,
    "items": "- " * 60_000,
    "names": "? " * 60_000,
    "lines": "\n".join(f"{' ' * depth}a:" for depth in range(300)),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_text_that_would_end_the_process_is_refused(text: str) -> None:
    with pytest.raises(GoError, match="exceeded max depth"):
        read(text)
    assert "exceeded max depth" in (mapping_fault(text) or "")


def test_a_text_that_repeats_itself_again_and_again_is_refused() -> None:
    lists = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(GoError, match="excessive aliasing"):
        read("\n".join(["a0: &a0 [x]", *lists]))


def test_many_things_are_not_deep() -> None:
    text = "\n".join(f"n{number}: [1, {{a: b}}]" for number in range(500))
    assert len(read(text)) == 500
    assert mapping_fault(text) is None
