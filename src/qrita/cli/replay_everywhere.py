"""`qrita replay --everywhere`: one case on every engine, each in a process of its own, their cuts below each other.

An engine that cannot run here is named with the reason. It is no failure, unless a person asked for it by name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qrita.cli.exits import UsageError

if TYPE_CHECKING:
    from qrita.cli.findings import Item
    from qrita.cli.table import Styled
    from qrita.reference import Cut
    from qrita.testing.building import Case
    from qrita.testing.testers import Answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("on every engine", "each in a process of its own, their cuts below each other")
    group.add_argument(
        "--everywhere",
        action="store_true",
        help="torch, triton and interpreter, those that this machine can run, instead of one subject",
    )
    group.add_argument(
        "--also",
        metavar="NAME",
        action="append",
        default=[],
        help="one more that answers as docs/semantics.md says: MODULE:ATTRIBUTE, or a plan (interpreter:sigma); may be "
        "repeated. A simulated card, in a checkout: --also simulated_cards:gfx950 --subject-path tests",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, before anything runs.

    Raises:
        UsageError: names the option.
    """
    if args.also and not args.everywhere:
        raise UsageError(f"--also {args.also[0]}: expected --everywhere with it")
    for option, value in (("--subject", args.subject), ("--save-vector", args.save_vector)):
        if args.everywhere and value is not None:
            hint = f"; name it by --also {value}" if option == "--subject" else ""
            raise UsageError(f"{option} is about one engine; expected it without --everywhere{hint}")


@dataclass(frozen=True)
class Column:
    """What came of one engine.

    Attributes:
        name: of the engine.
        where: the device; "" where it has not run.
        cut: its cut, or in words why there is none.
        wrong: what is wrong with its answer, a line each.
        missing: why it has not run; "" where it has.
        wanted: whether a person asked for it by name.
    """

    name: str
    where: str
    cut: Cut | str
    wrong: tuple[str, ...] = ()
    missing: str = ""
    wanted: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether it answered wrongly, not at all, or has not run though it was asked for."""
        return bool(self.wrong) or (self.wanted and bool(self.missing))


def columns(item: Item, case: Case, args: argparse.Namespace) -> Iterator[Column]:
    """Every engine, then those that were named."""
    from qrita import engines

    for name in dict.fromkeys((*engines.NAMES, *args.also)):
        yield _column(item, case, name, args)


def _column(item: Item, case: Case, name: str, args: argparse.Namespace) -> Column:
    from qrita.testing.foreign.loading import SubjectError
    from qrita.testing.foreign.worker import Worker

    wanted = name in args.also
    try:
        worker = Worker(name, args.subject_path, args.subject_timeout)
    except SubjectError as error:
        return Column(name, "", "", missing=str(error), wanted=wanted)
    with closing(worker):
        said = worker.described
        if said.contract is not None:
            return Column(name, "", "", missing="it has a contract of its own; try it by --subject", wanted=wanted)
        answer = worker.answer(item, case)
    return Column(said.name, said.device, answer.cut, tuple(_wrong(case, answer)), wanted=wanted)


def _wrong(case: Case, answer: Answer) -> Iterator[str]:
    """How an answer differs from the oracle's, or why there is none."""
    from qrita import reference
    from qrita.testing import differences

    if isinstance(answer.cut, str):
        yield answer.cut
    elif found := differences.cut_difference(case, answer.cut):
        yield found
    if isinstance(answer.kept, str):
        if answer.kept != answer.cut:
            yield f"mask: {answer.kept}"
    elif found := differences.kept_difference(case, reference.kept(case.answer), answer.kept):
        yield f"mask: {found}"


def lines(item: Item, case: Case, found: tuple[Column, ...]) -> Iterator[Styled]:
    """What a person reads."""
    from qrita.cli import words
    from qrita.cli.counting import counted

    yield from ((line, "") for line in words.told(item, case))
    yield "", ""
    yield from _cuts(case, found)
    yield "", ""
    for column in found:
        yield from ((f"FAILED  {column.name}: {line}", "bold red") for line in column.wrong)
        if column.missing:
            failed = column.is_fault
            yield f"{'FAILED  ' if failed else ''}not run {column.name}: {column.missing}", "bold red" if failed else ""
    ran = counted(sum(not column.missing for column in found), "engines")
    missing = counted(sum(bool(column.missing) for column in found), "not run", "not run")
    if faults := [column.name for column in found if column.is_fault]:
        yield f"qrita replay: FAILED, {', '.join(faults)}; {ran} ran, {missing}", "bold red"
    else:
        yield f"qrita replay: PASSED, {ran} with the oracle's cut, {missing}", "bold green"


def _cuts(case: Case, found: tuple[Column, ...]) -> Iterator[Styled]:
    """The five integers of every cut, one engine a line."""
    from qrita.reference import Cut

    names = tuple(Cut.__dataclass_fields__)
    oracle = _integers(case.answer.cut)
    table = [("", *names, ""), ("oracle", *oracle, "")]
    for column in found:
        label = f"{column.name} on {column.where}" if column.where else column.name
        if isinstance(column.cut, str):
            table.append((label, *["-"] * len(names), "not run" if column.missing else "no cut"))
            continue
        integers = _integers(column.cut)
        differing = [name for name, mine, theirs in zip(names, integers, oracle, strict=True) if mine != theirs]
        table.append((label, *integers, f"<- differs in {', '.join(differing)}" if differing else "the same"))
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for number, row in enumerate(table):
        padded = (cell.rjust(width) if 0 < at < len(row) - 1 else cell.ljust(width) for at, (cell, width) in
                  enumerate(zip(row, widths, strict=True)))  # fmt: skip
        style = "bold" if number == 0 else "bold red" if number > 1 and found[number - 2].wrong else ""
        yield "  ".join(padded).rstrip(), style


def _integers(cut: Cut) -> tuple[str, ...]:
    return tuple(f"0x{value:08x}" if name == "key" else str(value) for name, value in vars(cut).items())
