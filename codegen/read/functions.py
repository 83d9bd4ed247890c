"""Entries of native_functions.yaml: PyTorch's keys and Gradwright's own."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import yaml

from codegen.read.model import (
    DTYPE_ERRORS,
    DTYPE_GROUPS,
    DTYPE_KINDS,
    HALF_KINDS,
    LAYOUT_KINDS,
    NUMBER_KINDS,
    OUT_DTYPES,
    PROMOTION_KINDS,
    DispatchEntry,
    ElementTypes,
    Layout,
    NativeFunction,
    Numbers,
    Promotion,
)
from codegen.read.pieces import comma_separated, part, stripped
from codegen.read.samples import parse_sample
from codegen.read.yaml_text import Fields, YamlFile, describe, is_null
from codegen.schema.parser import parse_operator_name, parse_schema
from codegen.schema.types import FunctionSchema, OperatorName, SchemaKind, base_type
from codegen.source import ParseError, Span, Text
from codegen.words import (
    AUTOGRAD_KEYS,
    COMPOSITE_KEYS,
    KERNEL_KEYS,
    STRUCTURED_KEYS,
    UFUNC_KEYS,
    VARIANTS,
    did_you_mean,
)

KEYS = frozenset((
    "func", "variants", "dispatch", "structured", "structured_delegate", "structured_inherits", "precomputed",
    "autogen", "tags", "python_module", "category_override", "cpp_no_default_args", "device_check",
    "device_guard", "manual_cpp_binding", "manual_kernel_registration", "ufunc_inner_loop",
    "use_const_ref_for_mutable_tensors", "promotion", "dtypes", "samples", "domain", "batching", "linear", "half",
    "numbers", "layout", "out_dtype",
))  # fmt: skip

_RARE_BOOLEANS = ("device_guard", "manual_kernel_registration", "use_const_ref_for_mutable_tensors")
_TRUE = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"))
_DEVICE_CHECKS = ("NoCheck", "ExactSame")
_UFUNC_KEYS = (
    "Generic", "ScalarOnly", "CPUScalar", "CPUVector", "CUDAFunctor", "CUDAFunctorOnOther", "CUDAFunctorOnSelf",
)  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_KERNEL = re.compile(r"(?:[A-Za-z_]\w*::){0,3}[A-Za-z_]\w*", re.ASCII)
_PROMOTION = re.compile(r"([^\s()]*)\s*(?:(\()([^()]*)\))?")
_ELEMENT_TYPES = re.compile(r"([^()]*?)\s*(?:(\()([^()]*)\))?\s*(?:\belse\b(.*))?", re.DOTALL)
_UFUNC_LOOP = re.compile(r"\w+ ?\([\w, ]+\)", re.ASCII)
_FUNCTION_ONLY = frozenset(("function",))
_WRITE_TABLE = "write one line 'key: kernel' for each key, indented below 'dispatch:'"


class FunctionReader:
    """Reads the entries of one file; what is wrong with them goes into the file's diagnostics."""

    def __init__(self, yaml_file: YamlFile, tags: frozenset[str]) -> None:
        self.yaml = yaml_file
        self.tags = tags

    def read(self) -> tuple[NativeFunction, ...]:
        functions: list[NativeFunction] = []
        seen: dict[OperatorName, Text] = {}
        for node in self.yaml.entries():
            function = self._entry(node)
            if function is None:
                continue
            first = seen.setdefault(function.name, function.text)
            if first is function.text:
                functions.append(function)
            else:
                self.yaml.diagnostics.error(
                    function.text.span(0, function.schema.name_end),
                    f"duplicate entry for '{function.name}'",
                    "give each overload a name of its own: 'name.overload(...)'",
                    ((first.span(0, function.schema.name_end), "the first one is here"),),
                )
        return tuple(functions)

    def _entry(self, node: yaml.Node) -> NativeFunction | None:
        fields = self.yaml.mapping(node, "an entry", "write it as '- func: name(arguments) -> result'")
        if fields is None:
            return None
        if not fields.keys() <= KEYS:
            self._unknown_keys(fields)
        if "func" not in fields:
            self.yaml.error(node, "the entry has no 'func'", "an entry begins with '- func: name(arguments) -> result'")
            return None
        text = self.yaml.scalar(fields["func"][1], "'func'", "write a schema: 'name(Tensor self) -> Tensor'")
        if text is None:
            return None
        text = stripped(text)
        try:
            schema = parse_schema(text)
        except ParseError as error:
            self.yaml.parse_error(text, error)
            return None
        function = NativeFunction(
            schema=schema,
            text=text,
            span=self.yaml.span(node),
            variants=self._variants(fields, schema),
            dispatch=self._dispatch(fields),
            autogen=self._autogen(fields, schema),
            tags=self._tags(fields),
            python_module=self._word(fields, "python_module"),
            structured=self._boolean(fields, "structured"),
            structured_delegate=self._structured_delegate(fields),
            promotion=self._promotion(fields, schema),
            dtypes=self._dtypes(fields, schema),
            samples=self._samples(fields),
            domain=self._domain(fields),
            manual_cpp_binding=self._boolean(fields, "manual_cpp_binding"),
            batching=self._batching(fields),
            layout=self._layout(fields, schema),
            out_dtype=self._out_dtype(fields),
            linear=self._linear(fields, schema),
            half=self._half(fields),
            numbers=self._numbers(fields, schema),
        )
        self._rare_keys(fields, schema)
        self._conflicts(fields, function)
        return function

    def _unknown_keys(self, fields: Fields) -> None:
        for key in fields.keys() - KEYS:
            self.yaml.error(fields[key][0], f"unknown key '{key}'", did_you_mean(key, KEYS))

    # One method for each kind of value

    def _boolean(self, fields: Fields, key: str, default: bool = False) -> bool:
        if key not in fields:
            return default
        node = fields[key][1]
        if isinstance(node, yaml.ScalarNode) and not node.style and not node.tag:
            if node.value in _TRUE:
                return True
            if node.value in _FALSE:
                return False
        self.yaml.error(node, f"'{key}' must be True or False", f"write '{key}: True', without quotes")
        return default

    def _word(self, fields: Fields, key: str) -> str | None:
        if key not in fields:
            return None
        text = self.yaml.scalar(fields[key][1], f"'{key}'")
        if text is None:
            return None
        if _IDENTIFIER.fullmatch(text.value) is None:
            self.yaml.diagnostics.error(text.span(), f"'{key}' must be one word, a name", "as in 'linalg'")
            return None
        return text.value

    def _texts(self, node: yaml.Node, what: str, element: str, hint: str | None = None) -> list[Text]:
        elements = self.yaml.sequence(node, what, hint)
        texts = [self.yaml.scalar(item, element, hint) for item in elements or ()]
        return [text for text in texts if text is not None]

    # PyTorch's keys

    def _variants(self, fields: Fields, schema: FunctionSchema) -> frozenset[str]:
        if "variants" not in fields:
            return _FUNCTION_ONLY
        text = self.yaml.scalar(fields["variants"][1], "'variants'", "write 'function', 'method' or 'function, method'")
        if text is None:
            return _FUNCTION_ONLY
        words: set[str] = set()
        for word in comma_separated(text):
            if word.value not in VARIANTS:
                self.yaml.diagnostics.error(
                    word.span(),
                    f"unknown variant '{word}'" if word.value else "a variant is missing here",
                    did_you_mean(word.value, VARIANTS) or "the variants are 'function' and 'method'",
                )
            elif word.value in words:
                self.yaml.diagnostics.error(word.span(), f"variant '{word}' is given twice")
            else:
                words.add(word.value)
        if "method" in words and schema.out:
            self.yaml.diagnostics.error(
                text.span(),
                "an operator with out arguments cannot be a method",
                "remove 'variants', or write 'function'",
            )
        return frozenset(words) or _FUNCTION_ONLY

    def _dispatch(self, fields: Fields) -> tuple[DispatchEntry, ...]:
        if "dispatch" not in fields:
            return ()
        table = self.yaml.mapping(fields["dispatch"][1], "'dispatch'", _WRITE_TABLE)
        if table is None:
            return ()
        entries: list[DispatchEntry] = []
        seen: dict[str, Span] = {}
        for key_node, value in table.values():
            kernel = self.yaml.scalar(value, "a kernel", "write its name: 'CPU: kernel'")
            if kernel is not None and _KERNEL.fullmatch(kernel.value) is None:
                self.yaml.diagnostics.error(
                    kernel.span(),
                    f"'{kernel}' is not the name of a kernel",
                    "write a function's name, without arguments",
                )
                kernel = None
            for key in comma_separated(self.yaml.text(key_node)):
                span = key.span()
                if not self._is_kernel_key(key):
                    continue
                if key.value in seen:
                    self.yaml.diagnostics.error(
                        span,
                        f"dispatch key '{key}' has two kernels",
                        None,
                        ((seen[key.value], "the first one is here"),),
                    )
                    continue
                seen[key.value] = span
                if kernel is not None:
                    entries.append(DispatchEntry(key.value, kernel, span))
        composites = [entry for entry in entries if entry.key in COMPOSITE_KEYS]
        if len(composites) > 1:
            self._two_composites(composites)
        return tuple(entries)

    def _is_kernel_key(self, key: Text) -> bool:
        if key.value in KERNEL_KEYS:
            return True
        if not key.value:
            message, hint = "a dispatch key is missing here", None
        elif key.value in AUTOGRAD_KEYS or key.value == "Autograd":
            message = f"dispatch key '{key}' cannot have a kernel"
            hint = "how an operator is differentiated is written in derivatives.yaml"
        else:
            message, hint = f"unknown dispatch key '{key}'", did_you_mean(key.value, KERNEL_KEYS)
        self.yaml.diagnostics.error(key.span(), message, hint)
        return False

    def _two_composites(self, composites: list[DispatchEntry]) -> None:
        keys = {entry.key for entry in composites}
        nested = "CompositeImplicitAutogradNestedTensor"
        if len(keys) == 2 and nested in keys and "CompositeExplicitAutogradNonFunctional" not in keys:
            return
        first, second = composites[0], composites[1]
        self.yaml.diagnostics.error(
            second.key_span,
            f"{second.key} and {first.key} cannot both be given: each holds for every backend",
            "with formulas in derivatives.yaml keep CompositeExplicitAutograd, without them CompositeImplicitAutograd",
            ((first.key_span, f"{first.key} is given here"),),
        )

    def _autogen(self, fields: Fields, schema: FunctionSchema) -> tuple[tuple[OperatorName, Span], ...]:
        if "autogen" not in fields:
            return ()
        text = self.yaml.scalar(
            fields["autogen"][1], "'autogen'", "write operator names: 'autogen: add_.Tensor, add.out'"
        )
        names: dict[OperatorName, Span] = {}
        for word in comma_separated(text) if text is not None else ():
            name = self._operator_name(word)
            if name is None:
                continue
            if name == schema.name:
                self.yaml.diagnostics.error(
                    word.span(), f"'{name}' is this entry itself", "name the operators to be made"
                )
            elif name in names:
                self.yaml.diagnostics.error(
                    word.span(), f"'{name}' is given twice", None, ((names[name], "the first one is here"),)
                )
            else:
                names[name] = word.span()
        return tuple(names.items())

    def _operator_name(self, text: Text) -> OperatorName | None:
        try:
            return parse_operator_name(text)
        except ParseError as error:
            self.yaml.parse_error(text, error)
        return None

    def _tags(self, fields: Fields) -> tuple[str, ...]:
        if "tags" not in fields:
            return ()
        node = fields["tags"][1]
        hint = "write 'tags: pointwise' or 'tags: [pointwise, core]'"
        if isinstance(node, yaml.ScalarNode):
            text = self.yaml.scalar(node, "'tags'", hint)
            texts = [] if text is None else [text]
        else:
            texts = self._texts(node, "'tags'", "a tag", hint)
        tags: dict[str, Span] = {}
        for text in texts:
            if text.value not in self.tags:
                self.yaml.diagnostics.error(text.span(), f"unknown tag '{text}'", did_you_mean(text.value, self.tags))
            elif text.value in tags:
                self.yaml.diagnostics.error(
                    text.span(), f"tag '{text}' is given twice", None, ((tags[text.value], "the first one is here"),)
                )
            else:
                tags[text.value] = text.span()
        return tuple(tags)

    def _structured_delegate(self, fields: Fields) -> Text | None:
        if "structured_delegate" not in fields:
            return None
        text = self.yaml.scalar(
            fields["structured_delegate"][1], "'structured_delegate'", "name an operator: 'add.out'"
        )
        if text is None or self._operator_name(text) is None:
            return None
        return text

    def _rare_keys(self, fields: Fields, schema: FunctionSchema) -> None:
        """Keys that say something to PyTorch's own build only: their values are checked and not kept."""
        for key in _RARE_BOOLEANS:
            self._boolean(fields, key)
        self._word(fields, "category_override")
        self._word(fields, "structured_inherits")
        device_check = self._word(fields, "device_check")
        if device_check is not None and device_check not in _DEVICE_CHECKS:
            self.yaml.error(
                fields["device_check"][1],
                f"unknown device check '{device_check}'",
                did_you_mean(device_check, _DEVICE_CHECKS) or "write NoCheck or ExactSame",
            )
        if "cpp_no_default_args" in fields:
            defaulted = {argument.name for argument in schema.all_arguments if argument.default is not None}
            for text in self._texts(fields["cpp_no_default_args"][1], "'cpp_no_default_args'", "an argument's name"):
                if text.value not in defaulted:
                    self.yaml.diagnostics.error(
                        text.span(), f"no argument '{text}' with a default", did_you_mean(text.value, defaulted)
                    )
        if "precomputed" in fields:
            self._texts(
                fields["precomputed"][1], "'precomputed'", "an element of 'precomputed'", "write 'dim -> int dim'"
            )
        if "ufunc_inner_loop" in fields:
            self._ufunc_inner_loop(fields["ufunc_inner_loop"][1])

    def _ufunc_inner_loop(self, node: yaml.Node) -> None:
        values = [node]
        if isinstance(node, yaml.MappingNode):
            table = self.yaml.mapping(node, "'ufunc_inner_loop'") or {}
            for key, (key_node, _) in table.items():
                if key not in _UFUNC_KEYS:
                    self.yaml.error(key_node, f"unknown ufunc key '{key}'", did_you_mean(key, _UFUNC_KEYS))
            values = [value for _, value in table.values()]
        for value in values:
            text = self.yaml.scalar(value, "'ufunc_inner_loop'", "write 'add (AllAndComplex, Half)'")
            if text is not None and _UFUNC_LOOP.fullmatch(text.value) is None:
                self.yaml.diagnostics.error(
                    text.span(), "not an inner loop", "write a function and its types: 'add (AllAndComplex, Half)'"
                )

    # Gradwright's keys

    def _promotion(self, fields: Fields, schema: FunctionSchema) -> Promotion | None:
        if "promotion" not in fields:
            return None
        hint = f"the kinds are {', '.join(PROMOTION_KINDS)}; 'default(self, other)' names the arguments that take part"
        text = self.yaml.scalar(fields["promotion"][1], "'promotion'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _PROMOTION.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(text.span(), f"'{text}' is not a promotion", hint)
            return None
        kind = match[1]
        if kind not in PROMOTION_KINDS:
            close = did_you_mean(kind, PROMOTION_KINDS)
            self.yaml.diagnostics.error(
                text.span(0, max(match.end(1), 1)), f"unknown promotion '{kind}'", close or hint
            )
            return None
        if match[2] is None:
            return Promotion(kind, None, text)
        names = self._arguments(part(text, match.start(3), match.end(3)), schema, ("Tensor", "Scalar"))
        return Promotion(kind, names, text)

    def _dtypes(self, fields: Fields, schema: FunctionSchema) -> ElementTypes | None:
        if "dtypes" not in fields:
            return None
        hint = "write what it takes, as in 'integer, floating' or 'floating, complex(self) else RuntimeError'"
        text = self.yaml.scalar(fields["dtypes"][1], "'dtypes'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _ELEMENT_TYPES.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(text.span(), f"'{text}' is not a list of kinds of element types", hint)
            return None
        kinds = self._kinds(part(text, match.start(1), match.end(1)))
        names = None
        if match[2] is not None:
            names = self._arguments(part(text, match.start(3), match.end(3)), schema, ("Tensor",))
            if "promotion" in fields:
                self._conflict(
                    fields, "dtypes", "the dtype that promotion gives decides, and not that of some arguments",
                    "promotion", "leave out what is in parentheses",
                )  # fmt: skip
        error = DTYPE_ERRORS[0]
        if match[4] is not None:
            given = stripped(part(text, match.start(4), match.end(4)))
            error = given.value
            if error not in DTYPE_ERRORS:
                self.yaml.diagnostics.error(
                    given.span() if error else text.span(),
                    f"'{given}' is not the class of an error" if error else "the class of the error is missing",
                    did_you_mean(error, DTYPE_ERRORS) or f"the classes are {' and '.join(DTYPE_ERRORS)}",
                )
        if not any(base_type(argument.type).name == "Tensor" for argument in schema.arguments):
            self.yaml.error(fields["dtypes"][0], f"'{schema.name}' takes no Tensor", "remove 'dtypes'")
        return ElementTypes(kinds, names, error, text)

    def _kinds(self, text: Text) -> tuple[str, ...]:
        """The kinds of element types that a list of kinds and groups names, in the order of DTYPE_KINDS."""
        found: set[str] = set()
        for word in comma_separated(text):
            meant = DTYPE_GROUPS.get(word.value, (word.value,))
            if not word.value:
                self.yaml.diagnostics.error(
                    text.span(), "a kind of element types is missing here", f"the kinds are {', '.join(DTYPE_KINDS)}"
                )
            elif not set(meant) <= set(DTYPE_KINDS):
                known = (*DTYPE_KINDS, *DTYPE_GROUPS)
                self.yaml.diagnostics.error(
                    word.span(),
                    f"unknown kind of element types '{word}'",
                    did_you_mean(word.value, known) or f"the kinds are {', '.join(known)}",
                )
            elif found & set(meant):
                self.yaml.diagnostics.error(word.span(), f"'{word}' is given twice")
            found.update(meant)
        return tuple(kind for kind in DTYPE_KINDS if kind in found)

    def _layout(self, fields: Fields, schema: FunctionSchema) -> Layout | None:
        if "layout" not in fields:
            return None
        hint = f"the kinds are {', '.join(LAYOUT_KINDS)}; 'iterated(self)' names the arguments by which it goes"
        text = self.yaml.scalar(fields["layout"][1], "'layout'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _PROMOTION.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(text.span(), f"'{text}' is not a layout", hint)
            return None
        kind = match[1]
        if kind not in LAYOUT_KINDS:
            close = did_you_mean(kind, LAYOUT_KINDS)
            self.yaml.diagnostics.error(text.span(0, max(match.end(1), 1)), f"unknown layout '{kind}'", close or hint)
            return None
        if schema.is_view:
            self.yaml.diagnostics.error(text.span(), "a view lies in the memory of its argument", "remove 'layout'")
            return None
        if match[2] is None:
            return Layout(kind, None, text)
        named = part(text, match.start(3), match.end(3))
        if kind in ("contiguous", "own"):
            self.yaml.diagnostics.error(named.span(), f"'{kind}' goes by no argument", f"write 'layout: {kind}'")
            return None
        if kind == "columns":
            results = [result.name for result in schema.returns if result.name is not None]
            return Layout(kind, self._named(named, schema, results, "result", "results"), text)
        return Layout(kind, self._arguments(named, schema, ("Tensor",)), text)

    def _out_dtype(self, fields: Fields) -> str | None:
        word = self._word(fields, "out_dtype")
        if word is None or word in OUT_DTYPES:
            return word
        hint = did_you_mean(word, OUT_DTYPES) or f"write {', '.join(OUT_DTYPES[:-1])} or {OUT_DTYPES[-1]}"
        self.yaml.error(fields["out_dtype"][1], f"unknown out_dtype '{word}'", hint)
        return None

    def _arguments(self, text: Text, schema: FunctionSchema, types: Sequence[str]) -> tuple[str, ...]:
        """The names of arguments of these types that a list of names gives."""
        known = [argument.name for argument in schema.arguments if base_type(argument.type).name in types]
        kinds = " and ".join(f"{type}s" for type in types)
        return self._named(text, schema, known, f"{' or '.join(types)} argument", kinds)

    def _named(
        self, text: Text, schema: FunctionSchema, known: Sequence[str], what: str, kinds: str
    ) -> tuple[str, ...]:
        """The names in a list of some that are known: of a kind of arguments, or of results."""
        names: list[str] = []
        noun = what.split()[-1]
        for name in comma_separated(text):
            if not name.value:
                article = "an" if noun == "argument" else "a"
                hint = f"its {kinds}: {', '.join(known) or 'none'}"
                self.yaml.diagnostics.error(name.span(), f"{article} {noun} is missing here", hint)
            elif name.value not in known:
                self.yaml.diagnostics.error(
                    name.span(),
                    f"'{schema.name}' has no {what} '{name}'",
                    did_you_mean(name.value, known) or f"its {kinds}: {', '.join(known) or 'none'}",
                )
            elif name.value in names:
                self.yaml.diagnostics.error(name.span(), f"{noun} '{name}' is given twice")
            else:
                names.append(name.value)
        return tuple(names)

    def _linear(self, fields: Fields, schema: FunctionSchema) -> tuple[frozenset[str], ...]:
        if "linear" not in fields:
            return ()
        node = fields["linear"][1]
        hint = "write the arguments in which it is linear together: 'linear: self'"
        nodes = self.yaml.sequence(node, "'linear'", hint) or () if isinstance(node, yaml.SequenceNode) else [node]
        texts = [self.yaml.scalar(item, "'linear'", hint) for item in nodes]
        return tuple(frozenset(self._arguments(stripped(text), schema, ("Tensor",))) for text in texts if text)

    def _numbers(self, fields: Fields, schema: FunctionSchema) -> Numbers | None:
        if "numbers" not in fields:
            return None
        hint = f"write 'fit(min, max)'; the kinds are {', '.join(NUMBER_KINDS)}"
        text = self.yaml.scalar(fields["numbers"][1], "'numbers'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _PROMOTION.fullmatch(text.value)
        if match is None or match[1] not in NUMBER_KINDS or match[2] is None:
            close = did_you_mean(match[1], NUMBER_KINDS) if match is not None and match[1] not in NUMBER_KINDS else None
            self.yaml.diagnostics.error(text.span(), f"'{text}' does not say what numbers do", close or hint)
            return None
        return Numbers(match[1], self._arguments(part(text, match.start(3), match.end(3)), schema, ("Scalar",)))

    def _half(self, fields: Fields) -> str | None:
        if "half" not in fields:
            return None
        hint = f"the kinds are {' and '.join(HALF_KINDS)}"
        text = self.yaml.scalar(fields["half"][1], "'half'", hint)
        if text is None:
            return None
        text = stripped(text)
        if text.value not in HALF_KINDS:
            message = f"'half' must be one of {', '.join(HALF_KINDS)}, not '{text}'"
            self.yaml.diagnostics.error(text.span(), message, did_you_mean(text.value, HALF_KINDS) or hint)
            return None
        return text.value

    def _batching(self, fields: Fields) -> Text | None:
        if "batching" not in fields:
            return None
        text = self.yaml.scalar(fields["batching"][1], "'batching'", "write the name of a rule: 'batching: pointwise'")
        if text is None:
            return None
        text = stripped(text)
        if _IDENTIFIER.fullmatch(text.value) is None:
            self.yaml.diagnostics.error(text.span(), "'batching' must be one word, the name of a rule", "as in 'along'")
            return None
        return text

    def _samples(self, fields: Fields) -> tuple[Text, ...]:
        if "samples" not in fields:
            return ()
        hint = "write each call on a line of its own: '- T(3, 4), T(4)'"
        texts: list[Text] = []
        for node in self.yaml.sequence(fields["samples"][1], "'samples'", hint) or ():
            if isinstance(node, yaml.SequenceNode | yaml.MappingNode):
                self.yaml.error(node, f"a sample must be text, not {describe(node)}", "quote the sample")
                continue
            text = self.yaml.scalar(node, "a sample", "a call without arguments is written ''")
            if text is None:
                continue
            try:
                parse_sample(text.value)
            except ParseError as error:
                self.yaml.parse_error(text, error)
                continue
            texts.append(text)
        return tuple(texts)

    def _domain(self, fields: Fields) -> tuple[float, float] | None:
        if "domain" not in fields:
            return None
        node = fields["domain"][1]
        hint = "write '[low, high]'; which element types the operator takes is said by 'dtypes'"
        elements = self.yaml.sequence(node, "'domain'", hint)
        if elements is None:
            return None
        if len(elements) != 2:
            self.yaml.error(node, f"'domain' must have two numbers, not {len(elements)}", hint)
            return None
        texts = [self.yaml.scalar(element, "an element of 'domain'", hint) for element in elements]
        low, high = (self._number(text, hint) for text in texts)
        if low is None or high is None:
            return None
        if low >= high:
            self.yaml.error(node, "'domain' must begin with the lower number", f"write '[{texts[1]}, {texts[0]}]'")
            return None
        return low, high

    def _number(self, text: Text | None, hint: str) -> float | None:
        if text is None:
            return None
        try:
            number = float(text.value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.yaml.diagnostics.error(text.span(), f"'{text}' is not a finite number", hint)
            return None
        return number

    # What does not go together

    def _conflicts(self, fields: Fields, function: NativeFunction) -> None:
        schema = function.schema
        if function.python_module is not None and "method" in function.variants:
            self._conflict(fields, "python_module", "an operator in a module cannot be a method", "variants", None)
        if "dispatch" in fields and not is_null(fields["dispatch"][1]):
            if self._says_true(fields, "manual_kernel_registration"):
                self._conflict(
                    fields,
                    "dispatch",
                    "'dispatch' has no effect",
                    "manual_kernel_registration",
                    "remove one of the two",
                )
            self._dispatch_conflicts(fields, function)
        if function.structured:
            if schema.kind is not SchemaKind.OUT:
                self._conflict(
                    fields, "structured", "only an operator with out arguments can be structured", None,
                    "the functional operator has 'structured_delegate: name.out'",
                )  # fmt: skip
        else:
            for key in ("structured_inherits", "precomputed", "ufunc_inner_loop"):
                if key in fields:
                    self._conflict(fields, key, f"'{key}' needs 'structured: True'", None, None)
        if function.structured_delegate is not None and schema.kind is SchemaKind.OUT:
            self._conflict(
                fields, "structured_delegate", "an operator with out arguments cannot delegate", None,
                "write 'structured: True'",
            )  # fmt: skip

    def _dispatch_conflicts(self, fields: Fields, function: NativeFunction) -> None:
        if function.structured_delegate is None and "ufunc_inner_loop" not in fields:
            return
        for entry in function.dispatch:
            if function.structured_delegate is not None and entry.key in STRUCTURED_KEYS:
                message, key = (
                    f"'{entry.key}' has its kernel from '{function.structured_delegate}'",
                    "structured_delegate",
                )
            elif "ufunc_inner_loop" in fields and entry.key in UFUNC_KEYS:
                message, key = f"'{entry.key}' has its kernel from the inner loop", "ufunc_inner_loop"
            else:
                continue
            note = (self.yaml.span(fields[key][0]), f"'{key}' is given here")
            self.yaml.diagnostics.error(entry.key_span, message, "remove one of the two", (note,))

    def _conflict(self, fields: Fields, key: str, message: str, other: str | None, hint: str | None) -> None:
        notes = [(self.yaml.span(fields[other][0]), f"'{other}' is given here")] if other is not None else []
        self.yaml.error(fields[key][0], message, hint, *notes)

    def _says_true(self, fields: Fields, key: str) -> bool:
        return key in fields and isinstance(fields[key][1], yaml.ScalarNode) and fields[key][1].value in _TRUE
