"""Graphs of programs: recorded by tracing, changed as data, and run again as Modules with generated code.

A function is called with Proxies in the place of values, and each call of an operator, a method or a Module of `nn`
becomes a Node. The Nodes of a Graph can be gone through, added and erased; a GraphModule compiles them to Python.
"""

from __future__ import annotations

from runtime.fx import immutable_collections as immutable_collections
from runtime.fx import passes as passes
from runtime.fx import subgraph_rewriter as subgraph_rewriter
from runtime.fx._symbolic_trace import PH as PH
from runtime.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from runtime.fx.graph import CodeGen as CodeGen
from runtime.fx.graph import Graph
from runtime.fx.graph_module import GraphModule
from runtime.fx.interpreter import Interpreter, Transformer
from runtime.fx.node import Node, has_side_effect, map_arg
from runtime.fx.proxy import Proxy
from runtime.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
