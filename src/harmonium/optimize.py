"""Optimise any function of bits or of named variables: `maximize`, `minimize` and `resume`."""

import functools
import inspect
import math
import re
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, suppress
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, ParamSpec, get_type_hints

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from harmonium.arrays import Bits, check_bits
from harmonium.clock import TimeUp, now
from harmonium.models import BOA, MODELS, UMDA, Model
from harmonium.problems import check_problem, read_repair
from harmonium.runs import Callback, Reason, Result, Runner, Stop, default_stop
from harmonium.runs.checkpoint import (
    Log,
    check_free,
    check_function,
    keep_checkpoint,
    load_runner,
)
from harmonium.runs.evaluate import (
    FunctionEvaluator,
    OnError,
    count_workers,
    read_feasible,
)
from harmonium.runs.noise import NoisyRunner
from harmonium.runs.stop import Count, Positive
from harmonium.search import ALGORITHMS, EDA, Algorithm, Pyramid, Structure
from harmonium.seeds import check_seed
from harmonium.space import Fixed, Groups, Space, SubsetSize, make_space
from harmonium.space.codec import Domain, Variables
from harmonium.specs import describe_type
from harmonium.system import FilePath, fix_outputs, one_interrupt, plain_interrupts

if TYPE_CHECKING:
    from harmonium.progress import Progress

P = ParamSpec("P")

MAX_NETWORK_LENGTH: Final = 1000
"""Bits beyond which building a Bayesian network takes longer than most evaluations."""

MAX_COUNT: Final = 2**62
"""Limits of calls and evaluations above this count as this: a file could not keep them."""


