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
from qrita import passing, rounding
from qrita import plan as plans
from qrita.arguments import MAX_VOCAB
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
from qrita.torch_engine import signed_keys, widened_bits


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
            in_place = out.data_ptr() == problem.logits.data_ptr()
            # Filling the output while it is read pays where few tokens are kept for sure.
            few = isinstance(problem.k, Tensor) or (problem.k or problem.vocab) <= self.plan_for(problem).keep
            wants = select.WANT_OUTPUT.value if few and not in_place else 0
            call = _Call.of(problem, self.plan_for(problem), wants=wants, out=out, mask_value=mask_value)
            call.select()
            call.emit()
        if not out.is_inference():  # kernels write behind torch's back: autograd is told, as it is of any other write
            torch.autograd.graph.increment_version(out)

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order."""
        with _on(problem.logits.device):
            if max_candidates > plans.LIST_IN_KERNEL:
                return _sorted_candidates(problem, self.cuts(problem), max_candidates)
            wants = select.WANT_MASS.value | select.WANT_LIST.value
            call = _Call.of(problem, self.plan_for(problem), wants=wants, slots=max_candidates)
            call.select()
            indices, logits = call.listed()
            return Candidates(indices, logits, call.cuts[2], call.masses[0], call.masses[1])


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
    out: Tensor
    logits: tuple[Any, ...]
    arguments: tuple[Any, ...]
    shape: dict[str, Any]
    cuts: Tensor
    masses: Tensor
    listing: Tensor

    @staticmethod
    def of(
        problem: Problem, plan: Plan, *, wants: int, out: Tensor | None = None, mask_value: float = 0.0, slots: int = 1
    ) -> _Call:
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
            out=out,
            logits=passing.strided(logits),
            arguments=(*passing.k_arguments(problem.k, cuts), *passing.p_arguments(problem.p, cuts)),
            shape={
                "FORMAT": passing.FORMATS[dtype],
                "ALIGNED": passing.aligned(logits) and passing.aligned(out),
                "enable_fp_fusion": False,
            },
            cuts=cuts,
            masses=torch.empty((2, count), dtype=torch.int64, device=device),
            listing=torch.empty((count, listed), dtype=torch.int32, device=device),
        )

    def select(self) -> None:
        """Fill the records, and the listing or the output where the call wants them."""
        if self.plan.truncation == "groups":
            row_masses = self._select_groups()
        elif self.plan.truncation == "sigma":
            row_masses = self._select_sigma()
        else:
            row_masses = self.masses
        if not self._never_misses():
            self._select_rows(row_masses)

    def emit(self) -> None:
        """Write the output of the rows that selection did not write."""
        if self.wants & select.WANT_OUTPUT.value and self._never_misses():
            return
        plan, problem = self.plan, self.problem
        emit.mask_kernel[(problem.rows * plan.splits,)](
            *self.logits, *passing.strided(self.out), self.cuts, problem.rows, problem.vocab, plan.splits, self.fill,
            **self.shape, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip

    def listed(self) -> tuple[Tensor, Tensor]:
        """The listing in order: indices and logits, [rows, slots]."""
        problem, logits = self.problem, self.problem.logits
        indices = torch.empty((problem.rows, self.slots), dtype=torch.int32, device=logits.device)
        values = torch.empty((problem.rows, self.slots), dtype=logits.dtype, device=logits.device)
        emit.list_kernel[(problem.rows,)](
            *self.logits, self.cuts, self.listing, indices, values.view(passing.WORDS[logits.dtype]),
            problem.rows, problem.vocab, self.slots, **self.shape, BLOCK=64, num_warps=self.plan.warps,
        )  # fmt: skip
        return indices, values

    def _never_misses(self) -> bool:
        """Whether it is certain, without looking at the logits, that truncation settles every row."""
        k, plan = self.problem.k, self.plan
        certain = (isinstance(k, int) and k <= plan.keep) or self.problem.vocab <= plan.survivors
        return plan.truncation == "groups" and certain

    def _select_groups(self) -> Tensor:
        plan, problem = self.plan, self.problem
        groups = -(-problem.vocab // (8 * plan.group)) * 8  # rows of maxima stay aligned; the last may be empty
        maxima = self._workspace(problem.rows, groups)
        peaks = self._workspace(problem.rows, plan.splits)
        brackets = plan.bracket and not self._never_misses() and not self.wants & select.WANT_LIST.value
        probes, held, tallies = self._probes() if brackets else (self.cuts, self.cuts, self.cuts.view(torch.float32))
        truncate.group_maxima_kernel[(problem.rows * plan.splits,)](
            *self.logits, *passing.strided(self.out), *self.arguments[:4], probes, tallies, maxima, peaks,
            problem.vocab, groups, plan.splits, self.fill, self._blanks(), int(brackets),
            **self.shape, GROUP=plan.group, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip
        row_masses = self._select_bracket(peaks, probes, tallies, held) if brackets else self._row_masses(peaks)
        if not isinstance(problem.k, int) or problem.k <= plan.keep or not brackets:
            self._settle_groups(maxima, row_masses, brackets)
        return row_masses

    def _settle_groups(self, maxima: Tensor, row_masses: Tensor, bracketed: bool) -> None:
        plan, problem = self.plan, self.problem
        survivors, heads = self._workspace(problem.rows, plan.survivors), self._workspace(problem.rows, 1)
        select_groups.gather_kernel[(min(problem.rows, plan.programs),)](
            *self.logits, *self.arguments[:4], maxima, self._workspace(problem.rows, plan.keep), survivors, heads,
            self.cuts, problem.rows, problem.vocab, maxima.shape[1], int(bracketed),
            **self.shape, GROUP=plan.group, GROUPS=plan.groups, KEEP=plan.keep, SLOTS=plan.survivors,
            num_warps=plan.select_warps,
        )  # fmt: skip
        settle.settle_kernel[(problem.rows,)](
            *self.logits, *passing.strided(self.out), *self.arguments, survivors, heads, row_masses,
            self.cuts, self.masses, self.listing, problem.rows, problem.vocab, plan.splits, self.slots, self.wants,
            **self.shape, SLOTS=plan.survivors, SPLITS=plans.MAX_SPLITS, num_warps=plan.settle_warps,
        )  # fmt: skip

    def _probes(self) -> tuple[Tensor, Tensor, Tensor]:
        """Launch the look at a sample; return what it leaves, and room for tallies."""
        plan, problem = self.plan, self.problem
        probes = self._workspace(problem.rows, probe.PIVOTS.value)
        held = self._workspace(problem.rows, 1)
        tallies = self._workspace(problem.rows, plan.splits * tally.TALLIES.value, torch.float32)
        probe.probe_kernel[(problem.rows,)](
            *self.logits, *self.arguments, probes, held, problem.vocab,
            **self.shape, SAMPLE=plan.sample, num_warps=plan.bracket_warps,
        )  # fmt: skip
        return probes, held, tallies

    def _select_bracket(self, peaks: Tensor, probes: Tensor, tallies: Tensor, held: Tensor) -> Tensor:
        plan, problem = self.plan, self.problem
        brackets, inside = self._workspace(problem.rows, 2), self._workspace(problem.rows, plan.hold)
        counts = self._workspace(problem.rows, plan.splits)
        above_masses, row_masses = (self._workspace(problem.rows, plan.splits, torch.int64) for _ in range(2))
        wants_mass = self.wants & select.WANT_MASS.value
        shares = max(1, min(plan.splits, plan.programs // problem.rows))
        new_probes, new_tallies = (
            torch.empty_like(probes),
            self._workspace(problem.rows, shares * tally.TALLIES.value, torch.float32),
        )
        bracket.retally_kernel[(problem.rows * shares,)](
            *self.logits, *self.arguments, peaks, probes, tallies, new_probes, new_tallies,
            problem.vocab, plan.splits, shares,
            **self.shape, SPLITS=plans.MAX_SPLITS, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip
        probes, tallies = new_probes, new_tallies
        workspace = (peaks, probes, tallies, brackets, held, inside, counts, above_masses, row_masses)
        self._collect(*workspace, shares=shares, brackets=True)
        select_bracket.select_bracket_kernel[(min(problem.rows, plan.programs),)](
            *self.logits, *self.arguments, peaks, brackets, held, inside, counts, above_masses, row_masses,
            self.cuts, self.masses, problem.rows, problem.vocab, plan.splits, wants_mass,
            **self.shape, SPLITS=plans.MAX_SPLITS, HOLD=plan.hold, TILE=plan.row_tile, num_warps=plan.bracket_warps,
        )  # fmt: skip
        return row_masses

    def _collect(self, *workspace: Tensor, shares: int, brackets: bool) -> None:
        plan, problem = self.plan, self.problem
        bracket.collect_kernel[(problem.rows * plan.splits,)](
            *self.logits, *self.arguments, *workspace, problem.vocab, plan.splits, shares,
            self.wants & select.WANT_MASS.value, int(brackets),
            **self.shape, SPLITS=plans.MAX_SPLITS, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip

    def _select_sigma(self) -> Tensor:
        plan, problem = self.plan, self.problem
        above = self._workspace(problem.rows, plan.hold)
        found, floors, peaks = (self._workspace(problem.rows, plan.splits) for _ in range(3))
        sigma.sigma_kernel[(problem.rows * plan.splits,)](
            *self.logits, *passing.strided(self.out), *self.arguments[:4], above, found, floors, peaks,
            problem.rows, problem.vocab, plan.splits, self.fill, self._blanks(),
            **self.shape, SAMPLE=plan.sample, HOLD=plan.hold, TILE=plan.tile, num_warps=plan.warps,
        )  # fmt: skip
        row_masses = self._row_masses(peaks)
        sigma.select_sigma_kernel[(min(problem.rows, plan.programs),)](
            *self.logits, *passing.strided(self.out), *self.arguments, above, found, floors, row_masses,
            self.cuts, self.masses, self.listing, problem.rows, problem.vocab, plan.splits, self.slots, self.wants,
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
            workspace = (peaks, unused, float_unused, unused, unused, unused, counts, masses, row_masses)
            self._collect(*workspace, shares=1, brackets=False)
        return row_masses

    def _blanks(self) -> int:
        """Whether truncation fills the output as it reads: not in place, where the logits are still needed."""
        return int(self.wants & select.WANT_OUTPUT.value != 0)

    def _workspace(self, rows: int, columns: int, dtype: torch.dtype = torch.int32) -> Tensor:
        """Uninitialised memory of this call's own, from torch's allocator: safe to capture and to use on any stream."""
        return torch.empty((rows, columns), dtype=dtype, device=self.cuts.device)

    def _select_rows(self, row_masses: Tensor) -> None:
        plan, problem = self.plan, self.problem
        programs = min(problem.rows, plan.row_programs)
        scratch = self._workspace(programs, plan.row_tile * (stream.DEPTH.value + 1))
        select_rows.select_rows_kernel[(programs,)](
            *self.logits, *self.arguments, row_masses, self.cuts, self.masses, self.listing, scratch, scratch.stride(0),
            problem.rows, problem.vocab, plan.splits, self.slots, self.wants, int(plan.truncation != "none"),
            **self.shape, SPLITS=plans.MAX_SPLITS, TILE=plan.row_tile, num_warps=plan.row_warps,
        )  # fmt: skip


def _sorted_candidates(problem: Problem, cuts: Cuts, slots: int) -> Candidates:
    """Lists that are too long to order in a kernel: torch sorts one int64 a token, its key above its index."""
    logits, vocab = problem.logits, problem.vocab
    depth = min(slots, vocab)
    index = torch.arange(vocab, device=logits.device)
    composite = ((signed_keys(widened_bits(logits)).long() + 2**31) << 22) | (MAX_VOCAB - 1 - index)
    order = MAX_VOCAB - 1 - (composite.sort(dim=1, descending=True).values[:, :depth] & (MAX_VOCAB - 1))
    listed = torch.arange(depth, device=logits.device) < cuts.count[:, None]
    indices = torch.full((problem.rows, slots), -1, dtype=torch.int32, device=logits.device)
    values = torch.full((problem.rows, slots), float("-inf"), dtype=logits.dtype, device=logits.device)
    indices[:, :depth] = torch.where(listed, order.int(), -1)
    values[:, :depth] = torch.where(listed, logits.gather(1, order), float("-inf"))
    return Candidates(indices, values, cuts.count, cuts.mass, cuts.total)
