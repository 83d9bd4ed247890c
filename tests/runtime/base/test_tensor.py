"""What a Tensor does without operators: its data, conversions, and autograd state."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

from runtime.base import dtypes
from runtime.base.creation import from_numpy
from runtime.base.creation import tensor as make
from runtime.base.sharing import counter, shares
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import channels_last, channels_last_3d
from runtime.graph.node import Node, OutputEdge


class Made(Node):
    """Stands for the Node of some operator."""

    __slots__ = ()


def non_leaf(number: int = 0) -> Tensor:
    out = make([1.0, 2.0])
    node = Made((), out.shape, out._array.dtype)
    out._edge = OutputEdge(node, number) if number else node
    return out


class TestData:
    def test_shape_and_type(self):
        x = make([[1.0, 2, 3], [4, 5, 6]])
        assert x.shape == x.size() == (2, 3)
        assert x.size(-1) == x.size(1) == 3
        assert x.dim() == x.ndim == x.ndimension() == 2
        assert x.numel() == x.nelement() == 6
        assert x.dtype is dtypes.float32
        assert x.type() == "gradwright.FloatTensor"
        assert (x.itemsize, x.element_size(), x.nbytes) == (4, 4, 24)
        assert str(x.device) == "cpu"
        assert repr(x.layout) == "gradwright.strided"
        assert x.get_device() == -1
        assert [x.is_cuda, x.is_meta, x.is_sparse] == [False] * 3
        assert x.data_ptr() == x._array.ctypes.data

    def test_kinds(self):
        assert make(1.0).is_floating_point()
        assert make(1j).is_complex()
        assert not make(1).is_floating_point()
        assert make(1).is_signed()
        assert not make([1], dtype=dtypes.uint8).is_signed()

    @pytest.mark.parametrize("dim", [2, -3])
    def test_dimensions_out_of_range(self, dim):
        x = make([[1.0]])
        for method in (x.size, x.stride):
            with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\]"):
                method(dim)

    def test_a_zero_dim_tensor_has_no_dimension_to_ask_for(self):
        with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
            make(1.0).size(0)

    def test_strides(self):
        array = np.zeros((2, 3, 4))
        assert from_numpy(array).stride() == (12, 4, 1)
        assert from_numpy(array).stride(-2) == 4
        assert wrap(array.transpose(2, 0, 1)).stride() == (1, 12, 4)
        assert wrap(np.zeros((0, 3))).stride() == (3, 1)
        assert wrap(np.zeros((3, 0))).stride() == (1, 1)
        assert make(1.0).stride() == ()

    def test_contiguity(self):
        array = np.zeros((2, 3, 4, 5))
        assert wrap(array).is_contiguous()
        assert not wrap(array.T).is_contiguous()
        last = wrap(np.zeros((2, 4, 5, 3)).transpose(0, 3, 1, 2))
        assert last.is_contiguous(memory_format=channels_last)
        assert not last.is_contiguous(memory_format=channels_last_3d)
        assert not last.is_contiguous()
        with pytest.raises(TypeError, match=r"must be gradwright\.memory_format, not int"):
            last.is_contiguous(memory_format=3)

    def test_storage_offset(self):
        array = np.zeros((4, 3))
        assert wrap(array).storage_offset() == 0
        view = wrap(array[1:, 2:])
        assert view.storage_offset() == 5
        base = from_numpy(array[1:])
        inner = wrap(base._array[1:])
        inner._base = base
        assert inner._base is base
        assert inner._is_view()

    def test_the_type_of_a_tensor_can_be_asked_for_by_name(self):
        with pytest.raises(ValueError, match=r"invalid type: 'gradwright\.Nothing'"):
            make(1.0).type("gradwright.Nothing")
        x = make(1.0)
        assert x.type(dtypes.float32) is x
        assert x.type("gradwright.FloatTensor") is x
        assert x.float() is x

    def test_constructor(self):
        assert Tensor(2, 3).shape == (2, 3)
        assert Tensor().shape == (0,)
        assert Tensor([1, 2]).dtype is dtypes.float32
        source = make([1.0])
        assert Tensor(source).data_ptr() == source.data_ptr()

    def test_new_tensor(self):
        assert make([1.0], dtype=dtypes.float64).new_tensor([1]).dtype is dtypes.float64
        assert make([1.0]).new_tensor([1], dtype=dtypes.int8).dtype is dtypes.int8


class TestPython:
    def test_item_and_tolist(self):
        assert make([[1.5]]).item() == 1.5
        assert type(make(1).item()) is int
        assert type(make(True).item()) is bool
        assert make([[1], [2]]).tolist() == [[1], [2]]
        assert make(3).tolist() == 3
        half = make([[1.5]], dtype=dtypes.bfloat16)
        assert type(half.item()) is float
        assert half.tolist() == [[1.5]]
        assert bool(half)
        with pytest.raises(RuntimeError, match="a Tensor with 3 elements cannot be converted to Scalar"):
            make([1, 2, 3]).item()

    def test_truth(self):
        assert make([[2.0]])
        assert not make(0)
        assert make(1j)
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
            bool(make([1, 2]))
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
            bool(make([]))

    def test_numbers(self):
        assert float(make([1])) == 1.0
        assert int(make(2.7)) == 2
        assert complex(make(1 + 2j)) == 1 + 2j
        assert float(make(1 + 0j)) == 1.0
        for convert in (float, int, complex):
            with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
                convert(make([1, 2]))
        for convert in (float, int):
            with pytest.raises(RuntimeError, match="without overflow"):
                convert(make(1j))
        with pytest.raises(ValueError, match="NaN"):
            int(make(float("nan")))
        with pytest.raises(OverflowError):
            int(make(float("inf")))

    def test_index(self):
        assert "abc"[make(1)] == "b"
        assert "abc"[make([2])] == "c"
        assert "abc"[make(True)] == "b"
        for wrong in (make(1.0), make([1, 2])):
            with pytest.raises(TypeError, match="only integer tensors of a single element"):
                operator.getitem("abc", wrong)

    def test_length_and_iteration(self):
        assert len(make([[1, 2]])) == 1
        with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
            len(make(1))
        with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
            iter(make(1))

    def test_contains(self):
        x = make([1.0, 2.0])
        assert 2 in x
        assert make(1.0) in x
        assert 3 not in x
        with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
            operator.contains(x, "a")

    def test_hash_is_by_identity(self):
        x, y = make(1), make(1)
        assert hash(x) == hash(x)
        assert len({x, y}) == 2

    def test_format(self):
        assert f"{make(1.5):.3f}" == "1.500"
        assert f"{make([1.5])}" == "tensor([1.5000])"
        with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
            f"{make([1.5]):.3f}"


class TestNumPy:
    def test_numpy_shares_memory(self):
        x = make([1.0, 2.0])
        x.numpy()[0] = 5
        assert x.tolist() == [5, 2]

    def test_a_recorded_tensor_has_to_be_detached(self):
        x = make([1.0], requires_grad=True)
        for convert in (Tensor.numpy, np.asarray):
            with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
                convert(x)
        assert x.numpy(force=True).tolist() == [1]
        assert x.detach().numpy().tolist() == [1]

    def test_numpy_has_no_bfloat16(self):
        with pytest.raises(TypeError, match="unsupported ScalarType BFloat16"):
            make([1.0], dtype=dtypes.bfloat16).numpy()

    def test_array(self):
        x = make([1.0])
        assert np.asarray(x).ctypes.data == x.data_ptr()
        assert np.array(x).ctypes.data != x.data_ptr()
        assert np.asarray(x, dtype=np.float64).dtype == np.float64
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, dtype=np.float64, copy=False)

    def test_ufuncs_of_numpy_give_tensors(self):
        result = np.sin(make([0.0]))
        assert type(result) is Tensor
        assert result.tolist() == [0]

    def test_dlpack(self):
        x = make([1.0, 2.0])
        assert np.from_dlpack(x).ctypes.data == x.data_ptr()
        with pytest.raises(BufferError, match="require gradient"):
            np.from_dlpack(make([1.0], requires_grad=True))


class TestCopies:
    @pytest.mark.parametrize("d", dtypes.ALL_DTYPES, ids=str)
    def test_pickling(self, d):
        x = make([[1, 0]], dtype=d)
        again = pickle.loads(pickle.dumps(x))
        assert again.dtype is d
        assert again._array.dtype is x._array.dtype
        assert again.tolist() == x.tolist()
        assert again.data_ptr() != x.data_ptr()

    def test_pickling_keeps_requires_grad_and_loses_the_graph(self):
        for x in (make([1.0], requires_grad=True), non_leaf()):
            again = pickle.loads(pickle.dumps(x))
            assert again.requires_grad
            assert again.is_leaf

    def test_copy_shares_and_deepcopy_does_not(self):
        x = make([1.0], requires_grad=True)
        assert copy.copy(x).data_ptr() == x.data_ptr()
        x.grad = make([3.0])
        again = copy.deepcopy([x, x])
        assert again[0] is again[1]
        assert again[0].data_ptr() != x.data_ptr()
        assert again[0].requires_grad
        assert again[0].grad.tolist() == [3]
        assert again[0].grad is not x.grad

    def test_deepcopy_is_for_leaves(self):
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(non_leaf())

    def test_subclasses_keep_their_class_and_attributes(self):
        x = Named([1.0])
        x.label = ["a"]
        for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert type(again) is Named
            assert again.label == ["a"]
            assert again.label is not x.label


class Named(Tensor):
    label: list[str]


class TestRequiresGrad:
    def test_a_leaf_can_be_switched(self):
        x = make([1.0])
        assert not x.requires_grad
        assert x.requires_grad_() is x
        assert x.requires_grad
        assert x.is_leaf
        assert x._edge is LEAF
        x.requires_grad = False
        assert not x.requires_grad
        assert x.grad_fn is None
        assert x.output_nr == 0

    def test_only_numbers_with_a_derivative(self):
        with pytest.raises(
            RuntimeError, match="only Tensors of floating point and complex dtype can require gradients"
        ):
            make([1]).requires_grad = True
        with pytest.raises(RuntimeError, match="can require gradients"):
            make([True]).requires_grad_()
        make([1]).requires_grad_(False)
        assert make([1j]).requires_grad_().requires_grad

    def test_a_non_leaf_stays_as_it_is(self):
        x = non_leaf()
        for value in (True, False):
            with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
                x.requires_grad = value
        with pytest.raises(RuntimeError, match=r"use var_no_grad = var\.detach\(\)"):
            x.requires_grad_(False)
        assert x.requires_grad_() is x

    def test_a_bool_is_needed(self):
        with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
            make([1.0]).requires_grad = 3

    def test_non_leaf(self):
        first, second = non_leaf(), non_leaf(2)
        assert not first.is_leaf
        assert first.requires_grad
        assert first.grad_fn.name() == second.grad_fn.name() == "Made"
        assert (first.output_nr, second.output_nr) == (0, 2)


class TestGrad:
    def test_can_be_set_and_deleted(self):
        x = make([1.0, 2.0], requires_grad=True)
        assert x.grad is None
        gradient = make([3.0, 4.0])
        x.grad = gradient
        assert x.grad is gradient
        x.grad = None
        assert x.grad is None
        x.grad = gradient
        del x.grad
        assert x.grad is None

    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            (3, TypeError, "expected to be a Tensor or None but got grad of type int"),
            (make([1.0]), RuntimeError, r"size '\[1\]' to a tensor of size '\[2\]'"),
            (make([1.0, 2.0], dtype=dtypes.float64), RuntimeError, "gradient with dtype 'gradwright.float64'"),
        ],
    )
    def test_has_to_fit(self, value, error, message):
        x = make([1.0, 2.0], requires_grad=True)
        with pytest.raises(error, match=message):
            x.grad = value

    def test_can_not_be_the_tensor_itself(self):
        x = make([1.0])
        with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
            x.grad = x

    def test_reading_that_of_a_non_leaf_warns(self):
        x = non_leaf()
        with pytest.warns(UserWarning, match="not a leaf Tensor"):
            assert x.grad is None
        x.retain_grad()
        assert x.retains_grad
        assert x.grad is None

    def test_retain_grad(self):
        x = make([1.0], requires_grad=True)
        x.retain_grad()
        assert not x.retains_grad
        with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
            make([1.0]).retain_grad()
        y = non_leaf(1)
        y.retain_grad()
        y.retain_grad()
        assert y.grad_fn.extra.retained[1]() is y


class TestHooks:
    def test_of_a_leaf(self):
        x = make([1.0], requires_grad=True)
        handle = x.register_hook(lambda grad: grad)
        assert len(x.extra.hooks) == 1
        handle.remove()
        assert not x.extra.hooks

    def test_of_a_non_leaf_belong_to_its_node(self):
        x = non_leaf(1)
        x.register_hook(lambda grad: grad)
        assert len(x.grad_fn.extra.tensor_hooks[1]) == 1

    def test_after_accumulation(self):
        x = make([1.0], requires_grad=True)
        with x.register_post_accumulate_grad_hook(print):
            assert list(x.extra.post_accumulate_hooks.values()) == [print]
        assert not x.extra.post_accumulate_hooks
        with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
            non_leaf().register_post_accumulate_grad_hook(print)

    def test_need_a_gradient(self):
        for register in (Tensor.register_hook, Tensor.register_post_accumulate_grad_hook):
            with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
                register(make([1.0]), print)


class TestAliases:
    def test_detach_shares_memory_and_version(self):
        x = non_leaf()
        y = x.detach()
        assert not y.requires_grad
        assert y.data_ptr() == x.data_ptr()
        assert shares(x, y)
        assert counter(y) is counter(x)

    def test_detach_in_place(self):
        x = non_leaf()
        assert x.detach_() is x
        assert x.is_leaf
        view = wrap(x._array[1:])
        view._base = x
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            view.detach_()

    def test_data_shares_memory_only(self):
        x = non_leaf()
        y = x.data
        assert y.data_ptr() == x.data_ptr()
        assert y._writes is None
        assert not y.requires_grad

    def test_data_can_be_replaced(self):
        x = make([1.0], requires_grad=True)
        x.data = make([2.0, 3.0])
        assert x.tolist() == [2, 3]
        assert x.requires_grad
        with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
            x.data = make([1])
        with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
            x.data = 3


@pytest.mark.parametrize("name", ["mT", "mH"])
def test_matrix_properties_need_a_matrix(name):
    with pytest.raises(RuntimeError, match=f"tensor.{name} is only supported on matrices or batches of matrices"):
        getattr(make([1.0]), name)


def test_the_adjoint_needs_a_matrix():
    with pytest.raises(RuntimeError, match=r"tensor.H is only supported on matrices \(2-D tensors\). Got 1-D tensor"):
        make([1.0]).H


class TestThroughOperators:
    """Members that call operators keep the graph."""

    def test_iteration(self):
        x = make([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        rows = list(x)
        assert [row.tolist() for row in rows] == [[1, 2], [3, 4]]
        assert all(row.requires_grad for row in rows)
        assert reversed(x).tolist() == [[3, 4], [1, 2]]
        assert reversed(make(1)).tolist() == 1

    def test_transposes(self):
        x = make([[1 + 2j, 3]], requires_grad=True)
        assert x.T.tolist() == x.mT.tolist() == [[1 + 2j], [3]]
        assert x.H.tolist() == x.mH.tolist() == [[1 - 2j], [3]]
        assert all(y.requires_grad for y in (x.T, x.mT, x.H, x.mH))
        assert make([1.0]).T.tolist() == [1]
        assert make(1j).H.item() == -1j

    def test_parts_of_complex_numbers(self):
        x = make([1 + 2j, 3])
        assert (x.real.tolist(), x.imag.tolist()) == ([1, 3], [2, 0])
        assert make([1.0]).real.tolist() == [1]

    def test_backward(self):
        x = make([1.0, 2.0], requires_grad=True)
        (x * x).backward(make([1.0, 10.0]))
        assert x.grad.tolist() == [2, 40]
        with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
            make(1.0).backward()


def test_storage_offset_of_views_that_are_not_contiguous() -> None:
    part = make([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])[:, 1:]
    views = [part, part[None], part.unsqueeze(-1), part.expand(2, 2, 2), part.T.expand(3, 2, 2)]
    assert [view.storage_offset() for view in views] == [1] * 5
    assert part[None].as_strided((2, 2), (3, 1)).tolist() == part.tolist()
