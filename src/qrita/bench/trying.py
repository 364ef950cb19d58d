"""Plans as contenders: each has to give the bits of the plan in use before it is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from qrita.api import _top_k_top_p
from qrita.bench import running
from qrita.bench.contenders import Contender, Setting, always
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.running import Machine
from qrita.bench.timing import Bound, Timer
from qrita.bench.tuner import DIFFERENT, IN_USE, Measure
from qrita.engines import Engine
from qrita.plan import Plan
from qrita.testing.formats import WIDTH


def kernels(plan: Plan) -> Engine:
    """Ours, held to a plan."""
    from qrita.pipeline import KernelEngine  # which needs Triton

    return KernelEngine(plan=plan)


def measure_with(timer: Timer, machine: Machine, repeats: int, engine: Callable[[Plan], Engine] = kernels) -> Measure:
    """What times plans on a machine.

    Args:
        timer, machine, repeats: as for the contenders of `qrita bench`.
        engine: the kernels, held to a plan.
    """

    def measure(job: Job, tried: Mapping[str, Plan]) -> Result | str:
        in_use = engine(tried[IN_USE])
        contenders = [_contender(name, engine(plan), in_use) for name, plan in tried.items()]
        (found,) = running.results([job], contenders, timer, machine, repeats)
        return found if isinstance(found, Result) else found[1]

    return measure


def _contender(name: str, engine: Engine, in_use: Engine) -> Contender:
    def bind(setting: Setting) -> Bound:
        if name != IN_USE:
            _compare(setting, engine, in_use)
        return Bound(lambda number: _mask(setting, engine, number, setting.out(number)), len(setting.inputs))

    return Contender(name, "ours", f"plans with {name}", always, bind)


def _mask(setting: Setting, engine: Engine, number: int, out: Tensor) -> Tensor:
    return _top_k_top_p(setting.input(number), setting.job.k, setting.job.p, out=out, engine=engine)


def _compare(setting: Setting, engine: Engine, in_use: Engine) -> None:
    """Raises RuntimeError where a masked logit has other bits."""
    answer, expected = setting.outs[:2]
    word = {32: torch.int32, 16: torch.int16}[WIDTH[setting.job.dtype]]
    for number in range(len(setting.inputs)):
        answer.fill_(float("nan"))  # which is in no answer here: what is not written shows
        _mask(setting, engine, number, answer)
        _mask(setting, in_use, number, expected)
        wrong = answer.view(word) != expected.view(word)
        if bool(wrong.any()):
            rows = int(wrong.any(dim=1).sum())
            raise RuntimeError(f"{DIFFERENT}, in {rows:,} of {setting.job.rows:,} rows of input {number}")
