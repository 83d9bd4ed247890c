"""Ordinary PyTorch code, run with PyTorch and with the runtime: same values, dtypes, structure and error classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

# `x` is arange(12.).reshape(3, 4), `i` is tensor([2, 0]), `F` is nn.functional.
EXPRESSIONS = [
    "x.split(2)",
    "x.unbind(0)",
    "x.chunk(2,1)",
    "x.max(1)",
    "x.max(dim=0).indices",
    "x.sort(descending=True)",
    "x.topk(2)",
    "x.sum(axis=0)",
    "x.mean((0,1))",
    "x.view(-1)",
    "x.view(2,-1)",
    "x.permute(1,0)",
    "x.expand(2,3,4)",
    "x.squeeze()",
    "x[...,None].shape",
    "x[x>3]",
    "x.T",
    "x.mT",
    "x.numel()",
    "x.size(0)",
    "x.shape",
    "len(x)",
    "[r.sum().item() for r in x]",
    "torch.where(x>3,x,0.)",
    'torch.einsum("ij,kj->ik",x,x)',
    "torch.cat((x,x),dim=1).shape",
    "torch.stack([x,x],0).shape",
    "x@x.T",
    "x**2",
    "2**x",
    "1/(x+1)",
    "x//2",
    "x%3",
    "-x",
    "~(x>2)",
    "(x>2)&(x<7)",
    "x==None",
    "x!=None",
    "2-x",
    "x.clamp(2,5)",
    "x.clamp(min=3)",
    "torch.maximum(x,x*2)",
    "x.std()",
    "x.var(0)",
    "x.std(dim=1,keepdim=True)",
    "torch.zeros(2,3)",
    "torch.zeros((2,3))",
    "torch.zeros([2,3],dtype=torch.int64)",
    "torch.ones(2)",
    "torch.full((2,),7)",
    "torch.full((2,),7.)",
    "torch.arange(5)",
    "torch.arange(1,10,3)",
    "torch.arange(0.,1.,.25)",
    "torch.linspace(0,1,5)",
    "torch.eye(3)",
    "x.new_zeros(2)",
    "x.new_tensor([1,2])",
    "torch.zeros_like(x,dtype=torch.int32)",
    "x.to(torch.float64)",
    'x.to("cpu")',
    "x.float()",
    "x.long()",
    "x.int()",
    "x.bool()",
    "x.double()",
    "x.type_as(torch.tensor(1))",
    "x.flatten()",
    "x.flatten(1)",
    "x.transpose(0,1)",
    "x.t()",
    "x.unsqueeze(0).shape",
    "x.repeat(2,1)",
    "x.tile((2,))",
    "x.flip(0)",
    "x.roll(1,0)",
    "x.diagonal()",
    "x.tril()",
    "x.triu(1)",
    "x.index_select(0,i)",
    "x.gather(1,torch.tensor([[0],[1],[2]]))",
    "torch.zeros(3,4).scatter_(1,torch.tensor([[0],[1],[2]]),1.)",
    "torch.zeros(5).scatter_add(0,torch.tensor([0,1,1]),torch.ones(3))",
    "x.masked_fill(x>5,0)",
    "x.cumsum(0)",
    "x.prod()",
    "x.logsumexp(1)",
    "x.softmax(-1)",
    "F.log_softmax(x,dim=1)",
    "F.gelu(x)",
    "F.layer_norm(x,(4,))",
    "F.one_hot(torch.tensor([0,2]),3)",
    "F.cross_entropy(x,torch.tensor([0,1,2]))",
    "F.mse_loss(x,x*2)",
    "F.binary_cross_entropy_with_logits(x,torch.ones(3,4))",
    "F.nll_loss(F.log_softmax(x,1),torch.tensor([0,1,2]))",
    "F.embedding(torch.tensor([0,2]),x)",
    "F.linear(x,x)",
    "F.normalize(x)",
    "F.pad(x,(1,1))",
    "torch.outer(x[0],x[1])",
    "torch.dot(x[0],x[1])",
    "torch.bmm(x[None],x.T[None])",
    "torch.matmul(x,x[0])",
    "torch.addmm(torch.zeros(3),x,x.T)",
    "torch.tensordot(x,x,dims=([1],[1]))",
    "torch.tensordot(x,x.T,dims=1)",
    'torch.meshgrid(torch.arange(2),torch.arange(3),indexing="ij")',
    "torch.allclose(x,x)",
    "torch.equal(x,x)",
    "torch.is_tensor(x)",
    "x.any()",
    "x.all()",
    "x.argmax()",
    "x.argmax(1)",
    "x.abs().max().item()",
    "x.sign()",
    "torch.sigmoid(x)",
    "x.sqrt()",
    "torch.logical_and(x>1,x<5)",
    "x.nonzero()",
    "torch.nonzero(x>5,as_tuple=True)",
    "x.median()",
    "x.norm()",
    "x.norm(dim=1)",
    "x.norm(p=1)",
    'torch.norm(x,"fro")',
    "torch.linalg.norm(x)",
    "torch.linalg.vector_norm(x,dim=1)",
    "x.min()",
    "torch.min(x,x*0)",
    "torch.max(x,1,True)",
    "x.tolist()",
    "x.dtype==torch.float32",
    "x.element_size()",
    "x.is_contiguous()",
    "x.T.contiguous().is_contiguous()",
    "x.fill_(1.)",
    "x.add_(1)",
    "x.mul_(2.)",
    "x.zero_()",
    "torch.rand(2).shape",
    "torch.randperm(4).sort()[0]",
    "torch.randint(0,5,(3,)).dtype",
    "x.half().dtype==torch.float16",
    "torch.tensor([1,2]).float().mean()",
    "torch.tensor(3).item()",
    "torch.tensor([[1,2],[3,4]]).sum(0)",
    "torch.tensor([True,False]).sum()",
    "torch.cat([torch.tensor([1]),torch.tensor([1.5])])",
    "torch.result_type(torch.tensor([1]),1.5)==torch.float32",
    "torch.broadcast_tensors(torch.ones(2,1),torch.ones(3))[0].shape",
    "torch.unflatten(x,1,(2,2)).shape",
    "x.unfold(1,2,1).shape",
    "torch.swapaxes(x,0,1).shape",
    "torch.movedim(x,0,1).shape",
    "x.narrow(0,0,2).shape",
    "x.select(0,1)",
    "x.lerp(x+1,0.5)",
    "torch.hypot(x,x)",
    "torch.atan2(x,x+1)",
    "torch.clip(x,0,1)",
    "x.round()",
    "x.floor()",
    "x.frac()",
    "torch.erf(x)",
    "torch.var_mean(x)",
    "torch.aminmax(x)",
    "torch.count_nonzero(x)",
    "torch.bincount(torch.tensor([0,1,1]))",
    'f"{x.sum():.2f}"',
    "str(x[0])",
    "repr(torch.tensor([1.5,2]))",
    "x.sum().backward()",
    "x.clone().detach().requires_grad_().requires_grad",
    "torch.ones(2,requires_grad=True).is_leaf",
    "x.view(5)",
    "x.reshape(5)",
    "x[5]",
    "x[0,0,0]",
    "x@torch.ones(3)",
    "torch.cat([x,torch.ones(2,2)])",
    "x.sum(5)",
    "torch.tensor([1,[2]])",
    "x.item()",
    "bool(x)",
    'torch.add(x,"a")',
    "x.foo",
]


def seen(value: Any) -> Any:
    """A result as plain data: dtypes, values and nesting."""
    if hasattr(value, "detach"):
        return str(value.dtype).rpartition(".")[2], np.asarray(value.detach().numpy()).round(5).tolist()
    if isinstance(value, list | tuple):
        name = type(value).__name__
        return [name if name in ("list", "tuple") else "named", *map(seen, value)]
    if isinstance(value, float):
        return round(value, 6)
    return value if isinstance(value, int | str | bool | None) else type(value).__name__


def outcome(library: Any, expression: str) -> Any:
    names = {"torch": library, "F": library.nn.functional, "i": library.tensor([2, 0])}
    names["x"] = library.arange(12.0).reshape(3, 4)
    try:
        return seen(eval(expression, names))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = outcome(torch, expression)
    assert outcome(gradwright, expression) == wanted


# -- small models: five steps of training give the same losses


def array(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def train(library: Any, parameters: list[Any], loss: Callable[..., Any], rate: float = 0.1) -> list[float]:
    tensors = [library.tensor(value).requires_grad_() for value in parameters]
    losses = []
    for _ in range(5):
        value = loss(*tensors)
        value.backward()
        losses.append(value.item())
        with library.no_grad():
            for tensor in tensors:
                tensor -= rate * tensor.grad
                tensor.grad.zero_()
    return losses


def linear_regression(library: Any) -> list[float]:
    x, y = library.tensor(array(20, 3)), library.tensor(array(20, seed=1))
    return train(library, [array(3, seed=2), np.zeros(())], lambda w, b: ((x @ w + b - y) ** 2).mean())


def logistic_regression(library: Any) -> list[float]:
    x, y = library.tensor(array(20, 3)), library.tensor((array(20, seed=1) > 0).astype("float64"))
    bce = library.nn.functional.binary_cross_entropy_with_logits
    return train(library, [array(3, seed=2)], lambda w: bce(x.mv(w), y) + 0.01 * w.abs().sum())


def perceptron(library: Any) -> list[float]:
    functional = library.nn.functional
    x, target = library.tensor(array(16, 8)), library.arange(16) % 4

    def loss(w: Any, b: Any, v: Any) -> Any:
        return functional.cross_entropy(functional.linear(functional.gelu(functional.linear(x, w, b)), v), target)

    return train(library, [array(12, 8, seed=1), array(12, seed=2), array(4, 12, seed=3)], loss)


def convolution_by_unfold(library: Any) -> list[float]:
    x = library.tensor(array(2, 9))

    def loss(kernel: Any) -> Any:
        windows = x.unfold(1, 3, 2)
        return library.relu(library.einsum("bwk,ck->bcw", windows, kernel)).amax(-1).logsumexp(1).sum()

    return train(library, [array(4, 3, seed=1)], loss)


def attention(library: Any) -> list[float]:
    functional = library.nn.functional
    x = library.tensor(array(2, 5, 8))

    def loss(q: Any, k: Any, v: Any, scale: Any, shift: Any) -> Any:
        h = functional.layer_norm(x, (8,), scale, shift)
        heads = [(h @ w).view(2, 5, 2, 4).transpose(1, 2) for w in (q, k, v)]
        weights = (heads[0] @ heads[1].transpose(-2, -1) / 2).softmax(-1)
        out = functional.dropout(weights, 0.0) @ heads[2]
        return (out.transpose(1, 2).reshape(2, 5, 8) - x).pow(2).mean()

    return train(library, [array(8, 8, seed=s) / 3 for s in (1, 2, 3)] + [np.ones(8), np.zeros(8)], loss)


def bag_of_words(library: Any) -> list[float]:
    functional = library.nn.functional
    words, target = library.tensor(np.arange(12).reshape(4, 3) % 7), library.tensor([0, 1, 1, 0])

    def loss(table: Any, w: Any) -> Any:
        return functional.nll_loss(functional.log_softmax(functional.embedding(words, table).mean(1) @ w, -1), target)

    return train(library, [array(7, 5), array(5, 2, seed=1)], loss)


def recurrent_cell(library: Any) -> list[float]:
    inputs = library.tensor(array(20, 3, 4))

    def loss(w: Any, u: Any, b: Any) -> Any:
        h = library.zeros(3, 6, dtype=library.float64)
        for x in inputs:
            h = library.tanh(x @ w + h @ u + b)
        return h.square().sum()

    return train(library, [array(4, 6), array(6, 6, seed=1) / 3, array(6, seed=2)], loss)


def masked_writes(library: Any) -> list[float]:
    mask = library.tensor(array(4, 5) > 0)

    def loss(w: Any) -> Any:
        y = w * 2
        y[0] = y[1] + 1
        y[mask] *= 0.5
        y[:, 1:3].add_(w[:, :2])
        return y.masked_fill(mask.roll(1, 0), 0.0).cumsum(1).pow(2).sum() / 100

    return train(library, [array(4, 5, seed=1)], loss)


MODELS = [
    linear_regression, logistic_regression, perceptron, convolution_by_unfold, attention, bag_of_words, recurrent_cell,
    masked_writes,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_training_gives_the_same_losses(model: Callable[[Any], list[float]]) -> None:
    np.testing.assert_allclose(model(gradwright), model(torch), rtol=1e-10, atol=1e-12)
