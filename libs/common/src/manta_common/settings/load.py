"""Reads a service's Config once, from the environment and a file, and tells all that is wrong at once."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from manta_common.errors import Misconfigured
from manta_common.settings.fields import Field, Settings, fields, text
from manta_common.settings.file import places
from manta_common.settings.names import FILE_VARIABLE, PREFIX, is_foreign, nearest
from manta_common.settings.read import meant_by_kuberay, problem, value_of

C = TypeVar("C", bound=Settings)


class _Given(msgspec.Struct, frozen=True):
    """What somebody wrote, and where."""

    origin: str
    raw: Any


def load(config: type[C], environment: Mapping[str, str], file: Path | None = None) -> C:
    """The Config that environment and file (given, or by MANTA_CONFIG) make; Misconfigured tells every problem."""
    known = fields(config)
    path = file or (Path(environment[FILE_VARIABLE]) if environment.get(FILE_VARIABLE) else None)
    written, problems = _written(path, config.SERVICE)
    problems += [*_unknown_variables(config, known, environment), *_unknown_places(config, known, written, path)]
    values: dict[str, Any] = {}
    for field in known:
        given = _given(config.SERVICE, field, environment=environment, written=written, path=path)
        if given is None:
            continue
        try:
            values[field.name] = value_of(field, given.raw)
        except ValueError as error:
            problems.append(problem(field, given.origin, raw=given.raw, error=error))
    return _made(config, values, problems)


def shown(config: Settings) -> dict[str, str]:
    """Every setting as text, without secrets."""
    return {field.name: text(getattr(config, field.name)) for field in fields(type(config))}


def changed(config: Settings) -> dict[str, str]:
    """The settings that are not at their default, as text, without secrets."""
    usual = {field.name: field.default for field in fields(type(config))}
    return {name: value for name, value in shown(config).items() if getattr(config, name) != usual[name]}


def _written(path: Path | None, service: str) -> tuple[Mapping[str, Any], list[str]]:
    """What the file says, or why it says nothing; the environment's problems are told all the same."""
    try:
        return (places(path, service), []) if path else ({}, [])
    except Misconfigured as error:
        return {}, [str(error)]


def _made(config: type[C], values: dict[str, Any], problems: list[str]) -> C:
    if problems:
        raise Misconfigured("\n".join(problems))
    made = config(**values)
    objections = list(made.objections())
    if objections:
        raise Misconfigured("\n".join(objections))
    return made


def _given(
    service: str, field: Field, *, environment: Mapping[str, str], written: Mapping[str, Any], path: Path | None
) -> _Given | None:
    """What counts of all that was written for a field: the last of these; an empty variable counts as not set."""
    taken = [(name, meant_by_kuberay(field, environment[name])) for name in field.also if environment.get(name)]
    found = [_Given(name, meant) for name, meant in taken if meant is not None]
    found += [_Given(f"{path}: {place}", written[place]) for place in field.places(service) if place in written]
    found += [_Given(name, environment[name]) for name in field.variables(service) if environment.get(name)]
    return found[-1] if found else None


def _unknown_variables(config: type[Settings], known: list[Field], environment: Mapping[str, str]) -> Iterator[str]:
    names = [FILE_VARIABLE, *(name for field in known for name in field.variables(config.SERVICE))]
    for name, value in sorted(environment.items()):
        if name.startswith(PREFIX) and name not in names and not is_foreign(name, value, config.SERVICE):
            yield f"{name} is no setting of Manta; {nearest(name, names)}"


def _unknown_places(
    config: type[Settings], known: list[Field], written: Mapping[str, Any], path: Path | None
) -> Iterator[str]:
    names = [place for field in known for place in field.places(config.SERVICE)]
    for place in sorted(set(written) - set(names)):
        yield f"{path}: {place} is no setting of Manta; {nearest(place, names)}"
