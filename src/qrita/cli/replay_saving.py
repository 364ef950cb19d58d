"""The options of `qrita replay` that keep a case as a vector, and the work behind them."""

from __future__ import annotations

import argparse
from pathlib import Path

from qrita.cli.exits import UsageError
from qrita.cli.findings import Item


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group(
        "keeping the case as a vector", "with the oracle's answer, whatever the engine's is; docs/testing.md explains"
    )
    group.add_argument("--save-vector", metavar="FILE", type=Path, help="add the vector to this file")
    group.add_argument("--name", help="its name: lower-case words joined by '-'; replaces the one of that name")
    group.add_argument("--why", metavar="SENTENCE", help="why it exists")
    group.add_argument(
        "--rule", metavar="N", type=int, action="append", help="a rule of docs/semantics.md it tests; may be repeated"
    )
    group.add_argument(
        "--fault",
        metavar="KIND",
        action="append",
        help="a kind of fault, as docs/semantics.md names it; may be repeated",
    )
    group.add_argument(
        "--p-bits", metavar="HEX", help="p as a float32 pattern, for what no recipe holds: NaN, infinities"
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options that miss each other, before anything runs.

    Raises:
        UsageError: names the option.
    """
    needed = {"--name": args.name, "--why": args.why, "--rule": args.rule}
    if args.save_vector is None:
        given = [
            option for option, value in {**needed, "--fault": args.fault, "--p-bits": args.p_bits}.items() if value
        ]
        if given:
            raise UsageError(f"{given[0]} is about a vector; expected --save-vector FILE with it")
    else:
        missing = [option for option, value in needed.items() if not value]
        if missing:
            raise UsageError(f"--save-vector needs {', '.join(missing)} as well")


def save(args: argparse.Namespace, item: Item) -> str:
    """Write the vector; returns the line that says so.

    Raises:
        UsageError: the case is not fit to be a vector, or the file cannot be written.
    """
    from qrita.cli.findings import case
    from qrita.testing import vectors

    try:
        vector = vectors.of(
            case(item),
            name=args.name,
            why=args.why,
            rules=args.rule,
            faults=args.fault or (),
            recipe=item.to_json(),
            p_bits=args.p_bits,
        )
        vectors.save(args.save_vector, vector)
    except (vectors.VectorError, OSError) as error:
        raise UsageError(f"--save-vector: {error}") from None
    return f"vector {vector.name} written to {args.save_vector}: {', '.join(vector.flags)}"
