"""`rearrange`, `functionalize`, and Modules and optimizers that are changed for transforms, in both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from support.both import assert_same, assert_same_results

REARRANGED = [
    "x, 'a b c -> c a b'", "x, 'a b c -> (a b) c'", "x, 'a b c -> a (b c)'", "x, 'a b (c d) -> a b c d', c=2",
    "x, 'a b (c d) -> a b c d', d=2", "x, '... c -> c ...'", "x, 'a ... -> ... a'", "x, 'a ... -> (a ...)'",
    "x, 'a b c -> a b c 1'", "x, 'a b c -> a 1 b c'", "x, 'a b c -> a () b c'", "y, '1 a -> a'", "y, '() a -> a'",
    "x, 'a b c -> c b a', a=2", "[x, x], 'n a b c -> a b c n'", "(x, x), 'n a b c -> (n a) b c'", "x, '... -> ...'",
    "x, '... b c -> (...) b c'", "x, 'a b (c d e) -> a b c d e', c=2, d=2", "x[0, 0, 0], '->'",
    "x, 'a b (c) -> (a b c)'",
    "x, 'a b (c 1) -> (a b c)'", "x, 'A b iff -> A iff b'", "x, 'a b c -> (c) b a'", "x, 'a b c->c b a'",
    "x, ' a  (b1  b2) c  -> (b2 a) (c b1)', b1=3", "x[:, :0], 'a b c -> (a b) c'",
    "x, '(a ) b ( c d) -> d c b a', c=2", "torch.ones(2, 2, 2, 2), 'b (h) (w) ... -> ... (w h) b'",
]  # fmt: skip


@pytest.mark.parametrize("args", REARRANGED)
def test_rearrange(args: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.arange(24.0, requires_grad=True).reshape(2, 3, 4), torch.arange(2.0).reshape(1, 2)
        out = eval(f"torch.func.rearrange({args})", {"torch": torch, "x": x, "y": y})
        return out.detach(), out.stride() if out.numel() else None

    assert_same_results(body)


WRONG = [
    "x, 'a b (c d) -> a b c d'", "x, 'a b (c d) -> a b c d', c=3", "x, 'a b -> b a'", "x, 'a b c d-> b a c d'",
    "x, 'a b c -> a b'", "x, 'a b c -> a b c d'", "x, 'a b c'", "x, 'a b c -> a a b c'", "x, 'a a c -> a c'",
    # PyTorch keeps what it made of 2, and then takes 2.0 as well: no other case has this pattern.
    "x, 'a b c -> b a c', a=2.0",
    "x, 'a b c -> c b a', z=3", "x, 'a b c -> c b a', a=3", "x, 'a 3 c -> a c'", "x, 'a b c -> a b c 2'",
    "x, 'a b c -> a (b c'", "x, 'a b c -> a ((b) c)'", "x, 'a b _c -> a b _c'", "x, 'a b c_ -> a b c_'",
    "x, 'a b 1c -> a b 1c'", "x, 'a b c -> a b c ...'", "x, '(... b) c -> (...) b c', b=3", "x, '(...) b c -> b c'",
    "x, 'a.. b -> b'", "x, '... ... b -> b'", "x, 'a b (c d e) -> a b c d e', c=2", "3, 'a -> a'", "'abc', 'a -> a'",
    "x, 3", "x, 'a b c -> (a b) -> c'", "[], 'a -> a'", "[x, y], 'n ... -> ... n'", "x, 'a b* -> a'",
    "x, 'a) b c -> a b c'",
    "x, 'a b c d ... -> ... a b c d'",
]  # fmt: skip


@pytest.mark.parametrize("args", WRONG)
def test_wrong_patterns(args: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.arange(24.0).reshape(2, 3, 4), torch.arange(2.0).reshape(1, 2)
        return eval(f"torch.func.rearrange({args})", {"torch": torch, "x": x, "y": y})

    assert_same(body)


def test_rearrange_has_gradients() -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(24.0, requires_grad=True)
        out = torch.func.rearrange(x.reshape(2, 3, 4), "a b (c d) -> (b a) d c", c=2)
        (out * torch.arange(24.0).reshape(out.shape)).sum().backward()
        return out.detach(), x.grad

    assert_same_results(body)


# -- functionalize


def _program(x: Any) -> Any:
    y = x * 2
    y.view(-1).mul_(3)
    y[0].add_(1)
    return y, {"sum": y.sum()}


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_functionalize(remove: str) -> None:
    def body(torch: Any) -> Any:
        run = torch.func.functionalize(_program, remove=remove)
        x = torch.ones(3, requires_grad=True)
        out, more = run(x)
        out.sum().backward()
        written = torch.ones(2)
        torch.func.functionalize(lambda z: z.add_(1), remove=remove)(written)
        batched = torch.func.vmap(lambda z: run(z)[0])(torch.ones(2, 3))
        return out.detach(), more["sum"].detach(), x.grad, written, batched, run.__name__

    assert_same_results(body)


@pytest.mark.parametrize("call", ["functionalize(f, remove='other')", "functionalize(3)(x)", "functionalize(f)(3)"])
def test_wrong_arguments_of_functionalize(call: str) -> None:
    assert_same(lambda torch: eval(f"torch.func.{call}", {"torch": torch, "f": lambda x: x.sin(), "x": torch.ones(1)}))


# -- BatchNorm


def test_batch_norms_without_statistics() -> None:
    def body(torch: Any) -> Any:
        nn = torch.nn
        model = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(2, track_running_stats=False)))
        model.append(nn.InstanceNorm1d(2, track_running_stats=True))
        same = torch.func.replace_all_batch_norm_modules_(model) is model
        alone = torch.func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2))
        x = torch.arange(6.0).reshape(3, 2)
        alone.eval()
        first = model[0]
        found = [first.running_mean, first.running_var, first.num_batches_tracked, first.track_running_stats]
        return same, found, list(model.state_dict()), model[2].track_running_stats, alone(x)

    assert_same_results(body)


# -- optimizers


def _trained(torch: Any, kind: str, count: int = 1) -> Any:
    params = [torch.full((2,), float(i + 1), requires_grad=True) for i in range(2 * count)]
    groups = [{"params": params[2 * i : 2 * i + 2], "lr": 0.1 * (i + 1)} for i in range(count)]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = getattr(torch.optim, kind)(groups, **options)
    for p in params:
        p.grad = torch.ones(2) * p.detach()
    optimizer.step()
    return params, optimizer


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_swapped_parameters(kind: str) -> None:
    def body(torch: Any) -> Any:
        params, optimizer = _trained(torch, kind, 2)
        lists = [group["params"] for group in optimizer.param_groups]
        others, other = _trained(torch, kind, 2)
        state = other.state_dict()
        state["param_groups"][0]["lr"] = 0.5
        swapped = {str(i): (p.detach() * 3).requires_grad_() for i, p in enumerate(others)}
        with torch.optim.swap_in_optimizer_params_and_state(optimizer, swapped, state):
            for p in swapped.values():
                p.grad = torch.ones(2)
            optimizer.step()
            inside = [group["lr"] for group in optimizer.param_groups]
        same = [group["params"] is kept for group, kept in zip(optimizer.param_groups, lists, strict=True)]
        buffers = [each for key in sorted(state["state"]) for each in state["state"][key].values()]
        outside = [group["lr"] for group in optimizer.param_groups]
        for p in params:
            p.grad = torch.ones(2)
        optimizer.step()
        return list(swapped.values()), params, inside, outside, same, buffers

    assert_same_results(body)


CHANGES = [
    "state.clear()", "state.pop('state')", "state.pop('param_groups')", "state['param_groups'].pop()",
    "state['param_groups'][0].pop('lr')", "state['param_groups'][0].update(more=1)", "state['state'].update({7: {}})",
    "state['param_groups'][0]['params'].pop()", "swapped.popitem()", "optimizer.state.clear()",
    "state['state'].update({0: 3})", "state['param_groups'][0].update(params=['a', 'b'])", "swapped.update(z=x)",
    "state['param_groups'].__setitem__(0, 3)", "state['state'].pop(0)", "state.update(state=[])",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_states_that_do_not_fit(change: str) -> None:
    def body(torch: Any) -> Any:
        params, optimizer = _trained(torch, "SGD")
        state, swapped = _trained(torch, "SGD")[1].state_dict(), dict(zip("ab", params, strict=True))
        eval(change, {"state": state, "swapped": swapped, "optimizer": optimizer, "x": torch.ones(2)})
        with torch.optim.swap_in_optimizer_params_and_state(optimizer, swapped, state):
            optimizer.step()
        return params

    assert_same(body)