def maximize(
    function: Callable[[Any], Any],
    length: int | None = None,
    *,
    space: Domain | None = None,
    feasible: Callable[[Any], object] | None = None,
    batch: bool = False,
    algorithm: Algorithm | str | None = None,
    model: Model | str = "auto",
    population: int | Literal["auto"] = "auto",
    seed: int | None = None,
    target: float | None = None,
    max_calls: Count | None = None,
    max_evaluations: Count | None = None,
    max_seconds: Positive | None = None,
    stagnation: Positive | None = None,
    confirmations: Count | None = None,
    callback: Callback | None = None,
    initial: ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    fixed: Fixed | None = None,
    subset_size: SubsetSize | None = None,
    exactly_one: Groups | None = None,
    executor: Executor | None = None,
    cache: bool = True,
    noise: bool = False,
    on_error: OnError = "raise",
    checkpoint: FilePath | None = None,
    log: FilePath | None = None,
    progress: bool | Literal["lines"] | None = None,
) -> Result:
    """Find bits, or values of variables, for which a function is as large as possible.

    Parameters
    ----------
    function : callable
        Takes one row of `length` zeros and ones, an integer array, and returns a number. With
        `batch` it takes all rows at once, (rows, length) of uint8, and returns one number a row.
        With `space` it takes a dict of values, with `batch` a list of them. A problem, such as
        ``load("x.cnf")``, is called with all rows at once if `length` is left out.
    length : int, optional
        Number of bits, at most 20,000,000; left out with `space`, and for a problem that knows it.
    space : mapping, optional
        Variables that are not bits, by name: ``range(1, 9)`` for integers, a list for choices and
        `bool` for a switch. The result has the best values in `best`.
    feasible : callable, optional
        Takes what the function takes, always one row or dict, and returns whether it is allowed;
        the function is not called for others. Newcomers are drawn until they are feasible.
    batch : bool
        Whether the function takes all rows at once, which is faster.
    algorithm : Algorithm or str, optional
        How to search: an algorithm, or a text such as "pyramid:newcomers=16" or
        "module:Class:field=value". By default `Structure`, a pyramid that learns the function where
        it can, or an EDA where `model` or `population` is given.
    model : Model or str
        Search with an EDA and this model, such as "rbm", "boa:max_parents=4" or ``RBM()``. "auto"
        with a `population` is BOA up to 1,000 bits and UMDA beyond.
    population : int or "auto"
        Size of the population of the EDA; "auto" interleaves populations of doubling size.
    seed : int, optional
        The same seed gives the same result, times apart; by default a fresh one, which the result
        reports.
    target : float, optional
        Stop when this value is reached.
    max_calls : int, optional
        Stop after so many function calls, one a row; rows served from the cache are free.
    max_evaluations : int, optional
        Stop after so many rows that the search asks for, served from the cache or not.
    max_seconds : float, optional
        Stop after this time. No evaluation is begun later, and none is waited for on an executor;
        what has arrived counts. docs/development/guarantees.md has the details.
    stagnation : float, optional
        Stop after this many evaluations without improvement, as a multiple of the evaluations
        needed to reach the best. By default 2 if no population is given.
    confirmations : int, optional
        Stop when so many independent attempts of a pyramid have ended at the best value, and none
        better. By default 50 if there is neither a target nor a budget.
    callback : callable, optional
        Called with the `Runner` after every batch; the search ends when it returns True.
    initial : array-like, optional
        Solutions known beforehand, one or many rows; with `space`, dicts.
    fixed : mapping, optional
        Bits that must not change, with their values: ``{3: 1, 7: 0}``.
    subset_size : int or pair of int, optional
        How many ones there must be, or the fewest and the most.
    exactly_one : iterable of sequences of int, optional
        Groups of bits of which exactly one is one, such as ``[(0, 1, 2), (3, 4)]``: a variable of
        several values has a bit for each value.
    executor : concurrent.futures.Executor, optional
        Where rows are evaluated.
    cache : bool
        Whether rows seen before are served from a cache.
    noise : bool
        Whether the function is noisy: its values differ from call to call. Rows that look better
        than the best are called again before they replace it, the ten best once more at the end,
        and nothing is served from the cache. `fun` is then a mean and has a standard error.
    on_error : "raise" or "worst"
        Whether a row that raises, or has no finite value, ends the search, or counts as the worst.
    checkpoint : path, optional
        File to which the search saves itself; `resume` continues from it. An existing file is
        never overwritten.
    log : path, optional
        File to which a line of JSON is appended every generation.
    progress : bool or "lines", optional
        Whether to show a live line of progress on the terminal or in the notebook; by default if
        there is one. "lines" prints a plain line on standard error every ten seconds instead, also
        where there is no terminal.

    Returns
    -------
    Result
        The best bits `x`, their value `fun`, what they cost, and why the search ended. Ctrl-C
        returns the best so far.

    Raises
    ------
    EvaluationError
        If the function fails and `on_error` is "raise"; it names the row and has the best so far.
    FileExistsError
        If `checkpoint` exists: resume it, delete it, or choose another.
    MemoryError
        If there are too many bits for the algorithm.
    ValueError, TypeError
        If an option is invalid.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.maximize(lambda bits: bits.sum(), length=50, seed=1, target=50)
    >>> result.fun, result.success, result.message
    (50.0, True, 'the target was reached')
    >>> hm.maximize(hm.Trap(length=20, order=4), seed=1).fun
    20.0
    """
    return _optimize(1.0, **locals())


_MINIMIZE = """Find bits for which a function is as small as possible.

Parameters
----------
function : callable
    Takes one row of `length` zeros and ones, an integer array, and returns a number.
length : int
    Number of bits.
batch, algorithm, model, population, seed, target, … : optional
    As for `maximize`; `target` is reached by a value that is as small.

Returns
-------
Result
    As from `maximize`; `fun` is the smallest value found.

Examples
--------
>>> import harmonium as hm
>>> result = hm.minimize(lambda bits: bits.sum(), length=50, seed=1, target=0)
>>> result.fun, result.minimized
(0.0, True)
"""


def _mirror(search: Callable[P, Result]) -> Callable[P, Result]:
    """Return `minimize`, with the signature of `maximize` for help and type checkers."""

    @functools.wraps(search)
    def minimize(*args: P.args, **kwargs: P.kwargs) -> Result:
        return _optimize(-1.0, **inspect.signature(search).bind(*args, **kwargs).arguments)

    minimize.__name__ = minimize.__qualname__ = "minimize"
    minimize.__doc__ = _MINIMIZE
    return minimize


minimize = _mirror(maximize)


