"""Every kernel variant that a launch can ask for compiles for every architecture, and its code is what was meant.

Ids name an architecture, which elsewhere they may not: here it is what a test is about.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from typing import Any

import architectures
import budget_file
import compile_report
import launches
import pytest
from budgets import WRITE, Targets, mismatches
from compiling import Compiled, Compiler
from judging import complaints
from launches import Architecture, Variant
from machine_code import Additions

import qrita.kernels

AT_MOST = 44
"""Variants of an architecture that are compiled here. With many more, it would not be a matter of minutes. The choice
of groups has three tiers of four variants; with two there were 40."""

ARCHITECTURES = architectures.wanted(os.environ)
VARIANTS = {architecture: launches.compiled(architecture) for architecture in ARCHITECTURES}
ALL = [variant for variants in VARIANTS.values() for variant in variants]


@pytest.mark.parametrize("variant", ALL, ids=lambda variant: f"{variant.architecture.name}-{variant.name}")
def test_it_compiles_as_it_was_meant(
    variant: Variant, compiler: Compiler, budgets: Targets | None, record_property: Any
) -> None:
    outcome = compiler.compile(variant)
    budget = (budgets or {}).get(variant.architecture.name, {}).get(variant.name)
    wrong = complaints(variant, outcome, budget)
    record_property(compile_report.PROPERTY, json.dumps(compile_report.record_of(variant, outcome, wrong)))
    assert not wrong, "\n".join(wrong)


def test_this_version_of_triton_has_budgets(pytestconfig: pytest.Config) -> None:
    """Without them nothing else here judges what kernels take of a GPU, but for what they keep in memory."""
    unknown = budget_file.unknown_version(budget_file.load(), compile_report.triton_version())
    assert not unknown or pytestconfig.getoption("--write-budgets"), unknown


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_every_variant_has_a_budget_and_every_budget_a_variant(
    architecture: Architecture, budgets: Targets | None
) -> None:
    names = [variant.name for variant in VARIANTS[architecture]]
    wrong = [] if budgets is None else mismatches(budgets, architecture.name, names)
    assert not wrong, "\n".join(wrong)


def test_every_budget_is_of_an_architecture_of_the_matrix(budgets: Targets | None) -> None:
    strange = set(budgets or {}) - {architecture.name for architecture in architectures.wanted({})}
    assert not strange, f"{budget_file.FILE.name}: {', '.join(sorted(strange))}: no target compiles for it: {WRITE}"


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_the_weight_alone_has_its_six_additions(architecture: Architecture, compiler: Compiler) -> None:
    """Counted from outside: a fusion before LLVM's representation would not show in a comparison with that."""
    table = launches.unreached(architecture)[-1]
    outcome = compiler.compile(table)
    assert isinstance(outcome, Compiled)
    additions = 6 * table.names["TILE"] // table.threads
    assert outcome.additions == Additions(meant=additions, found=additions, fused=0, named=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_every_kernel_is_among_them(architecture: Architecture) -> None:
    names = [f"qrita.kernels.{module.name}" for module in pkgutil.iter_modules(qrita.kernels.__path__)]
    modules = [importlib.import_module(name) for name in names]
    declared = {f"{m.__name__}:{name}" for m in modules for name in vars(m) if name.endswith("_kernel")}
    assert {variant.kernel for variant in VARIANTS[architecture]} == declared


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_there_are_few_of_them(architecture: Architecture) -> None:
    names = [variant.name for variant in VARIANTS[architecture]]
    assert len(set(names)) == len(names) <= AT_MOST
