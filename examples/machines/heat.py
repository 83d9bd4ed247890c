"""Finds how well heat spreads in each cell of a plate from what is left of it, with rows of cells on several processes.

    mpiexec -n 4 python examples/machines/heat.py

A step of the equation u_t = k(x) (u_xx + u_yy) needs of the neighbours one row of cells on either side, its halo, which
`sendrecv` brings. The gradient of the loss goes through all steps and back over the same messages. It needs
gradwright-mpi with an MPI, `pip install 'gradwright-mpi[mpich]'`. The losses are the same, but for rounding, on any
number of processes that divides the rows; `python examples/machines/heat.py` is one process.
"""

import argparse
import time

import gradwright as torch
import gradwright_mpi as mpi
from gradwright import Tensor, distributed
from gradwright.nn.functional import pad

CELLS, STEPS, STEP = 48, 40, 0.2  # the step is stable up to 1 / (4 k)

parser = argparse.ArgumentParser()
parser.add_argument("--iterations", type=int, default=40)
arguments = parser.parse_args()

torch.set_default_dtype(torch.float64)
distributed.init_process_group("mpi")
rank, size = distributed.get_rank(), distributed.get_world_size()
if CELLS % size:
    raise SystemExit(f"{CELLS} rows can not be divided by {size} processes")
above, below = rank - 1, rank + 1 if rank + 1 < size else -1  # -1 is nobody, from whom zeros come: the cold edge


def own_rows(field: Tensor) -> Tensor:
    return field.chunk(size)[rank].clone()


def spread(heat: Tensor, conductance: Tensor) -> Tensor:
    """The heat after all steps: both are (rows, cells), of this process."""
    for _ in range(STEPS):
        first, last = heat[:1], heat[-1:]
        rows = torch.cat(
            [mpi.sendrecv(last, first, below, above, tag=0), heat, mpi.sendrecv(first, last, above, below, tag=1)]
        )
        around = rows[:-2] + rows[2:] + pad(heat[:, 1:], (0, 1)) + pad(heat[:, :-1], (1, 0))
        heat = heat + STEP * conductance * (around - 4 * heat)
    return heat


# All processes make the whole plate, and keep their rows of it.
places = torch.linspace(0, 1, CELLS)
y, x = places[:, None], places[None, :]
start = own_rows(torch.sin(9 * x).square() * torch.cos(7 * y).square())
true = own_rows(0.3 + 0.5 * torch.exp(-20 * ((x - 0.6).square() + (y - 0.4).square())))
with torch.no_grad():
    seen = spread(start, true)

guess = torch.full((CELLS // size, CELLS), 0.5).log().requires_grad_()
optimizer = torch.optim.Adam([guess], lr=0.05)
began = time.perf_counter()
for iteration in range(arguments.iterations):
    # The part of this process: together they are the derivative of the mean over all cells.
    loss = (spread(start, guess.exp()) - seen).square().sum() / CELLS**2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.detach()
    distributed.all_reduce(total)
    if rank == 0 and (iteration % 10 == 0 or iteration == arguments.iterations - 1):
        print(f"iteration {iteration + 1}: loss {total.item():.12e} on {size} processes", flush=True)
off = (guess.detach().exp() - true).abs().sum() / CELLS**2
distributed.all_reduce(off)
if rank == 0:
    print(f"off by {off.item():.6f} in a cell, after {time.perf_counter() - began:.2f} s")