def resume(
    path: FilePath,
    function: Callable[[Any], Any],
    *,
    feasible: Callable[[Any], object] | None = None,
    target: float | None = None,
    max_calls: Count | None = None,
    max_evaluations: Count | None = None,
    max_seconds: Positive | None = None,
    stagnation: Positive | None = None,
    confirmations: Count | None = None,
    callback: Callback | None = None,
    executor: Executor | None = None,
    log: FilePath | None = None,
    progress: bool | Literal["lines"] | None = None,
) -> Result:
    """Continue from a checkpoint with the same function, to the result of an undisturbed run.

    Parameters
    ----------
    path : path
        The checkpoint; it is updated while the search continues.
    function : callable
        The function that the search was started with. It is called once for the best solution so
        far, which must have the same value; with ``cache=False`` it is not.
    target, max_calls, max_evaluations, max_seconds, stagnation, confirmations : optional
        Replace those of the start; counted from the very beginning.
    feasible, callback, executor, log, progress : optional
        As for `maximize`; they are not part of a checkpoint.

    Returns
    -------
    Result

    Raises
    ------
    CheckpointError
        If the file is not a checkpoint, is damaged, or was made with another function.

    Examples
    --------
    >>> import harmonium as hm
    >>> first = hm.maximize(sum, 40, seed=1, max_calls=500, checkpoint="run.ckpt")
    >>> hm.resume("run.ckpt", sum, max_calls=10_000, target=40).fun
    40.0
    """
    if not callable(function):
        raise TypeError(f"function is {function!r}; expected resume(path, function)")
    options = _check_options(**locals())
    runner = load_runner(Path(path), function, executor, feasible)
    if target is not None:
        runner.evaluator.target = float(target) * runner.evaluator.sign
    runner.stop = _adapt_stop(runner.stop, options)
    runner.start_clock()  # so that an executor is not waited for without end
    try:
        with plain_interrupts():
            check_function(runner)
    except (KeyboardInterrupt, TimeUp) as error:
        reason: Reason = "time" if isinstance(error, TimeUp) else "interrupted"
        if (result := runner.conclude(reason)) is None:
            raise
        return result
    return _carry_out(runner, options, function)


def _optimize(
    sign: float, function: Callable[[Any], Any], length: int | None = None, **given: Any
) -> Result:
    """Check everything, then run."""
    options = _check_options(**given)
    if options.checkpoint is not None:
        check_free(Path(given["checkpoint"]))
    variables = None if options.space is None else Variables(options.space)
    if length is None and variables is None and hasattr(function, "length"):
        length, options.batch = int(check_problem(function).length), True
    length = _check_function(function, length, variables)
    groups = options.exactly_one if variables is None else variables.groups
    feasible = read_feasible(options.feasible, variables)
    space = make_space(length, options.fixed, options.subset_size, groups, feasible)
    initial, seconds = _read_initial(options.initial, variables, space, options.max_seconds)
    seed = secrets.randbits(32) if options.seed is None else check_seed(options.seed)
    algorithm = choose_algorithm(
        length,
        options.algorithm,
        options.model,
        options.population,
        executor=options.executor,
        noise=options.noise,
    )
    evaluator = FunctionEvaluator(
        function,
        length,
        batch=options.batch,
        sign=sign,
        cached=options.cache and not options.noise,
        on_error=options.on_error,
        executor=options.executor,
        variables=variables,
        feasible=feasible,
    )
    if options.target is not None:
        evaluator.target = float(options.target) * sign
    if options.noise:
        evaluator.bound = None  # a noisy value may exceed it
    stop = _adapt_stop(default_stop(algorithm), options)
    kind = NoisyRunner if options.noise else Runner
    try:
        runner = kind(algorithm, space, seed, evaluator, stop, initial)
    except MemoryError:
        raise MemoryError(
            f"{length:,} bits are too many for {algorithm} in this memory; the model umda needs "
            "far less, or choose a smaller space"
        ) from None
    runner.seconds = seconds
    if options.checkpoint is not None:
        keep_checkpoint(runner, Path(options.checkpoint))
    return _carry_out(runner, options, function)


