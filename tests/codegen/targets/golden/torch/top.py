_top = torch.ops.framed.top.default
_top_operation = Kernel("framed::top", kernels.top, in_float32=True)


def top_kernel(self: Tensor) -> tuple[Tensor, Tensor]:
    if self.dtype in FLOATS and self.is_contiguous():
        result_0, result_1 = run("framed::top", kernels.top, array_of(self))
        return tensor_of(result_0), tensor_of(result_1)
    result: tuple[Tensor, Tensor] = _top_operation(self)
    return result


def top_fake(self: Tensor) -> Any:
    return _top_operation.fake(self)


class Top(Function):
    """Derivatives of top."""

    @staticmethod
    def forward(self: Tensor) -> Any:
        with below_autograd():
            return _top(self)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        (self,) = inputs
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.self_sizes = self.shape
        ctx.index_scalar_type = output[1].dtype
        ctx.self_is_complex = is_complex(self)
        if forward_is_active():
            ctx.save_for_forward(self, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: Any) -> Any:
        if grad is None:
            return None
        (index,) = ctx.saved_tensors
        self_sizes = ctx.self_sizes
        index_scalar_type = ctx.index_scalar_type
        # framed/derivatives.yaml  self: grad.unsqueeze(-1) * (arange(self.sizes().back(), index.options()) ==
        #     index.unsqueeze(-1))
        self_gradient = torch.unsqueeze(grad, -1) * (
            torch.arange(self_sizes[-1], dtype=index_scalar_type, device=grad.device) == torch.unsqueeze(index, -1)
        )
        self_gradient = real_unless(ctx.self_is_complex, self_gradient)
        return self_gradient

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            self, output_0, output_1 = values_of(ctx)
            self_t = tangent_of(tangents[0], self)
            index = output_1
            # framed/derivatives.yaml  value: self_t.gather(-1, index.unsqueeze(-1)).squeeze(-1)
            tangent_0 = fitted_tangent(
                torch.squeeze(torch.gather(self_t, -1, torch.unsqueeze(index, -1)), -1),
                output_0,
            )
            return (tangent_0, None)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_loop(_top, info, in_dims, args)


_apply_top = applied(Top, top_kernel)


def top(self: Tensor) -> tuple[Tensor, Tensor]:
    """top(Tensor self) -> (Tensor value, Tensor index)"""
    way = way_of(self)
    if way == RECORDED:
        recorded: tuple[Tensor, Tensor] = _apply_top(self)
        return recorded
    if way == PLAIN:
        return top_kernel(self)
    result: tuple[Tensor, Tensor] = _top(self)
    return result
