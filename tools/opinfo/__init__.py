"""Every operator beside PyTorch on the samples of PyTorch's own tests (OpInfo): `make parity-full`.

A cell is an entry of OpInfo, a dtype and a mode. It is green where at least one sample was compared and all that
PyTorch computes came out the same. `opinfo.json` lists the green cells, and may only grow.
"""
