"""Controllers of your own: classes of Python, and files that other languages were compiled to."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from random import Random
from shlex import quote
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from fairhaul import _core
from fairhaul._core import Ack, Event, Round, ScenarioError, Window
from fairhaul.files.files import in_package
from fairhaul.scenario.listings import catalogue
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

__all__ = ["Ack", "Controller", "Event", "Round", "Window", "known", "load"]

T = TypeVar("T")
METHODS = ("on_ack", "on_round", "on_congestion", "on_timeout", "on_recovered", "pacing")
NAME = re.compile(r"[A-Za-z0-9_-]+")

Kind: TypeAlias = "_core.PythonKind | _core.AgentKind | Path"
Kinds: TypeAlias = Mapping[str, Kind]


COMPILED = (".o", ".so", ".dylib", ".dll")
COMPILED_TEXT = "an eBPF object (mine.bpf.o) or a shared library (libmine.so)"


class Controller:
    """A congestion controller: a class of yours that is derived from this one.

    The sender of the simulator does what all controllers share: slow start, loss detection,
    recovery and timeouts. An object of the class is called with what happens and moves the window.

        class Gentle(fairhaul.Controller):
            every = "round"

            def __init__(self, a: float = 1.0) -> None:
                self.a = a

            def on_round(self, window, report):
                window.growth = self.a

            def on_congestion(self, window, event):
                window.give_up(0.25)

    Arguments of `__init__` are the parameters of the controller in a scenario:
    `{ kind = "gentle", a = 2 }`. Each connection has an object of its own. `self.random` is a
    generator of random numbers that is the same in every run with the same seed; it is there after
    `__init__`. Objects must be copyable by `copy.deepcopy`, because the sender takes back what a
    spurious loss event changed.

    The methods take the `Window`, with `cwnd` and `ssthresh` in packets, and what happened.
    """

    every: ClassVar[Literal["ack", "round"] | float] = "ack"
    """When the object is called: for each acknowledgement in congestion avoidance (`on_ack`), once
    a round, or at most every that number of seconds (`on_round`)."""
    slow_start: ClassVar[bool] = True
    """Whether the sender has its slow start. If false, the window below `ssthresh` is moved by
    the object, too."""

    random: Random

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Take an acknowledgement; only where `every` is `"ack"`."""

    def on_round(self, window: Window, report: Round) -> None:
        """Take what happened since the last call; only where `every` is not `"ack"`.

        `window.growth` is what the next round trip adds to the window, spread over its
        acknowledgements, until it is changed.
        """

    def on_congestion(self, window: Window, event: Event) -> None:
        """Take a loss event, or the echo of a mark: by default half of the window is given up."""

    def on_timeout(self, window: Window, event: Event) -> None:
        """Take a timeout: by default the window starts over from one packet."""

    def on_recovered(self, window: Window, event: Event) -> None:
        """Take the end of a recovery; by default nothing happens."""

    def pacing(self, window: Window) -> float | None:
        """Give the pacing rate, packets per second, or None for no pacing.

        It is asked after each call of another method, and only if the class defines it.
        """


Given = type[Controller] | str | PathLike[str]

# Each as the engine takes it, and as it was given.
_known: ContextVar[Mapping[str, tuple[Kind, Given | None]]] = ContextVar("controllers", default={})  # noqa: B039


@contextmanager
def known(controllers: Mapping[str, Given] | None) -> Iterator[None]:
    """Let scenarios that are read within know controllers by their names: classes, or files.

    Raises:
        ScenarioError: a name or a class cannot be used; `args` are all mistakes.
    """
    if not controllers:
        yield
        return
    mistakes: list[str] = []
    kinds = dict(_known.get())
    taken = {entry["name"] for entry in catalogue()["controllers"]}
    for name, given in controllers.items():
        try:
            if not NAME.fullmatch(name):
                raise ScenarioError("a name has letters, digits, - and _")
            if name in taken:
                raise ScenarioError("a controller of the catalogue has this name")
            of = kind(given) if isinstance(given, type) else compiled(given)
            kinds[name] = (of, given)
        except ScenarioError as error:
            mistakes += [f"controllers: {name!r}: {mistake}" for mistake in error.args]
    if mistakes:
        raise ScenarioError(*mistakes)
    token = _known.set(kinds)
    try:
        yield
    finally:
        _known.reset(token)


@contextmanager
def driven(name: str) -> Iterator[None]:
    """Let scenarios that are read within use a name for flows that a program drives."""
    token = _known.set({**_known.get(), name: (_core.AgentKind(), None)})
    try:
        yield
    finally:
        _known.reset(token)


@contextmanager
def named(given: Sequence[str | type[Controller]]) -> Iterator[list[str]]:
    """Give the names of controllers; a class is known within by its own in lower case."""
    classes = {cls.__name__.lower(): cls for cls in given if not isinstance(cls, str)}
    with known(classes):
        yield [cls if isinstance(cls, str) else cls.__name__.lower() for cls in given]


def kinds() -> Kinds:
    """Give the controllers that are known here."""
    return {name: of for name, (of, _) in _known.get().items()}


def options(names: Collection[str]) -> str:
    """Give the options by which a printed command knows those of `names` that are known here.

    A class that no file defines, such as one of a notebook, has none.
    """
    known = ((name, given) for name, (_, given) in _known.get().items() if name in names)
    files = ((name, _place(given)) for name, given in known)
    return "".join(f" --controller {quote(f'{name}={file}')}" for name, file in files if file)


