"""A classifier of handwritten digits that several processes train, each on its part of every batch.

    mpiexec -n 4 python examples/machines/digits.py

It needs gradwright-mpi with an MPI, `pip install 'gradwright-mpi[mpich]'`, and scikit-learn for the digits. The losses
are the same, but for rounding, on any number of processes that divides the batch; `python examples/machines/digits.py`
is one process. With GRADWRIGHT_MPI_ORDERED=1 two runs on as many processes have the same bits.
"""

import argparse
import time

from sklearn.datasets import load_digits

import gradwright as torch
from gradwright import distributed, nn
from gradwright.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 120

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
arguments = parser.parse_args()

distributed.init_process_group("mpi")
rank, size = distributed.get_rank(), distributed.get_world_size()
torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
train = TensorDataset(images[:1440], labels[:1440])
sampler = DistributedSampler(train)  # of each batch, whoever trains, every process has its part
loader = DataLoader(train, batch_size=BATCH // size, sampler=sampler)

network = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(32 * 16, 10),
)
model = nn.parallel.DistributedDataParallel(network)
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

for epoch in range(arguments.epochs):
    sampler.set_epoch(epoch)
    began, total = time.perf_counter(), torch.zeros(())
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() / len(loader)
    distributed.all_reduce(total, distributed.ReduceOp.AVG)
    if rank == 0:
        took = time.perf_counter() - began
        print(f"epoch {epoch + 1}: loss {total.item():.5f} in {took:.2f} s on {size} processes", flush=True)

with torch.no_grad():
    right = (network(images[1440:]).argmax(1) == labels[1440:]).float().mean()
if rank == 0:
    print(f"{100 * right.item():.1f} % of the other digits are read")
