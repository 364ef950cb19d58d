"""The kernel engine: a problem and a plan become workspace and launches.

Nothing here reads a tensor's values, waits for the device or keeps memory between calls, so a call can be captured in
a graph, and calls on two streams share nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qrita import device as devices
from qrita import lists, passing, rounding
from qrita import plan as plans
from qrita.device import Device
from qrita.kernels import (
    bracket,
    emit,
    probe,
    select,
    select_bracket,
    select_groups,
    select_rows,
    settle,
    sigma,
    stream,
    tally,
    truncate,
)
from qrita.plan import Plan
from qrita.records import Candidates, Cuts, Problem

TILES_A_PROGRAM = 4
"""Tiles that a program of the mask writes at most, where rows are long: with 31, of 1,024 rows, all programs together
read and write in so many places that it took 266 us; with 8 it takes 255, with 4 252, and a copy 250."""

PROBES = 5
COLLECTS = 5
BRACKETS = 3
GATHERS = {64: 4, 128: 3}  # by how many groups are kept
"""Programs that a multiprocessor is to hold at a time, on sm_90. By itself ptxas lets in 4 probes, 4 collections, 2
selections from brackets and 2 choices of groups. 1,024 real rows of top-p alone took 308 us with 5 probes and 3 or 4
choices, before 318; later 287 with 5 collections, before 294. 4 selections from brackets would spill.
"""


@dataclass(frozen=True)
class KernelEngine:
    """The Triton kernels: on a GPU, or on CPU tensors in Triton's interpreter.

    Attributes:
        name: "triton" or "interpreter".
        plan: the plan to use for every problem; None chooses by shape and device.
    """

    name: str = "triton"
    plan: Plan | None = None

    def plan_for(self, problem: Problem) -> Plan:
        """The plan that answers a problem."""
        if self.plan is not None:
            return self.plan
        return plans.choose(problem, devices.of(problem.logits.device))

    def describe(self, problem: Problem) -> str:
        """The plan and where it comes from."""
        plan, device = self.plan_for(problem), devices.of(problem.logits.device)
        return (
            f"{plan.truncation}, {plan.splits} programs a row, {plan.origin} for {device.name} ({device.architecture})"
        )

    def cuts(self, problem: Problem) -> Cuts:
        """The cut of every row."""
        with _on(problem.logits.device):
            call = _Call.of(problem, self.plan_for(problem), wants=select.WANT_MASS.value)
            call.select()
            key, index, count = call.cuts[0], call.cuts[1], call.cuts[2]
            return Cuts(key.long() + 2**31, index, count, call.masses[0], call.masses[1])

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        """Write the masked logits into `out`."""
        with _on(problem.logits.device):
            call = _Call.of(problem, self.plan_for(problem), out=out, mask_value=mask_value)
            call.select()
            call.emit()
        if not out.is_inference():  # kernels write behind torch's back: autograd is told, as it is of any other write
            torch.autograd.graph.increment_version(out)

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order."""
        with _on(problem.logits.device):
            plan = self.plan_for(problem)
            wants = select.WANT_MASS.value
            if never_misses(problem, plan) and max_candidates <= plans.LIST_IN_KERNEL:
                call = _Call.of(problem, plan, wants=wants | select.WANT_LIST.value, slots=max_candidates)
                call.select()
                listing = call.listing
            else:
                call = _Call.of(problem, plan, wants=wants)
                call.select()
                listing = lists.gathered(problem, plan, self._ends(call, max_candidates), max_candidates)
            indices, logits = lists.ordered(problem, plan, call.cuts, listing)
            return Candidates(indices, logits, call.cuts[2], call.masses[0], call.masses[1])

    def _ends(self, call: _Call, slots: int) -> Tensor:
        """The cuts of what is listed: those of the call, or of the first `slots` tokens where it may keep more."""
        problem = call.problem
        most = problem.k if isinstance(problem.k, int) else problem.vocab
        if slots >= most:
            return call.cuts
        first = Problem(problem.logits, slots, None)
        limit = _Call.of(first, self.plan_for(first))
        limit.select()
        return lists.earlier(call.cuts, limit.cuts)


_ONE_AT_A_TIME = threading.RLock()
"""Triton's interpreter patches the language while it runs a kernel: threads have to take turns."""


def _on(device: torch.device) -> Any:
    """Make the logits' device current: Triton launches on the current one."""
    return torch.cuda.device(device) if device.type == "cuda" else _ONE_AT_A_TIME