def _place(given: Given | None) -> str:
    """Give where a controller is: its file, and the class of a file of Python."""
    if given is None or not isinstance(given, type):
        return "" if given is None else _from_here(Path(given))
    with suppress(OSError, TypeError):
        file = inspect.getsourcefile(given)
        if file and Path(file).is_file():
            return f"{_from_here(Path(file))}:{given.__qualname__}"
    return ""


def _from_here(file: Path) -> str:
    path, here = file.resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def compiled(given: str | PathLike[str]) -> Path:
    """Give the path of a controller in another language, wherever the program then is.

    Raises:
        ScenarioError: it is no file, or of no kind that can be a controller.
    """
    if not isinstance(given, str | PathLike):
        raise ScenarioError(
            f"wanted a class derived from fairhaul.Controller, or a file: {given!r}"
        )
    file = Path(given)
    if file.suffix not in COMPILED:
        raise ScenarioError(f"{file}: wanted {COMPILED_TEXT}")
    if not file.is_file():
        raise ScenarioError(f"{file}: no such file")
    return file.resolve()


def kind(given: type[Controller]) -> _core.PythonKind:
    """Give a class as the engine takes it.

    Raises:
        ScenarioError: it is no class of controllers.
    """
    if not (isinstance(given, type) and issubclass(given, Controller)):
        raise ScenarioError(f"wanted a class derived from fairhaul.Controller, not {given!r}")
    methods = [name for name in METHODS if getattr(given, name) is not getattr(Controller, name)]
    every = given.every
    if isinstance(every, str):
        if every not in {"ack", "round"}:
            raise ScenarioError(f'every = {every!r}; wanted "ack", "round" or a number of seconds')
    elif isinstance(every, bool) or not isinstance(every, int | float) or not every > 0:
        raise ScenarioError(f"every = {every!r}; wanted seconds above 0")
    needed, other = ("on_ack", "on_round") if every == "ack" else ("on_round", "on_ack")
    if other in methods:
        raise ScenarioError(
            f"{given.__name__}.{other} would never be called, because every = {every!r}"
        )
    unknown = [name for name in vars(given) if name.startswith("on_") and name not in METHODS]
    if unknown:
        raise ScenarioError(f"{given.__name__}.{unknown[0]}: {hint(unknown[0], METHODS)}")
    if needed not in methods:
        raise ScenarioError(f"{given.__name__} defines no {needed}, and every = {every!r}")
    return _core.PythonKind(given, identity(given), every, bool(given.slow_start), methods)


def called(engine: Callable[[], T]) -> T:
    """Let an engine run, which may call controllers of the user.

    Raises:
        RunError: a controller left a window or a pacing rate that the engine refuses.
    """
    try:
        return engine()
    except ScenarioError:
        raise
    except ValueError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # in the code of a controller
        where = getattr(error, "__notes__", [])
        raise _core.RunError(": ".join([*where, str(error)])) from None


def identity(given: type) -> str:
    """Give a text that differs where the code of a class, or of its module, differs."""
    sources = hashlib.sha256()
    for part in given.__mro__:
        if part not in {Controller, object}:
            sources.update(_source(part).encode())
    return f"{given.__module__}.{given.__qualname__} {sources.hexdigest()[:16]}"


def _source(part: type) -> str:
    """Give the source of the module of a class; of a notebook or a prompt, of the class alone."""
    module = sys.modules.get(part.__module__)
    for what in (module, part):
        # What was typed in has no file, or one that cannot be read.
        with suppress(OSError, TypeError):
            return inspect.getsource(what)  # type: ignore[arg-type]
    codes = [value.__code__ for value in vars(part).values() if inspect.isfunction(value)]
    return "".join(f"{code.co_name} {code.co_code.hex()} {code.co_consts!r}" for code in codes)


def load(option: str, given: Sequence[str]) -> dict[str, Given]:
    """Load controllers, each given as `NAME=FILE.py:CLASS` or `NAME=FILE` of another language.

    Raises:
        ScenarioError: something of it does not exist; the message names `option`.
    """
    found: dict[str, Given] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        file, colon, of_class = rest.rpartition(":")
        if equals and name.strip() and Path(rest).suffix in COMPILED:
            found[name.strip()] = rest
        elif equals and name.strip() and colon:
            module = _module(f"{option} {text}", Path(file))
            found[name.strip()] = getattr(module, of_class, None) or _missing(option, text, module)
        else:
            raise ScenarioError(
                f"{option} {text}: wanted NAME=FILE.py:CLASS, or NAME= and {COMPILED_TEXT}"
            )
    return found


def _module(place: str, file: Path) -> ModuleType:
    """Load a file as a module, which finds its neighbours as a script does."""
    if not file.is_file():
        raise ScenarioError(f"{place}: {file}: no such file{in_package(file)}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ScenarioError(f"{place}: {file}: is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _missing(option: str, text: str, module: ModuleType) -> type[Controller]:
    classes = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Controller) and value is not Controller
    ]
    wanted = text.rpartition(":")[2]
    raise ScenarioError(f"{option} {text}: the file has no {wanted}; {hint(wanted, classes)}")
