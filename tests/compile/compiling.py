"""Compile a variant in a process of its own, which can be ended when it hangs, and say what the kernel needs."""

from __future__ import annotations

import contextlib
import importlib
import io
import multiprocessing
import os
import subprocess
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import machine_code
from launches import Variant
from machine_code import Additions, Needs

PATIENCE = 200.0
"""Seconds that one compilation may take: the slowest takes 5 on an idle machine."""


@dataclass(frozen=True)
class Compiled:
    """A variant that compiled. `seconds` are those of processors, which other work on the machine does not lengthen.

    `waits`: whether it reads and writes nothing before it has waited for the launch before it.
    """

    needs: Needs
    additions: Additions
    seconds: float
    waits: bool = False


@dataclass(frozen=True)
class Failed:
    """One that did not, and how."""

    how: str


class Compiler:
    """A process that compiles one variant after another, and is replaced after one that it did not survive.

    Triton's cache, and whatever else it leaves, goes to `folder`. Kept between variants because a process takes two
    seconds to import and to start; new ones start anew, since a fork of a process with threads may hang.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: multiprocessing.process.BaseProcess | None = None
        self._channel: Connection | None = None

    def compile(self, variant: Variant, patience: float = PATIENCE) -> Compiled | Failed:
        """Compile, or say why not, within `patience` seconds and the start of a process."""
        process, channel = self._started()
        channel.send(variant)
        if not channel.poll(patience):
            self.close()
            return Failed(f"it was still being compiled after {patience:g} s")
        try:
            outcome: Compiled | Failed = channel.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            self.close()
            return Failed(f"the compiling process died with status {code}")
        return outcome

    def close(self) -> None:
        """End the process, whatever it is at."""
        if self._process is not None and self._channel is not None:
            self._process.kill()
            self._process.join()
            self._channel.close()
        self._process = self._channel = None

    def _started(self) -> tuple[multiprocessing.process.BaseProcess, Connection]:
        """The process, ready to compile."""
        if self._process is None or self._channel is None:
            context = multiprocessing.get_context("spawn")
            self._channel, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._folder), daemon=True)
            self._process.start()
            theirs.close()
            if not self._channel.poll(PATIENCE):
                self.close()
                raise TimeoutError(f"the compiling process was not ready after {PATIENCE:g} s")
            self._channel.recv()
        return self._process, self._channel


def _serve(channel: Connection, folder: Path) -> None:
    """The other process: compile what comes down the channel."""
    os.environ.update(TMPDIR=str(folder), TRITON_DUMP_PTXAS_LOG="1")
    import triton  # noqa: F401  # slow, and no part of anybody's patience

    channel.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            variant = channel.recv()
            try:
                channel.send(_compiled(variant, folder))
            except Exception as error:
                channel.send(Failed(f"{type(error).__name__}: {error}"))


def _compiled(variant: Variant, folder: Path) -> Compiled:
    """Compile as `JITFunction.run` does where the kernel is in no cache."""
    from triton import compile as compile_triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module, _, name = variant.kernel.partition(":")
    kernel = getattr(importlib.import_module(module), name)
    source = ASTSource(kernel, variant.signature, variant.constants, variant.attributes)
    architecture = variant.architecture
    target = GPUTarget(architecture.backend, architecture.triton_name, architecture.wave)
    started = _processor_seconds()
    printed = io.StringIO()
    with tempfile.TemporaryDirectory(dir=folder) as cache, contextlib.redirect_stdout(printed):
        os.environ["TRITON_CACHE_DIR"] = cache
        found = compile_triton(source, target=target, options=variant.options)
        code, shared = found.asm, found.metadata.shared
        waits = machine_code.waits_first(code.get("ptx", ""))
        if architecture.backend == "hip":
            needs = machine_code.amd_needs(code["amdgcn"], shared)
            additions = machine_code.amd_additions(code["llir"], code["amdgcn"])
        else:
            needs = machine_code.nvidia_needs(printed.getvalue(), shared)
            additions = machine_code.nvidia_additions(code["llir"], code["ptx"], _sass(code, folder))
    return Compiled(needs, additions, round(_processor_seconds() - started, 2), waits)


def _processor_seconds() -> float:
    """Of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _sass(code: Any, folder: Path) -> str:
    """NVIDIA's machine code in words; none where there is no addition of floats to look for, which saves a third."""
    from triton import knobs

    if not machine_code.meant_additions(code["llir"]) + machine_code.named_fusions(code["llir"]):
        return ""
    binary = folder / "kernel.cubin"
    binary.write_bytes(code["cubin"])
    command = [knobs.nvidia.cuobjdump.path, "-sass", str(binary)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
