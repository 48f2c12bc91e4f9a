"""JSON as Go writes it."""

import pytest

from manta_common.gojson import encode


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}', id="keys in order, no spaces"),
        pytest.param({"é": 1, "z": 2}, '{"z":2,"é":1}', id="order by bytes, letters as they are"),
        pytest.param("a<b>&c", '"a\\u003cb\\u003e\\u0026c"', id="HTML is escaped"),
        pytest.param('"\\\n', '"\\"\\\\\\n"', id="quotes, backslashes and line ends"),
        pytest.param(4.0, "4", id="a whole number has no fraction"),
        pytest.param(0.5, "0.5", id="a fraction"),
        pytest.param(1e20, "100000000000000000000", id="digits up to twenty zeros"),
        pytest.param(1e21, "1e+21", id="then an exponent"),
        pytest.param(1.5e300, "1.5e+300", id="a long exponent"),
        pytest.param(0.00001, "0.00001", id="small fractions in digits"),
        pytest.param(0.000001234, "0.000001234", id="down to millionths"),
        pytest.param(1e-7, "1e-7", id="then an exponent of one digit"),
        pytest.param(-2.0, "-2", id="a negative number"),
    ],
)
def test_encoding(value: object, text: str) -> None:
    assert encode(value) == text
