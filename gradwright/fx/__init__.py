"""Graphs of programs: recorded by tracing, changed as data, and run again as Modules with generated code.

A function is called with Proxies in the place of values, and each call of an operator, a method or a Module of `nn`
becomes a Node. The Nodes of a Graph can be gone through, added and erased; a GraphModule compiles them to Python.
"""

from __future__ import annotations

from gradwright.fx import immutable_collections as immutable_collections
from gradwright.fx import passes as passes
from gradwright.fx import subgraph_rewriter as subgraph_rewriter
from gradwright.fx._symbolic_trace import PH as PH
from gradwright.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from gradwright.fx.graph import CodeGen as CodeGen
from gradwright.fx.graph import Graph
from gradwright.fx.graph_module import GraphModule
from gradwright.fx.interpreter import Interpreter, Transformer
from gradwright.fx.node import Node, has_side_effect, map_arg
from gradwright.fx.proxy import Proxy
from gradwright.fx.subgraph_rewriter import replace_pattern

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
