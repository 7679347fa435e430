"""Configurations: frozen, validated, and strict about their keys.

A config is written beside every result and hashed; two runs with the same hash are the same run. An unknown key is
an error that names the nearest known key, because a silently ignored setting is a wrong experiment.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_serializer

from quantascope.runs.errors import InvalidConfig, nearest

LARGEST_COUNT = 10**12
"""Upper bound for counts; larger numbers would overflow."""
LARGEST_FLOAT = 1e30
"""The square root of this and its product with any weight fit float32."""
LARGEST_SEED = 2**32 - 1
"""Every generator takes seeds up to here."""
Positive = Annotated[int, Field(gt=0, le=LARGEST_COUNT)]
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Width = Annotated[int, Field(gt=0, le=10**6)]
"""A width of a network, or a number of sensors: its square is still a count."""
Depth = Annotated[int, Field(gt=0, le=1000)]
"""Layers of a network."""
PositiveFloat = Annotated[float, Field(gt=0, le=LARGEST_FLOAT, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
NonNegativeFloat = Annotated[float, Field(ge=0, le=LARGEST_FLOAT, allow_inf_nan=False)]


def _none_twice(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("give each value once")
    return values


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values or len(set(values)) < len(values):
        raise ValueError("give at least one value, and none twice")
    return values


EVERY_KEY = {"every_key": True}
"""Context in which a config shows its later keys even at their default."""
Distinct = AfterValidator(_distinct)
"""For tuples in which every entry is a separate run."""
Seeds = Annotated[tuple[Seed, ...], Distinct]
FurtherSeeds = Annotated[tuple[Seed, ...], AfterValidator(_none_twice)]
"""Additional seeds; may be empty."""


# Not `Self`: beartype, which checks the tests, cannot resolve it on a method by itself.
AnyConfig = TypeVar("AnyConfig", bound="Config")


class Config(BaseModel):
    """Base of all configurations.

    >>> class Walk(Config):
    ...     steps: Positive = 10
    >>> Walk.parse({"stepz": 3})
    Traceback (most recent call last):
    quantascope.runs.errors.InvalidConfig: unknown key 'stepz' in Walk; did you mean 'steps'?
    >>> Walk().replace({"steps": 20})
    Walk(steps=20)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())

    KIND: ClassVar[str] = ""
    """Name of this kind of run in its folder; the class may be renamed, this must not change."""
    LATER: ClassVar[tuple[str, ...]] = ()
    """Keys that were added later; omitted at their default, so that older configs keep their hashes."""

    @model_serializer(mode="wrap")
    def _without_later_keys(self, handler: Any, info: Any) -> dict[str, Any]:
        values = handler(self)
        if info.context != EVERY_KEY:
            for key in self.LATER:
                if getattr(self, key) == type(self).model_fields[key].default:
                    values.pop(key, None)
        return values

    @classmethod
    def parse(cls: type[AnyConfig], values: Mapping[str, Any]) -> AnyConfig:
        """Validate a mapping read from disk or from the command line."""
        try:
            return cls.model_validate_json(json.dumps(values))
        except ValidationError as error:
            raise InvalidConfig(_first_complaint(cls, error)) from None

    def replace(self: AnyConfig, changes: Mapping[str, Any]) -> AnyConfig:
        """A copy with dotted keys changed, as in ``{"training.steps": 500}``.

        A changed `kind` comes first and brings the defaults of the new kind, which other keys may then change.
        """
        kinds = {key: value for key, value in changes.items() if key.split(".")[-1] == "kind"}
        rest = {key: value for key, value in changes.items() if key not in kinds}
        values = self.model_dump(mode="json", context=EVERY_KEY)
        for key in sorted(kinds, key=lambda key: key.count(".")):
            place, leaf = self._find(values, key)
            place.clear()
            place[leaf] = kinds[key]
            values = self.parse(values).model_dump(mode="json", context=EVERY_KEY)
        for key, value in rest.items():
            place, leaf = self._find(values, key)
            place[leaf] = value
        return self.parse(values)

    def _find(self, values: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
        """The section of `values` that holds a dotted key, and the key's name in it."""
        *path, leaf = key.split(".")
        place = values
        for part in path:
            if not isinstance(place.get(part), dict):
                raise self._unknown(key, part, place)
            place = place[part]
        if leaf not in place:
            raise self._unknown(key, leaf, place)
        return place, leaf

    def _unknown(self, key: str, part: str, place: Iterable[str]) -> InvalidConfig:
        """The complaint about a key; one of its name in another section comes before one that looks alike."""
        name = key.split(".")[-1]
        alike = [known for known in dotted(self.model_dump(mode="json")) if known.split(".")[-1] == name]
        meant = f"; did you mean '{alike[0]}'?" if alike else _nearest_key(part, place)
        return InvalidConfig(f"unknown key '{key}' in {type(self).__name__}{meant}")

    def hash(self) -> str:
        """Sixteen hex digits that identify this configuration."""
        return fingerprint(self.model_dump(mode="json"))


def dotted(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted keys.

    >>> dotted({"model": {"width": 8}, "steps": 3})
    {'model.width': 8, 'steps': 3}
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        inner = dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
        found |= inner
    return found


def fingerprint(values: Any) -> str:
    """Hash of JSON-like values, independent of key order."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(first: Mapping[str, Any], second: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Dotted keys whose values differ, each as ``key: first -> second``."""
    found: list[str] = []
    for key in sorted({*first, *second}):
        one, two = first.get(key), second.get(key)
        before, after = _shown(first, key), _shown(second, key)
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            found += differences(cast(Mapping[str, Any], one), cast(Mapping[str, Any], two), f"{prefix}{key}.")
        elif before != after:
            found.append(f"{prefix}{key}: {before} -> {after}")
    return found


def _shown(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "absent"


def _first_complaint(cls: type[BaseModel], error: ValidationError) -> str:
    complaint = error.errors()[0]
    owner, keys = _owner(cls, complaint["loc"])
    where = ".".join(keys)
    if complaint["type"] == "extra_forbidden":
        return f"unknown key '{where}' in {cls.__name__}{_nearest_key(keys[-1], owner.model_fields)}"
    message = complaint["msg"].removeprefix("Value error, ")
    if not where:
        return message
    whole_section = complaint["type"] == "value_error" and isinstance(complaint["input"], dict)
    value = "" if whole_section else f" = {complaint['input']!r}"
    return f"{cls.__name__}.{where}{value}: {message}"


def _owner(cls: type[BaseModel], location: tuple[int | str, ...]) -> tuple[type[BaseModel], list[str]]:
    """The config class that the last key of an error's location belongs to, and the keys that lead there.

    Pydantic puts the chosen member's tag or class into the location of a union; no user wrote that key.
    """
    keys: list[str] = []
    members: dict[Any, type[BaseModel]] = {}
    for part in location:
        # A class with validators of its own appears as "function-after[…, CLASS]".
        member = members.get(str(part).removesuffix("]").rsplit(", ", 1)[-1])
        if member is not None:
            cls, members = member, {}
            continue
        keys.append(str(part))
        field = cls.model_fields.get(str(part))
        if field is None:
            continue
        options = [field.annotation, *get_args(field.annotation)]
        models = [o for o in options if isinstance(o, type) and issubclass(o, BaseModel)]
        if isinstance(field.discriminator, str):
            members = {get_args(m.model_fields[field.discriminator].annotation)[0]: m for m in models}
        elif len(models) > 1:
            members = {m.__name__: m for m in models}
        elif models:
            cls = models[0]
    return cls, keys


def _nearest_key(key: str, known: Iterable[str]) -> str:
    return nearest(key, known, "keys")