def _carry_out(runner: Runner, options: SimpleNamespace, function: object) -> Result:
    """Run to the end, with callback, log and progress; return rows that the problem allows."""
    runner.callback = options.callback
    with one_interrupt(), ExitStack() as stack:
        if options.log is not None:
            log = stack.enter_context(closing(Log(options.log)))
            if runner.logged is not None:
                log.rewind(runner.logged, runner.seed)
            runner.log, runner.logged = log.write, log.end
        if (progress := _open_progress(options.progress)) is not None:
            runner.watch = stack.enter_context(progress).watch
        result = runner.finish()
    repair = None if runner.space.constrained else read_repair(function)
    return result if repair is None else result.change_rows(repair)


def _open_progress(wanted: bool | Literal["lines"] | None) -> "Progress | None":
    """Return what shows progress; none if it is not wanted, or nobody could see it."""
    visible = (sys.stderr is not None and sys.stderr.isatty()) or "IPython" in sys.modules
    if not (visible if wanted is None else wanted):
        return None
    from harmonium.progress import Progress  # noqa: PLC0415  # rich is slow to import

    if wanted == "lines":
        return Progress.in_lines()
    return Progress.in_notebook() or Progress.on_terminal()


def choose_algorithm(
    length: int,
    algorithm: Algorithm | str | None = None,
    model: Model | str = "auto",
    population: int | Literal["auto"] = "auto",
    *,
    executor: Executor | None = None,
    noise: bool = False,
) -> Algorithm:
    """Return the algorithm that options ask for: by default a pyramid, or an EDA with a model.

    The pyramid learns the function, unless its values are noisy. At least as many newcomers walk in
    step as an executor has workers.
    """
    if isinstance(algorithm, str):
        return ALGORITHMS.parse(algorithm)
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm is not None:
        raise TypeError(f"algorithm is {algorithm!r}; expected an Algorithm or its text")
    if (model, population) == ("auto", "auto"):
        kind = Pyramid if noise else Structure
        if executor is None:
            return kind()
        workers = count_workers(executor)
        return kind(newcomers=max(kind().newcomers, workers), first_newcomers=workers)
    if model == "auto":
        model = BOA() if length <= MAX_NETWORK_LENGTH else UMDA()
    elif isinstance(model, str):
        model = MODELS.parse(model)
    replacement: Any = getattr(model, "growing_replacement", None) or "auto"
    return EDA(model, population=population, replacement=replacement)


def _adapt_stop(stop: Stop, options: SimpleNamespace) -> Stop:
    """Return stopping rules with the given limits.

    Confirmations end a search only if they are asked for, or if nothing else says when to stop.
    """
    limits = {one.name: getattr(options, one.name, None) for one in fields(Stop)}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if options.target is not None or Stop(**given).has_budget:
        stop = replace(stop, confirmations=None)
    return replace(stop, **given)


class Option(NamedTuple):
    """One option of `maximize`, as its signature and its help define it."""

    kind: Any
    """Its annotation, which may have bounds."""
    default: Any
    text: str
    """What it is for, in one or more sentences."""


