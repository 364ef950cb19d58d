"""Executes the assembly that Triton compiles for AMD GPUs, instruction by instruction, on a CPU, with numpy.

It knows nothing of the kernels that it runs. The seam is one function,

    run(program, grid, arguments, memory) -> None

where `program` is what `parse.program` makes of `CompiledKernel.asm["amdgcn"]`, and `memory` the buffers that the
launch may touch. Whatever does the same can take its place: `amdsim.driver`, which puts it behind Triton's driver
interface, and what is above call nothing else.

It shows what the machine code computes. It does not show memory ordering and visibility between compute units, missing
waits, the hardware's own rounding of exp, log, rcp, rsq and sqrt, speed, or the real driver.
"""

from amdsim.errors import SimulationError
from amdsim.launch import Argument, Grid, Options, Simulator, run
from amdsim.memory import Memory
from amdsim.parse import program

__all__ = ["Argument", "Grid", "Memory", "Options", "SimulationError", "Simulator", "program", "run"]
