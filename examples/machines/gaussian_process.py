"""Fits a Gaussian process whose kernel matrix is shared out by rows among several processes.

    mpiexec -n 4 python examples/machines/gaussian_process.py

The loss is the exact negative logarithm of the marginal likelihood. The matrix is factorized block by block: whoever
has a block of the diagonal factorizes it and sends it to all (`broadcast_from`), each process solves for its own rows,
and all get these parts (`allgather`) to subtract what they explain. Nobody holds the whole matrix; gradients go back
over the same calls. It needs gradwright-mpi with an MPI, `pip install 'gradwright-mpi[mpich]'`. The losses are the
same, but for rounding, on any number of processes that divides the blocks, one as well.
"""

import argparse
import time

import gradwright as torch
import gradwright_mpi as mpi
from gradwright import Tensor, distributed

POINTS = 600

parser = argparse.ArgumentParser()
parser.add_argument("--iterations", type=int, default=10)
parser.add_argument("--blocks", type=int, default=12, help="of the matrix, on each side")
arguments = parser.parse_args()

torch.set_default_dtype(torch.float64)
distributed.init_process_group("mpi")
rank, size = distributed.get_rank(), distributed.get_world_size()
blocks = arguments.blocks
if blocks % size or POINTS % blocks:
    raise SystemExit(f"{POINTS} points in {blocks} blocks can not be divided by {size} processes")
width = POINTS // blocks

generator = torch.Generator().manual_seed(0)  # all processes have the same points
x = torch.rand(POINTS, generator=generator).sort().values * 10
y = torch.sin(2 * x) + 0.3 * x.cos() + 0.2 * torch.randn(POINTS, generator=generator)
# Blocks are dealt out in turn, so that all processes have rows until the end.
own_blocks = torch.arange(rank, blocks, size)
own = (own_blocks[:, None] * width + torch.arange(width)).reshape(-1)
block_of_row = own // width


def kernel(length: Tensor, height: Tensor, noise: Tensor) -> Tensor:
    """The rows of the covariance that this process has, (own rows, points)."""
    distance = (x[own, None] - x[None, :]) / length
    return height.square() * torch.exp(-distance.square() / 2) + noise.square() * (own[:, None] == torch.arange(POINTS))


def negative_log_likelihood(rows: Tensor, values: Tensor) -> Tensor:
    """The part of this process, in a sum over all.

    Args:
        rows: the rows of the covariance that it has, (own rows, points).
        values: what was seen at these, (own rows, 1).
    """
    part = torch.zeros(())
    for block in range(blocks):
        owner = block % size
        columns = slice(block * width, (block + 1) * width)
        if rank == owner:
            mine = slice(block // size * width, (block // size + 1) * width)
            factor = torch.linalg.cholesky(rows[mine, columns])
            solved = torch.linalg.solve_triangular(factor, values[mine], upper=False)
            part = part + factor.diagonal().log().sum() + solved.square().sum() / 2
            sent = torch.cat([factor, solved], 1)
        else:
            sent = torch.zeros(width, width + 1)
        if block == blocks - 1:
            break  # no rows are left below it
        sent = mpi.broadcast_from(sent, owner)
        factor, solved = sent[:, :width], sent[:, width:]
        left = (
            torch.linalg.solve_triangular(factor, rows[:, columns].T, upper=False).T * (block_of_row > block)[:, None]
        )
        # In the order of the points: blocks of all processes in turn.
        everywhere = mpi.allgather(left).reshape(size, -1, width, width).transpose(0, 1).reshape(POINTS, width)
        rows = rows - left @ everywhere.T
        values = values - left @ solved
    # In the backward pass each process has to come to all calls, those included whose results it did not need.
    return part + 0 * rows.sum()


parameters = torch.tensor([1.0, 1.0, 0.5]).log().requires_grad_()
optimizer = torch.optim.Adam([parameters], lr=0.1)
began = time.perf_counter()
for iteration in range(arguments.iterations):
    loss = negative_log_likelihood(kernel(*parameters.exp()), y[own, None])
    optimizer.zero_grad()
    loss.backward()
    assert parameters.grad is not None
    distributed.all_reduce(parameters.grad)
    optimizer.step()
    total = loss.detach()
    distributed.all_reduce(total)
    if rank == 0:
        total += POINTS / 2 * torch.tensor(2 * torch.pi).log()
        print(f"iteration {iteration + 1}: loss {total.item():.9f} on {size} processes", flush=True)
if rank == 0:
    length, height, noise = parameters.detach().exp().tolist()
    print(f"length {length:.3f}, height {height:.3f}, noise {noise:.3f} after {time.perf_counter() - began:.2f} s")
