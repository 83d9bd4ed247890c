"""Data pipes: streams and sequences made of others, the same in both libraries, in loaders as well."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any, TypeVar

import numpy as np
import pytest

import runtime
from support.both import assert_same, assert_same_results

pytestmark = pytest.mark.parity


def _names(torch: Any) -> dict[str, Any]:
    if torch is not runtime:
        import torch.utils.data.datapipes.iter
        import torch.utils.data.datapipes.map
    data = torch.utils.data
    pipes = data.datapipes
    wrapped = pipes.iter.IterableWrapper
    return {
        **{function.__name__: function for function in (even, double, total, third, two)},
        "torch": torch,
        "data": data,
        "it": pipes.iter,
        "mp": pipes.map,
        "n": lambda count: wrapped(range(count)),
        "s": lambda count: pipes.map.SequenceWrapper(list(range(count))),
        "rows": lambda: wrapped([(i, i + 1, i + 2) for i in range(3)]),
        "lists": lambda: wrapped([[[1], [2]], [[3, 4]]]),
        "dicts": lambda: wrapped([{"a": i, "b": 2} for i in range(2)]),
    }


def even(x: Any) -> bool:
    return bool(x % 2 == 0)


def double(x: Any) -> Any:
    return x * 2


def total(a: Any, b: Any) -> Any:
    return a + b


def third(x: Any) -> Any:
    return x % 3 if x % 5 else None


def two(a: Any, *, b: Any) -> Any:
    return a


PIPES = [
    "n(5)", "n(5).map(double)", "n(5).filter(even)", "n(5).map(double).filter(even).map(double)", "n(7).batch(3)",
    "n(7).batch(3, drop_last=True)", "n(7).batch(3, wrapper_class=tuple)", "n(6).batch(2).batch(2)",
    "n(7).batch(3).unbatch()", "n(6).batch(2).batch(2).unbatch(-1)",
    "n(6).batch(2).batch(2).unbatch(unbatch_level=1)", "n(6).batch(2).unbatch(0)", "n(6).batch(2).unbatch(2)",
    "n(2).unbatch(-2)", "lists().unbatch(2)", "n(3).batch(0)", "n(3).concat(n(2))", "it.Concater()",
    "it.Concater(n(2), [1])", "n(3).zip(n(5))", "n(3).zip([1])", "it.Zipper()", "n(3).mux(n(5), n(2))",
    "n(3).mux(n(5))", "it.Multiplexer()", "n(4).sharding_filter()", "n(9).shuffle()", "n(9).shuffle(buffer_size=3)",
    "n(9).shuffle(buffer_size=1)", "n(9).shuffle(buffer_size=0)", "n(9).shuffle().set_seed(5)",
    "n(9).shuffle().set_shuffle(False)", "n(6).batch(2).shuffle(unbatch_level=1)", "rows().map(total, [0, 2])",
    "rows().map(double, 1)", "rows().map(double, 1, -1)", "rows().map(total, (0, 1), 2)",
    "rows().map(double, 0, [1])", "rows().map(double, 0, [1, 2])", "rows().map(double, output_col=1)", "n(3).map(3)",
    "rows().map(total, [0, 1, 2])", "rows().map(total, 0)", "rows().map(two, 0)", "dicts().map(total, ['a', 'b'])",
    "dicts().map(double, 'a', 'c')", "rows().filter(even, 1)", "rows().filter(total, [0, 1])", "n(3).filter(double)",
    "rows().filter(total, 1)", "n(4).batch(2).collate()", "n(4).batch(2).collate(collate_fn=sum)",
    "n(4).collate(sum)", "it.Sampler(n(4))", "it.Sampler(n(4), data.RandomSampler)", "it.Sampler(iter([]))",
    "n(6).groupby(even)", "it.Sampler(n(4), data.RandomSampler, sampler_kwargs={'replacement': True})",
    "n(9).groupby(even, group_size=2)", "n(9).groupby(even, group_size=3, buffer_size=4, keep_key=True)",
    "n(9).groupby(even, group_size=0)", "n(9).groupby(double, group_size=2, buffer_size=2)",
    "n(9).groupby(even, guaranteed_group_size=2)",
    "n(9).groupby(double, group_size=2, buffer_size=2, drop_remaining=True)", "n(9).groupby(even, buffer_size=3)",
    "n(9).groupby(third, group_size=3, guaranteed_group_size=1, buffer_size=4)", "n(2).fork(0)", "n(2).fork(1)",
    "n(4).fork(2)[1]", "n(4).fork(2, copy='other')", "n(6).demux(2, even)[1]", "n(6).demux(1, even)[0]",
    "n(2).demux(0, even)", "n(9).demux(3, third, drop_none=True)[1]", "n(9).demux(3, third)[1]",
    "n(6).demux(2, even, buffer_size=1)[1]", "s(4)", "s(4).map(double)", "s(4).map()", "s(7).batch(3)",
    "s(7).batch(3, True)", "s(3).concat(s(2))", "mp.Concater()", "s(3).zip(s(5))", "mp.Zipper()", "s(3).zip([1])",
    "s(3).concat(n(2))", "s(5).shuffle()", "s(5).shuffle(indices=[1, 3])", "s(5).shuffle().set_seed(3)",
    "s(5).shuffle().set_shuffle(False)", "s(3).batch(0)", "s(3).map(3)", "s(3).other()", "n(3).other()",
    "n(3) + n(2)", "it.IterableWrapper(3)", "n(5).shuffle().batch(2)",
]  # fmt: skip


@pytest.mark.parametrize("text", PIPES)
def test_pipes(text: str) -> None:
    def body(torch: Any) -> Any:
        pipe = eval(text, _names(torch))
        elements = list(pipe)
        again = list(pipe)
        try:
            length = len(pipe)
        except TypeError:
            length = None
        if length is None or isinstance(pipe, torch.utils.data.ChainDataset):
            return elements, again
        return elements, again, length, type(pipe).__name__

    assert_same(body)


def test_names_and_texts() -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        pipe = names["n"](3).map(double).batch(2)
        chunk = next(iter(pipe))
        found = [repr(pipe), str(names["s"](2)), chunk.as_str(" "), chunk.items, list(chunk.raw_iterator())]
        given = {name for name in dir(pipe) if name in torch.utils.data.IterDataPipe.functions}
        return found, type(chunk).__name__, {"map", "batch", "fork", "mux"} <= given, hasattr(pipe, "nothing")

    assert_same_results(body)


@pytest.mark.parametrize(
    "text", ["n(4).map(double).batch(2)", "n(9).shuffle().set_seed(3)", "n(4).fork(2)", "s(4).zip(s(3))"]
)
def test_copies_and_pickles(text: str) -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        names["n"] = lambda k: names["it"].IterableWrapper(list(range(k)))
        pipe = eval(text, names)
        copies = pickle.loads(pickle.dumps(pipe)), copy.deepcopy(pipe)
        return [[list(part) for part in each] if isinstance(each, list) else list(each) for each in copies]

    assert_same_results(body)


# -- one iterator at a time


def test_a_second_iterator_ends_the_first() -> None:
    def body(torch: Any) -> Any:
        pipe = _names(torch)["n"](3)
        one = iter(pipe)
        found = [next(one)]
        two = iter(pipe)
        found += [next(one), next(two)]
        return found, next(one)

    assert_same(body, "has been invalidated")


def test_an_iterator_of_its_own() -> None:
    def body(torch: Any) -> Any:
        class Counting(torch.utils.data.IterDataPipe):
            def __init__(self) -> None:
                self.count = self.resets = 0

            def reset(self) -> None:
                self.count = 0
                self.resets += 1

            def __next__(self) -> int:
                self.count += 1
                if self.count > 3:
                    raise StopIteration
                return self.count

        pipe = Counting()
        found = [list(pipe), list(pipe), pipe.resets]
        one = iter(pipe)
        next(one)
        iter(pipe)
        return found, next(one)

    assert_same(body, "has been invalidated")


@pytest.mark.parametrize("kind", ["fork(2)", "demux(2, even)"])
def test_parts_of_a_stream(kind: str) -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        names["source"] = names["n"](6)
        one, two = eval(f"source.{kind}", names)
        found = [list(zip(one, two, strict=True)), list(one), list(two)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            first = iter(one)
            found += [next(first), list(one)]
        return found, [each.category.__name__ for each in caught], next(first)

    assert_same(body)


def test_forks_that_are_too_far_apart() -> None:
    def body(torch: Any) -> Any:
        one, two = _names(torch)["n"](6).fork(2, buffer_size=2)
        first = iter(one)
        found = [next(first), next(first)]
        second = iter(two)
        found += [next(second), next(first)]
        return found, list(first)

    assert_same(body)


@pytest.mark.parametrize("how", ["None", "'shallow'", "'deep'"])
def test_copies_of_forks(how: str) -> None:
    def body(torch: Any) -> Any:
        source = [[[1]], [[2]]]
        pipe = _names(torch)["it"].IterableWrapper(source, deepcopy=False)
        one, two = pipe.fork(2, copy=eval(how))
        pairs = list(zip(one, two, strict=True))
        return [(a is b, a[0] is b[0]) for a, b in pairs]

    assert_same_results(body)


def _inverse(x: int) -> int:
    return 1 // x


def test_errors_are_told_where_they_come_from() -> None:
    pipe = _names(runtime)["n"](3).map(_inverse)
    with pytest.raises(ZeroDivisionError) as caught:
        list(pipe)
    assert caught.value.__notes__ == ["This exception is thrown by __iter__ of MapperIterDataPipe"]


# -- types, with which PyTorch 2.13 raises AttributeErrors: see surface.yaml


def _made(elements: Any, values: Any) -> Any:
    data = runtime.utils.data

    class Made(data.IterDataPipe[elements]):
        @data.runtime_validation
        def __iter__(self) -> Any:
            yield from values

    return Made()


T_co = TypeVar("T_co", covariant=True)
TYPES = [
    (int, [1, 2], [1.0]),
    (Any, [1, "a"], None),
    (int | str, [1, "a"], [2.5]),
    (list[int], [[1], []], [[1, "a"]]),
    (tuple[int, str], [(1, "a")], [(1,)]),
    (tuple[int, ...], [(1, 2, 3), ()], [(1, "a")]),
    (dict[str, list[int]], [{"a": [1]}], [{"a": [1.5]}]),
    (set[int], [{1}], [frozenset((1,))]),
    (None, [None], [0]),
]


@pytest.mark.parametrize(("elements", "good", "bad"), TYPES)
def test_validation_of_elements(elements: Any, good: Any, bad: Any) -> None:
    assert list(_made(elements, good)) == good
    if bad is not None:
        with pytest.raises(RuntimeError, match="Expected an instance as subtype"):
            list(_made(elements, bad))
        with runtime.utils.data.runtime_validation_disabled():
            assert list(_made(elements, bad)) == bad


@pytest.mark.parametrize(("hint", "elements", "fits"), [
    (int, int, True), (int, str, False), (int | str, int, True), (int, int | str, False), (Any, int, True),
    (int, Any, False), (list, list[int], True), (list[int], list, False), (T_co, int, True),
    (list[Any], list[int], True),
])  # fmt: skip
def test_validation_of_arguments(hint: Any, elements: Any, fits: bool) -> None:
    data = runtime.utils.data

    def function(pipe: Any, count: int = 1) -> int:
        return count

    function.__annotations__ = {"pipe": data.IterDataPipe[hint], "count": int}
    checked = data.argument_validation(function)
    if fits:
        assert checked(_made(elements, []), count=2) == 2
    else:
        with pytest.raises(TypeError, match="as a subtype of hint"):
            checked(_made(elements, []))


def test_arguments_that_are_no_pipes() -> None:
    def body(torch: Any) -> Any:
        data = torch.utils.data

        def function(pipe: Any) -> int:
            return 1

        function.__annotations__ = {"pipe": data.IterDataPipe}
        return data.argument_validation(function)([1])

    assert_same(body, "as a IterDataPipe, but found")


@pytest.mark.parametrize("text", ["runtime_validation(int)", "functional_datapipe('x1')(3)", "non_deterministic(3)",
                                  "non_deterministic(int)", "non_deterministic(lambda: 3)(int)"])  # fmt: skip
def test_wrong_uses_of_decorators(text: str) -> None:
    assert_same(lambda torch: eval(f"data.{text}", {"data": torch.utils.data}))


def test_determinism() -> None:
    def body(torch: Any) -> Any:
        data, found = torch.utils.data, []

        class Plain(data.IterDataPipe):
            def __init__(self, flag: Any = True) -> None:
                self.flag = flag

        always = data.non_deterministic(Plain)
        some = data.non_deterministic(lambda flag: flag)(Plain)
        for _ in range(2):
            for call in (lambda: always(), lambda: some(True), lambda: some(False), lambda: some(3)):
                try:
                    found.append(call().flag)
                except TypeError:
                    found.append("TypeError")
            with data.guaranteed_datapipes_determinism():
                for call in (lambda: always(), lambda: some(True), lambda: some(False)):
                    try:
                        found.append(call().flag)
                    except TypeError:
                        found.append("TypeError")
        return found

    assert_same_results(body)


def test_methods_of_ones_own() -> None:
    def body(torch: Any) -> Any:
        data, names = torch.utils.data, _names(torch)

        class Adding(data.IterDataPipe):
            def __init__(self, source: Any, more: int = 1) -> None:
                self.source, self.more = source, more

            def __iter__(self) -> Any:
                for each in self.source:
                    yield each + self.more

        same = data.functional_datapipe("adding_of_this_test")(Adding) is Adding
        found = list(names["n"](3).adding_of_this_test(more=5))
        try:
            data.functional_datapipe("adding_of_this_test")(Adding)
        except Exception as error:
            found.append((type(error).__name__, "already taken" in str(error)))
        finally:
            del data.IterDataPipe.functions["adding_of_this_test"]
        return same, found, issubclass(data.DFIterDataPipe, data.IterDataPipe), data.DFIterDataPipe()._is_dfpipe()

    assert_same_results(body)


# -- loaders

LOADERS = [
    "n(7), batch_size=3", "n(7).shuffle(), batch_size=2", "n(7).shuffle(), batch_size=2, shuffle=False",
    "n(7).batch(2), batch_size=None", "s(7), batch_size=2, shuffle=True",
    "s(7), batch_size=3", "n(8).sharding_filter().map(double), batch_size=2", "n(7), batch_size=3, drop_last=True",
    "n(4), sampler=[1]", "s(7).shuffle(), batch_size=2", "n(3).shuffle().zip(n(3).shuffle()), batch_size=None",
]  # fmt: skip


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("args", LOADERS)
def test_loaders(args: str, seeded: bool) -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        generator = torch.Generator().manual_seed(3) if seeded else None
        loader = eval(f"data.DataLoader({args}, generator=generator)", {**names, "generator": generator})
        return list(loader), list(loader), torch.rand(2)

    assert_same(body)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("text", ["n(8).sharding_filter()", "n(6).shuffle().sharding_filter()", "s(6)", "n(3)"])
def test_workers(text: str, persistent: bool) -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        pipe = eval(text, names)
        loader = names["data"].DataLoader(
            pipe, batch_size=2, num_workers=2, persistent_workers=persistent, multiprocessing_context="fork"
        )
        return [np.array(each.tolist()) for _ in range(2) for each in loader]

    assert_same_results(body)


def test_a_pipe_that_a_loader_shuffles() -> None:
    names = _names(runtime)
    with pytest.warns(UserWarning, match="Adding one at the end"):
        loader = runtime.utils.data.DataLoader(names["n"](50), batch_size=None, shuffle=True)
    found = list(loader)
    assert found != list(range(50))
    assert sorted(found) == list(range(50))


def test_what_would_be_divided_twice() -> None:
    def body(torch: Any) -> Any:
        names = _names(torch)
        return list(names["data"].DataLoader(names["n"](4).sharding_filter().map(double).sharding_filter()))

    assert_same(body, "Sharding twice")
