"""`Signature`: the parameters of a tool's function: those from the model, from the runtime and from the program."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from ..errors import ConfigurationError
from ..protocols import ToolContext
from ..specs.schemas import is_pydantic, schema_of
from .depends import Depends


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, by their source, and the description from its docstring."""

    description: str
    arguments: type[Any]
    """The type of the arguments from the model, with a field for each; `given` maps parameter names to field names."""
    given: Mapping[str, str]
    context: tuple[str, ...] = ()
    """The parameters that receive the call's `ToolContext`."""
    depends: Mapping[str, Depends] = field(default_factory=dict)

    def values(self, action: Any) -> dict[str, Any]:
        """Return the arguments from the model, by parameter name."""
        return {name: getattr(action, field) for name, field in self.given.items()}


def signature_of(function: Callable[..., Any], called: str) -> Signature:
    """Return the signature of a function. Raises `ConfigurationError` if a model could not call it."""
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(written(function), include_extras=True, localns=_closure(function))
    except NameError as error:
        raise _refused(
            called, f"{error} where it was written: define it outside of functions and of 'if TYPE_CHECKING'"
        ) from error
    except (ValueError, TypeError) as error:
        raise _refused(called, f"it has no signature: {error}") from error
    bound = function.keywords if isinstance(function, partial) else {}
    description, described = _documented(function)
    wanted, context, depends = list[_Wanted](), list[str](), dict[str, Depends]()
    for parameter in parameters:
        name = parameter.name
        if name in bound:
            continue  # the program provides it
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _refused(called, f"{name!r} cannot be given by its name")
        kind = hints.get(name)
        if (dependency := _dependency(parameter.default, kind)) is not None:
            depends[name] = dependency
        elif kind is None:
            raise _refused(called, f"{name!r} needs a type, as in '{name}: str'")
        elif ToolContext in (kind, *get_args(kind)):
            context.append(name)
        else:
            wanted.append(_Wanted(name, kind, parameter.default, described.get(name, "")))
    arguments, given = _arguments(called, wanted)
    shown = description or f"{called}({', '.join(map(str, wanted))})"
    return Signature(shown, arguments, given, tuple(context), depends)


@dataclass(frozen=True)
class _Wanted:
    """A parameter whose argument comes from the model."""

    name: str
    kind: Any
    default: Any
    description: str

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        kind = self.kind.__name__ if isinstance(self.kind, type) else str(self.kind).replace("typing.", "")
        return f"{self.name}: {kind}" if self.is_required else f"{self.name}: {kind} = {self.default!r}"


def _arguments(called: str, wanted: list[_Wanted]) -> tuple[type[Any], Mapping[str, str]]:
    """Return the type of the arguments from the model, and the field name of each parameter."""
    of_pydantic = any(is_pydantic(one.kind) or is_pydantic(type(one.default)) for one in wanted)
    name = f"{called.title().replace('_', '').replace('-', '')}Action"
    if not of_pydantic:
        try:
            arguments = _struct(name, wanted)
            schema_of(arguments)
        except (ConfigurationError, TypeError, ValueError):
            of_pydantic = True  # pydantic knows more types, such as paths
        else:
            return arguments, {one.name: one.name for one in wanted}
    try:
        model = _model(name, wanted)
        schema_of(model)
    except Exception as error:  # pydantic raises many types of its own
        words = str(error).splitlines()[0]
        raise _refused(called, f"its parameters cannot be read from JSON: {words}") from error
    return model, {one.name: f"p{number}" for number, one in enumerate(wanted)}


def _struct(name: str, wanted: list[_Wanted]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for one in wanted:
        kind = one.kind
        if one.description and not any(
            getattr(meta, "description", None) for meta in getattr(kind, "__metadata__", ())
        ):
            kind = Annotated[kind, msgspec.Meta(description=one.description)]
        if one.is_required:
            fields.append((one.name, kind))
        elif isinstance(one.default, list | dict | set | bytearray):
            fields.append((one.name, kind, msgspec.field(default_factory=partial(copy.deepcopy, one.default))))
        else:
            fields.append((one.name, kind, one.default))
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True)


def _model(name: str, wanted: list[_Wanted]) -> type[Any]:
    """Return a pydantic model. Its fields are named p0, p1, ..., so that they hide no attribute of pydantic's."""
    from pydantic import ConfigDict, Field, create_model  # heavy
    from pydantic.fields import FieldInfo

    fields: dict[str, Any] = {}
    for number, one in enumerate(wanted):
        more: dict[str, Any] = {"alias": one.name}
        default = ... if one.is_required else one.default
        said = [part for part in (*getattr(one.kind, "__metadata__", ()), default) if isinstance(part, FieldInfo)]
        if one.description and not any(part.description for part in said):
            more["description"] = one.description
        if isinstance(default, FieldInfo):
            fields[f"p{number}"] = (Annotated[one.kind, default, Field(**more)], default)
        else:
            fields[f"p{number}"] = (Annotated[one.kind, Field(**more)], default)
    model: type[Any] = create_model(name, __config__=ConfigDict(arbitrary_types_allowed=False), **fields)
    return model


def _dependency(default: Any, kind: Any) -> Depends | None:
    if isinstance(default, Depends):
        return default
    if get_origin(kind) is Annotated:
        return next((part for part in kind.__metadata__ if isinstance(part, Depends)), None)
    return None


def written(function: Callable[..., Any]) -> Any:
    """Return the function that has the annotations of a callable."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the variables that a nested function uses from the function around it, by name."""
    inner = inspect.unwrap(written(function))
    cells = getattr(inner, "__closure__", None) or ()
    names = getattr(getattr(inner, "__code__", None), "co_freevars", ())
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True) if _is_filled(cell)}


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _documented(function: Callable[..., Any]) -> tuple[str, Mapping[str, str]]:
    """Return the docstring without its parameters, and the description of each parameter (in the style of Google, NumPy
    or Sphinx).
    """
    words = inspect.getdoc(written(function) if isinstance(function, partial) else function) or ""
    if not words or (":" not in words and "---" not in words):
        return words, {}
    import docstring_parser  # needed only for such tools

    try:
        parsed = docstring_parser.parse(words)
    except docstring_parser.ParseError:
        return words, {}
    described = {one.arg_name: " ".join((one.description or "").split()) for one in parsed.params}
    if not described:
        return words, {}
    return re.sub(r"\n{3,}", "\n\n", _PARAMETERS.sub("\n", f"{words}\n")).strip(), described


_PARAMETERS = re.compile(
    r"^(?:Args|Arguments|Parameters|Params):[ \t]*\n(?:[ \t]+.*\n|[ \t]*\n(?=[ \t]+\S))*"  # Google's
    r"|^(?:Other )?Parameters\n-{3,}\n(?:(?!\S.*\n-{3,}\n).*\n)*"  # NumPy's
    r"|^:(?:param|type) .*\n(?:[ \t]+.*\n)*",  # Sphinx's
    re.MULTILINE,
)
"""The parts of a docstring that describe parameters; the schema has these descriptions, too."""


def _refused(called: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"{called!r} cannot be a tool: {why}")