@functools.cache
def list_options(search: Callable[..., Result] = maximize) -> dict[str, Option]:
    """Return the options of `maximize` or `resume` by name."""
    hints = get_type_hints(search, include_extras=True)
    found = re.findall(
        r"^([\w, ]+) : .*\n((?:    .*\n|\n)+)", inspect.getdoc(search) or "", re.MULTILINE
    )
    texts = {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}
    return {
        name: Option(hints[name], parameter.default, texts.get(name, ""))
        for name, parameter in inspect.signature(search).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


_FUNCTIONS: Final = {
    "callback": "a function of the runner",
    "feasible": "a function that returns bool",
}
"""By option that is a function, what it is."""

_PLAIN: Final = (
    *("target", "max_calls", "max_evaluations", "max_seconds", "stagnation", "confirmations"),
    *("on_error", "progress"),
)
"""Options of plain types, which are checked against their annotations."""


def _check_options(path: FilePath | None = None, function: Any = None, **given: Any) -> Any:
    """Return the options by name, those that are not given by default; raise for invalid ones.

    `path` is the checkpoint of a search that is resumed.
    """
    known = list_options()
    options = SimpleNamespace(**{name: option.default for name, option in known.items()} | given)
    for name in _PLAIN:
        setattr(options, name, _check_plain(name, getattr(options, name), known[name].kind))
    for name, expected in _FUNCTIONS.items():
        value = getattr(options, name)
        if not (value is None or callable(value)):
            raise TypeError(f"{name} is {value!r}; expected {expected}")
    if isinstance(options.executor, type) or not hasattr(options.executor or Executor(), "submit"):
        raise TypeError(
            f"executor is {options.executor!r}; expected a concurrent.futures.Executor, opened"
        )
    if options.algorithm is not None and (options.model, options.population) != ("auto", "auto"):
        raise ValueError(
            "model and population are settings of the EDA; leave them out when algorithm is "
            "given, or pass algorithm=EDA(model, population=…)"
        )
    for name in ("fixed", "subset_size", "exactly_one"):
        if options.space is not None and getattr(options, name) is not None:
            raise ValueError(f"{name} is for bits; with space leave values out, or pass feasible")
    for name in ("checkpoint", "log"):
        _check_path(name, getattr(options, name))
    vars(options).update(fix_outputs(checkpoint=path or options.checkpoint, log=options.log))
    return options


def _check_plain(name: str, value: Any, kind: Any) -> Any:
    """Return the value of an option; raise if it does not fit its annotation."""
    if value is None:
        return value
    plain = value.item() if isinstance(value, np.generic) else value
    if kind == (Count | None) and isinstance(plain, int | float) and plain % 1 == 0:
        plain = plain if isinstance(plain, bool) else min(int(plain), MAX_COUNT)
    with suppress(msgspec.ValidationError):
        plain = msgspec.convert(plain, kind)
        if not isinstance(plain, float) or math.isfinite(plain):
            return plain
    expected = describe_type(kind).removesuffix(" or none")
    raise ValueError(f"{name} is {value!r}; expected {expected}")


def _check_path(name: str, path: FilePath | None) -> None:
    if path is None:
        return
    file = Path(path)
    if file.is_dir():
        raise FileNotFoundError(f"{name} is {file}, a folder; expected a file")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{name} is {file}; expected a file in an existing folder")


def _check_function(function: object, length: object, variables: Variables | None) -> int:
    """Raise for what is not a function or a length; return the length."""
    if not callable(function):
        raise TypeError(f"function is {function!r}; expected a function of a row of bits")
    if variables is not None:
        if length is not None:
            raise TypeError(f"length is {length!r}; leave it out where there is a space")
        return variables.length
    if length is None:
        raise TypeError(
            "length is missing; expected the number of bits, space=…, or a problem with a length"
        )
    if isinstance(length, bool) or not isinstance(length, int | np.integer):
        raise TypeError(f"length is {length!r}; expected the number of bits")
    if length < 1:
        raise ValueError(f"length is {length}; expected at least 1 bit")
    return int(length)


def _read_initial(
    initial: Any, variables: Variables | None, space: Space, max_seconds: float | None
) -> tuple[Bits, float]:
    """Return the known solutions, and the time that it took to check whether they are feasible.

    At the time limit checking ends: the others will not be evaluated.
    """
    none = np.empty((0, space.length), dtype=np.uint8)
    if initial is None:
        return none, 0.0
    rows = np.asarray(initial if variables is None else variables.read_rows(initial))
    try:
        bits = check_bits(np.atleast_2d(rows), space.length) if rows.size else none
    except ValueError as error:
        raise ValueError(f"initial: {error}") from None
    repaired = space.repair(bits, np.random.default_rng(0))
    wrong = np.flatnonzero((repaired != bits).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"row {wrong[0]} of initial {space.explain_invalid(bits[wrong[0]])}; correct it"
        )
    started, seconds = now(), 0.0
    for number, row in enumerate(bits if space.feasible else ()):
        if not space.accepts(row):
            raise ValueError(f"solution {number} of initial is not feasible; leave it out")
        seconds = now() - started
        if max_seconds is not None and seconds >= max_seconds:
            break
    return bits, seconds
