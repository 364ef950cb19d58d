"""What a run launches: as the pipeline does it, and by its parts, so that a run differs by what is exchanged alone."""

from __future__ import annotations

from torch import Tensor

from qrita import passing
from qrita import plan as plans
from qrita.bench.ablation import row_kernels, searches, tile_kernels
from qrita.bench.ablation.runs import Run
from qrita.kernels import select, sigma, stream
from qrita.pipeline import KernelEngine, _Call
from qrita.plan import Plan
from qrita.records import Cuts, Problem

_SEARCHES = {
    "three pivots": searches.THREE_PIVOTS.value,
    "one pivot": searches.ONE_PIVOT.value,
    "sort": searches.SORT.value,
}


def mask(run: Run, plan: Plan, problem: Problem, out: Tensor) -> None:
    """Write the masked logits of a run into `out`."""
    if run.by == "package":
        KernelEngine(plan=plan).mask(problem, -float("inf"), out)
    else:
        cuts(run, plan, problem, out)


def cuts(run: Run, plan: Plan, problem: Problem, out: Tensor) -> Cuts:
    """The same by the kernels of the bench, and the records that they leave."""
    if not isinstance(problem.k, int):
        raise ValueError(f"run {run.name}: k={problem.k!r}: expected a whole number: the bench's kernels have top-k on")
    if plan.truncation == "groups" or (run.search == "sort" and plan.truncation == "none"):
        raise ValueError(f"run {run.name}: truncation={plan.truncation!r}: the bench has no kernels for {run.words}")
    call = _Call.of(problem, plan, out=out, mask_value=-float("inf"))
    if plan.truncation == "sigma":
        _select_by_sigma(call, run)
    _select_rows(call, run)
    call.emit()
    key, index, count = call.cuts[0], call.cuts[1], call.cuts[2]
    return Cuts(key.long() + 2**31, index, count, call.masses[0], call.masses[1])


def states(problem: Problem, plan: Plan) -> Tensor:
    """int32 [rows], `select.MISSED` where truncation by sigma did not settle a row. Nothing is answered."""
    call = _Call.of(problem, plan)
    call._select_sigma()
    return call.cuts[select.CUT_STATE.value]


def floors(problem: Problem, plan: Plan) -> Tensor:
    """int32 [rows], the key of the threshold that truncation by sigma guesses for each row."""
    _, _, found = _truncate(_Call.of(problem, plan))
    return found[:, 0]


def _truncate(call: _Call) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens above the threshold, how many each split found, and the threshold."""
    plan, problem = call.plan, call.problem
    above = call._workspace(problem.rows, plan.hold)
    found, floors, peaks = (call._workspace(problem.rows, plan.splits) for _ in range(3))
    sigma.sigma_kernel[(problem.rows * plan.splits,)](
        *call.logits, *passing.strided(call.out), *call.arguments[:4], above, found, floors, peaks,
        problem.rows, problem.vocab, plan.splits, call.fill, call.filled,
        **call.shape, SAMPLE=plan.sample, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.warps,
    )  # fmt: skip
    return above, found, floors


def _select_by_sigma(call: _Call, run: Run) -> None:
    """`_Call._select_sigma` with the selection of a run."""
    plan, problem = call.plan, call.problem
    tile_kernels.select_kernel[(min(problem.rows, plan.programs),)](
        *call.logits, *passing.strided(call.out), *call.arguments, *_truncate(call), call.cuts, call.masses,
        problem.rows, problem.vocab, plan.splits,
        **call.shape, HOLD=plan.hold, SPLITS=plans.MAX_SPLITS, SEARCH=_SEARCHES[run.search],
        DUPLICATES=run.duplicates, num_warps=plan.select_warps,
    )  # fmt: skip


def _select_rows(call: _Call, run: Run) -> None:
    """`_Call._select_rows` with the search of a run; that of a run that sorts has nothing to do, and is the package's.

    Launched where every row hits as well, as in the package: only the device knows.
    """
    plan, problem = call.plan, call.problem
    if run.search == "sort":
        call._select_rows(call.masses, None)
        return
    programs = min(problem.rows, plan.row_programs)
    scratch = call._workspace(programs, plan.row_tile * (stream.DEPTH.value + 1))
    row_kernels.select_rows_kernel[(programs,)](
        *call.logits, *call.arguments, call.cuts, call.masses, scratch, scratch.stride(0),
        problem.rows, problem.vocab, int(plan.truncation != "none"),
        **call.shape, TILE=plan.row_tile, SEARCH=_SEARCHES[run.search], DUPLICATES=run.duplicates,
        num_warps=plan.row_warps,
    )  # fmt: skip