@dataclass(frozen=True)
class _Call:
    """One call's workspace, and the arguments that its launches share."""

    problem: Problem
    plan: Plan
    wants: int
    slots: int
    fill: int
    filled: int
    out: Tensor
    logits: tuple[Any, ...]
    arguments: tuple[Any, ...]
    shape: dict[str, Any]
    cuts: Tensor
    masses: Tensor
    listing: Tensor

    @staticmethod
    def of(
        problem: Problem, plan: Plan, *, wants: int = 0, out: Tensor | None = None, mask_value: float = 0.0,
        slots: int = 1,
    ) -> _Call:  # fmt: skip
        logits, vocab, count = problem.logits, problem.vocab, problem.rows
        if plan.truncation == "groups" and vocab > plan.group * plan.groups:
            raise ValueError(f"plan: {plan.groups} groups of {plan.group} cannot hold a vocabulary of {vocab}")
        listed = slots if wants & select.WANT_LIST.value else 0
        device, dtype = logits.device, logits.dtype
        cuts = torch.empty((select.CUT_FIELDS.value, count), dtype=torch.int32, device=device)
        out = logits if out is None else out
        return _Call(
            problem=problem,
            plan=plan,
            wants=wants,
            slots=slots,
            fill=rounding.pattern(mask_value, dtype),
            filled=_filled(problem, plan, out).value,
            out=out,
            logits=passing.strided(logits),
            arguments=(*passing.k_arguments(problem.k, cuts), *passing.p_arguments(problem.p, cuts)),
            shape=passing.shape(logits, out),
            cuts=cuts,
            masses=torch.empty((2, count), dtype=torch.int64, device=device),
            listing=torch.empty((count, listed), dtype=torch.int64, device=device),
        )

    @property
    def _device(self) -> Device:
        return devices.of(self.problem.logits.device)

    def _registers(self, programs: int, warps: int, *, spills: bool = False) -> dict[str, int]:
        """Launch options of a kernel of which so many programs are to be `device.Device.resident`.

        Where accesses are not wide, it needs more registers; all that there are where it otherwise `spills`.
        """
        held = self._device.resident(programs, warps) if self.shape["ALIGNED"] else {}
        return held or (self._device.all_registers(warps) if spills else {})

    def select(self) -> None:
        """Fill the records, and the listing or the output where the call wants them."""
        brackets = None
        if self.plan.truncation == "groups":
            row_masses, brackets = self._select_groups()
        elif self.plan.truncation == "sigma":
            row_masses = self._select_sigma()
        else:
            row_masses = self.masses
        if not never_misses(self.problem, self.plan):
            self._select_rows(row_masses, brackets)

    def emit(self) -> None:
        """Write the output of the rows that selection did not write."""
        if self.filled == select.EVERY_ROW.value and never_misses(self.problem, self.plan):
            return
        plan, problem = self.plan, self.problem
        parts = max(plan.splits, min(plans.MAX_SPLITS, -(-problem.vocab // (TILES_A_PROGRAM * plan.tile))))
        emit.mask_kernel[(problem.rows * parts,)](
            *self.logits, *passing.strided(self.out), self.cuts, problem.rows, problem.vocab, parts, self.fill,
            **self.shape, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip

    def _select_groups(self) -> tuple[Tensor, Tensor | None]:
        """Launch truncation by groups and what follows; return the rows' masses, and where to look for missed cuts."""
        plan, problem = self.plan, self.problem
        groups = -(-problem.vocab // (8 * plan.group)) * 8  # rows of maxima stay aligned; the last may be empty
        maxima = self._workspace(problem.rows, groups)
        peaks = self._workspace(problem.rows, plan.splits)
        brackets = _brackets(problem, plan)
        probes, marks, heads, held, tallies = self._probes() if brackets else self._no_probes()
        truncate.group_maxima_kernel[(problem.rows * plan.splits,)](
            *self.logits, *passing.strided(self.out), *self.arguments[:4], probes, marks, tallies, maxima, peaks,
            problem.vocab, groups, plan.splits, self.fill, self.filled, int(brackets),
            **self.shape, GROUP=plan.group, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip
        if brackets and isinstance(problem.k, int):  # more than the groups kept: they cannot hold it
            return self._select_bracket(heads, peaks, probes, tallies, held)
        survivors = self._gather(maxima, probes, marks, tallies, heads, brackets)
        if brackets:
            row_masses, missed = self._select_bracket(heads, peaks, probes, tallies, held)
        else:
            row_masses, missed = self._row_masses(peaks), None
        self._settle(heads, survivors, row_masses, marks)
        return row_masses, missed

    def _gather(
        self, maxima: Tensor, probes: Tensor, marks: Tensor, tallies: Tensor, heads: Tensor, probed: bool
    ) -> Tensor:
        """Launch the choice of groups; return what it gathers, of which the heads tell."""
        plan, problem = self.plan, self.problem
        survivors = self._workspace(problem.rows, plan.survivors)
        select_groups.gather_kernel[(min(problem.rows, plan.programs),)](
            *self.logits, *self.arguments, maxima, probes, marks, tallies, self._workspace(problem.rows, plan.keep),
            survivors, heads, self.cuts, problem.rows, problem.vocab, maxima.shape[1], plan.splits, int(probed),
            **self.shape, **self._registers(
                2 if plan.groups > 4096 else GATHERS.get(plan.keep, 1), plan.select_warps, spills=True
            ),
            GROUP=plan.group, GROUPS=plan.groups, KEEP=plan.keep, SLOTS=plan.survivors,
            SPLITS=plans.MAX_SPLITS, num_warps=plan.select_warps,
        )  # fmt: skip
        return survivors

    def _settle(self, heads: Tensor, survivors: Tensor, row_masses: Tensor, marks: Tensor) -> None:
        plan, problem = self.plan, self.problem
        settle.settle_kernel[(problem.rows,)](
            *self.logits, *passing.strided(self.out), *self.arguments, survivors, heads, row_masses, marks,
            self.cuts, self.masses, self.listing, problem.rows, problem.vocab, plan.splits, self.slots, self.wants,
            self.filled,
            **self.shape, SLOTS=plan.survivors, SPLITS=plans.MAX_SPLITS, num_warps=plan.settle_warps,
        )  # fmt: skip

    def _probes(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Launch the look at a sample; return probes, marks, heads and zeros, which it leaves, and room for tallies."""
        plan, problem = self.plan, self.problem
        probes = self._workspace(problem.rows, probe.PIVOTS.value)
        marks, heads, held = (self._workspace(problem.rows, 1) for _ in range(3))
        tallies = self._workspace(problem.rows, plan.splits * tally.TALLIES.value, torch.float32)
        probe.probe_kernel[(problem.rows,)](
            *self.logits, *self.arguments, probes, marks, heads, held, problem.vocab, plan.keep,
            **self.shape, **self._registers(PROBES, plan.bracket_warps),
            SAMPLE=plan.sample, num_warps=plan.bracket_warps,
        )  # fmt: skip
        return probes, marks, heads, held, tallies

    def _no_probes(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Room for heads, and what stands for the others where nothing reads them."""
        return self.cuts, self.cuts, self._workspace(self.problem.rows, 1), self.cuts, self.cuts.view(torch.float32)

    def _select_bracket(
        self, heads: Tensor, peaks: Tensor, probes: Tensor, tallies: Tensor, held: Tensor
    ) -> tuple[Tensor, Tensor]:
        plan, problem = self.plan, self.problem
        told, brackets = (self._workspace(problem.rows, 2) for _ in range(2))
        inside = self._workspace(problem.rows, plan.hold)
        counts = self._workspace(problem.rows, plan.splits)
        above_masses, row_masses = (self._workspace(problem.rows, plan.splits, torch.int64) for _ in range(2))
        shares = max(1, min(plan.splits, plan.programs // problem.rows))
        new_probes, new_tallies = (
            torch.empty_like(probes),
            self._workspace(problem.rows, shares * tally.TALLIES.value, torch.float32),
        )
        bracket.retally_kernel[(problem.rows * shares,)](
            *self.logits, *self.arguments, heads, peaks, probes, tallies, new_probes, new_tallies, told,
            problem.vocab, plan.splits, shares,
            **self.shape, SPLITS=plans.MAX_SPLITS, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.settle_warps,
        )  # fmt: skip
        given = (heads, peaks, new_probes, new_tallies, told)
        for again in (False,) if isinstance(problem.k, int) else (False, True):  # counts seldom lead astray
            found = (brackets, held, inside, counts, above_masses, row_masses)
            next_brackets, next_held = torch.empty_like(brackets), torch.empty_like(held)
            # A look by all programs of 1,024 rows takes 14 us where there is nothing to do, and there seldom is again.
            parts = shares if again else plan.splits
            source = bracket.AIMED_AGAIN if again else bracket.TALLIED
            self._collect(*given, *found, shares=shares, parts=parts, source=source)
            programs = min(problem.rows, plan.row_programs if again else plan.programs)
            select_bracket.select_bracket_kernel[(programs,)](
                *self.logits, *self.arguments, peaks, *found, next_brackets, next_held, self.cuts, self.masses,
                problem.rows, problem.vocab, plan.splits, parts, self.wants & select.WANT_MASS.value, int(again),
                **self.shape, **self._registers(BRACKETS, plan.bracket_warps),
                SPLITS=plans.MAX_SPLITS, HOLD=plan.hold, num_warps=plan.bracket_warps,
            )  # fmt: skip
            brackets, held = next_brackets, next_held
        return row_masses, brackets

    def _collect(self, *workspace: Tensor, shares: int, parts: int, source: Any) -> None:
        plan, problem = self.plan, self.problem
        bracket.collect_kernel[(problem.rows * parts,)](
            *self.logits, *self.arguments, *workspace, problem.vocab, plan.splits, shares, parts,
            self.wants & select.WANT_MASS.value, source.value,
            **self.shape, **self._registers(COLLECTS, plan.warps, spills=not self.shape["ALIGNED"]),
            SPLITS=plans.MAX_SPLITS, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip

    def _select_sigma(self) -> Tensor:
        plan, problem = self.plan, self.problem
        above = self._workspace(problem.rows, plan.hold)
        found, floors, peaks = (self._workspace(problem.rows, plan.splits) for _ in range(3))
        sigma.sigma_kernel[(problem.rows * plan.splits,)](
            *self.logits, *passing.strided(self.out), *self.arguments[:4], above, found, floors, peaks,
            problem.rows, problem.vocab, plan.splits, self.fill, self.filled,
            **self.shape, SAMPLE=plan.sample, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip
        row_masses = self._row_masses(peaks)
        sigma.select_sigma_kernel[(min(problem.rows, plan.programs),)](
            *self.logits, *passing.strided(self.out), *self.arguments, above, found, floors, row_masses,
            self.cuts, self.masses, problem.rows, problem.vocab, plan.splits, self.wants, self.filled,
            **self.shape, HOLD=plan.hold, SPLITS=plans.MAX_SPLITS, num_warps=plan.select_warps,
        )  # fmt: skip
        return row_masses

    def _row_masses(self, peaks: Tensor) -> Tensor:
        """int64 [rows, splits], the parts of the whole rows' masses, where top-p without top-k needs them."""
        plan, problem = self.plan, self.problem
        row_masses = self._workspace(problem.rows, plan.splits, torch.int64)
        if not isinstance(problem.k, int) and problem.p is not None:
            unused, float_unused = self.cuts, self.cuts.view(torch.float32)
            counts, masses = self._workspace(problem.rows, plan.splits), torch.empty_like(row_masses)
            workspace = (unused, peaks, unused, float_unused, *[unused] * 4, counts, masses, row_masses)
            self._collect(*workspace, shares=1, parts=plan.splits, source=bracket.NOWHERE)
        return row_masses

    def _workspace(self, rows: int, columns: int, dtype: torch.dtype = torch.int32) -> Tensor:
        """Uninitialised memory of this call's own, from torch's allocator: safe to capture and to use on any stream."""
        return torch.empty((rows, columns), dtype=dtype, device=self.cuts.device)

    def _select_rows(self, row_masses: Tensor, brackets: Tensor | None) -> None:
        plan, problem = self.plan, self.problem
        programs = min(problem.rows, plan.row_programs)
        scratch = self._workspace(programs, plan.row_tile * (stream.DEPTH.value + 1))
        select_rows.select_rows_kernel[(programs,)](
            *self.logits, *self.arguments, row_masses, self.cuts, self.masses,
            self.cuts if brackets is None else brackets, scratch, scratch.stride(0),
            problem.rows, problem.vocab, plan.splits, self.wants, int(plan.truncation != "none"),
            int(brackets is not None),
            **self.shape, **self._device.all_registers(plan.row_warps),
            SPLITS=plans.MAX_SPLITS, TILE=plan.row_tile, num_warps=plan.row_warps,
        )  # fmt: skip


def never_misses(problem: Problem, plan: Plan) -> bool:
    """Whether it is certain, without looking at the logits, that truncation settles every row."""
    certain = (isinstance(problem.k, int) and problem.k <= plan.keep) or problem.vocab <= plan.survivors
    return plan.truncation == "groups" and certain


def _brackets(problem: Problem, plan: Plan) -> bool:
    """Whether brackets are looked for, after truncation by groups."""
    return plan.bracket and not never_misses(problem, plan)


def _filled(problem: Problem, plan: Plan, out: Tensor) -> Any:
    """The rows of the output that are filled while the logits are read: none in place, where they are still needed."""
    if out.data_ptr() == problem.logits.data_ptr():
        return select.NO_ROW
    if plan.truncation == "groups" and _brackets(problem, plan):
        return select.MARKED_ROWS
    return select.EVERY_ROW
