"""Gradwright's own keys of an entry of native_functions.yaml."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import yaml

from codegen.codes import Code
from codegen.formula.parser import parse_formula
from codegen.read import references
from codegen.read.model import (
    CompositeFormula,
    Convention,
    ElementTypes,
    ElementwiseFormula,
    Layout,
    Numbers,
    Promotion,
    Requirement,
    WrittenFormula,
)
from codegen.read.pieces import comma_separated, part, stripped
from codegen.read.sample_file import read_domain, read_sample_list
from codegen.read.samples import parse_sample
from codegen.read.signs import read_sign
from codegen.read.values import Values
from codegen.read.yaml_text import Fields
from codegen.schema.types import FunctionSchema, base_type
from codegen.signs import SignUse
from codegen.source import ParseError, Text
from codegen.words import (
    DTYPE_ERRORS,
    DTYPE_GROUPS,
    DTYPE_KINDS,
    FORMER_KINDS,
    PROPERTIES,
    HalfKind,
    LayoutKind,
    Meant,
    NumberKind,
    OutDtype,
    PromotionKind,
    did_you_mean,
    words_of,
)

_IN_BRACES = re.compile(r"\{([^{}]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_NO_PROMOTION = "none"
_PROMOTION = re.compile(r"([^\s()]*)\s*(?:(\()([^()]*)\))?")
_ELEMENT_TYPES = re.compile(r"([^()]*?)\s*(?:(\()([^()]*)\))?\s*(?:\belse\b(.*))?", re.DOTALL)


class OwnKeys:
    """Reads the values of Gradwright's keys."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.yaml = values.yaml

    def promotion(self, fields: Fields, schema: FunctionSchema) -> Promotion | None:
        kinds = words_of(PromotionKind)
        hint = f"the kinds are {', '.join(kinds)}; 'default(self, other)' names the arguments that take part"
        text = self.yaml.scalar(fields["promotion"][1], "'promotion'", hint)
        if text is None:
            return None
        text = stripped(text)
        if text.value == _NO_PROMOTION and "elementwise" in fields:
            return None  # where nothing is said, it follows from the expression
        match = _PROMOTION.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(Code.MALFORMED, text.span(), f"'{text}' is not a promotion", hint)
            return None
        if match[1] not in kinds:
            close = did_you_mean(match[1], kinds)
            self.yaml.diagnostics.error(
                Code.UNKNOWN_WORD, text.span(0, max(match.end(1), 1)), f"unknown promotion '{match[1]}'", close or hint
            )
            return None
        kind = PromotionKind(match[1])
        if match[2] is None:
            return Promotion(kind, None, text)
        names = self.values.arguments(part(text, match.start(3), match.end(3)), schema, ("Tensor", "Scalar"))
        return Promotion(kind, names, text)

    def dtypes(self, fields: Fields, schema: FunctionSchema) -> ElementTypes | None:
        hint = "write what it takes, as in 'integer, floating' or 'floating, complex(self) else RuntimeError'"
        text = self.yaml.scalar(fields["dtypes"][1], "'dtypes'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _ELEMENT_TYPES.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(
                Code.MALFORMED, text.span(), f"'{text}' is not a list of kinds of element types", hint
            )
            return None
        kinds = self._kinds(part(text, match.start(1), match.end(1)))
        names = None
        if match[2] is not None:
            names = self.values.arguments(part(text, match.start(3), match.end(3)), schema, ("Tensor",))
            if "promotion" in fields:
                self.values.conflict(
                    fields, "dtypes", "the dtype that promotion gives decides, and not that of some arguments",
                    "promotion", "leave out what is in parentheses",
                )  # fmt: skip
        error = DTYPE_ERRORS[0]
        if match[4] is not None:
            named = stripped(part(text, match.start(4), match.end(4)))
            error = named.value
            if error not in DTYPE_ERRORS:
                self.yaml.diagnostics.error(
                    Code.UNKNOWN_WORD,
                    named.span() if error else text.span(),
                    f"'{named}' is not the class of an error" if error else "the class of the error is missing",
                    did_you_mean(error, DTYPE_ERRORS) or f"the classes are {', '.join(DTYPE_ERRORS)}",
                )
        if not any(base_type(argument.type).name == "Tensor" for argument in schema.arguments):
            self.yaml.error(
                Code.CONTRADICTION, fields["dtypes"][0], f"'{schema.name}' takes no Tensor", "remove 'dtypes'"
            )
        return ElementTypes(kinds, names, error, text)

    def _kinds(self, text: Text) -> tuple[str, ...]:
        """The kinds of element types that a list of kinds and groups names, in the order of DTYPE_KINDS."""
        kinds: set[str] = set()
        for word in comma_separated(text):
            meant = DTYPE_GROUPS.get(word.value, (word.value,))
            if not word.value:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    text.span(),
                    "a kind of element types is missing here",
                    f"the kinds are {', '.join(DTYPE_KINDS)}",
                )
            elif not set(meant) <= set(DTYPE_KINDS):
                known = (*DTYPE_KINDS, *DTYPE_GROUPS)
                former = FORMER_KINDS.get(word.value)
                self.yaml.diagnostics.error(
                    Code.UNKNOWN_WORD,
                    word.span(),
                    f"unknown kind of element types '{word}'",
                    Meant(word.value, former)
                    if former
                    else did_you_mean(word.value, known) or f"the kinds are {', '.join(known)}",
                )
            elif kinds & set(meant):
                self.yaml.diagnostics.error(Code.GIVEN_TWICE, word.span(), f"'{word}' is given twice")
            kinds.update(meant)
        return tuple(kind for kind in DTYPE_KINDS if kind in kinds)

    def layout(self, fields: Fields, schema: FunctionSchema) -> Layout | None:
        kinds = words_of(LayoutKind)
        hint = f"the kinds are {', '.join(kinds)}; 'iterated(self)' names the arguments by which it goes"
        text = self.yaml.scalar(fields["layout"][1], "'layout'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _PROMOTION.fullmatch(text.value)
        if match is None:
            self.yaml.diagnostics.error(Code.MALFORMED, text.span(), f"'{text}' is not a layout", hint)
            return None
        if match[1] not in kinds:
            close = did_you_mean(match[1], kinds)
            place = text.span(0, max(match.end(1), 1))
            self.yaml.diagnostics.error(Code.UNKNOWN_WORD, place, f"unknown layout '{match[1]}'", close or hint)
            return None
        kind = LayoutKind(match[1])
        if schema.is_view:
            self.yaml.diagnostics.error(
                Code.CONTRADICTION, text.span(), "a view lies in the memory of its argument", "remove 'layout'"
            )
            return None
        if match[2] is None:
            return Layout(kind, None, text)
        named = part(text, match.start(3), match.end(3))
        if kind in (LayoutKind.CONTIGUOUS, LayoutKind.OWN):
            hint = f"write 'layout: {kind.value}'"
            self.yaml.diagnostics.error(Code.CONTRADICTION, named.span(), f"'{kind.value}' goes by no argument", hint)
            return None
        if kind is LayoutKind.COLUMNS:
            results = [result.name for result in schema.returns if result.name is not None]
            return Layout(kind, self.values.named(named, schema, results, "result", "results"), text)
        return Layout(kind, self.values.arguments(named, schema, ("Tensor",)), text)

    def out_dtype(self, fields: Fields, schema: FunctionSchema) -> OutDtype | None:
        word, known = self.values.word(fields, "out_dtype"), words_of(OutDtype)
        if word is None or word in known:
            return None if word is None else OutDtype(word)
        hint = did_you_mean(word, known) or f"write {', '.join(known[:-1])} or {known[-1]}"
        self.yaml.error(Code.UNKNOWN_WORD, fields["out_dtype"][1], f"unknown out_dtype '{word}'", hint)
        return None

    def python_operator(self, fields: Fields, schema: FunctionSchema) -> tuple[SignUse, ...]:
        text = self.yaml.scalar(
            fields["python_operator"][1],
            "'python_operator'",
            "write a call as Python does: 'python_operator: self + other'",
        )
        words = () if text is None else comma_separated(text)
        uses = (read_sign(word, schema, self.yaml.diagnostics) for word in words)
        return tuple(use for use in uses if use is not None)

    def constant_result(self, fields: Fields, schema: FunctionSchema) -> float | str | None:
        text = self.yaml.scalar(
            fields["constant_result"][1], "'constant_result'", "write a number or the argument that holds it"
        )
        if text is None:
            return None
        text = stripped(text)
        try:
            return float(text.value)
        except ValueError:
            return next(iter(self.values.arguments(text, schema, ("Scalar", "Tensor"))), None)

    def legacy_argument_orders(self, fields: Fields, schema: FunctionSchema) -> tuple[tuple[str, ...], ...]:
        hint = "write the arguments of each order on a line of its own: '- self, alpha, other'"
        known = [argument.name for argument in schema.arguments]
        orders = []
        node = fields["legacy_argument_orders"][1]
        if isinstance(node, yaml.ScalarNode):
            only = self.yaml.scalar(node, "'legacy_argument_orders'", hint)
            texts = [] if only is None else [only]
        else:
            texts = self.values.texts(node, "'legacy_argument_orders'", "an order", hint)
        for text in texts:
            order = self.values.named(text, schema, known, "argument", "arguments")
            missing = [a.name for a in schema.arguments if a.default is None and a.name not in order]
            if missing and order:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    text.span(),
                    f"'{schema.name}' can not be called without '{missing[0]}'",
                    "name it in the order",
                )
            orders.append(order)
        return tuple(orders)

    def linear(self, fields: Fields, schema: FunctionSchema) -> tuple[frozenset[str], ...]:
        node = fields["linear"][1]
        hint = "write the arguments in which it is linear together: 'linear: self'"
        nodes = self.yaml.sequence(node, "'linear'", hint) or () if isinstance(node, yaml.SequenceNode) else [node]
        texts = [self.yaml.scalar(item, "'linear'", hint) for item in nodes]
        return tuple(frozenset(self.values.arguments(stripped(text), schema, ("Tensor",))) for text in texts if text)

    def numbers(self, fields: Fields, schema: FunctionSchema) -> Numbers | None:
        kinds = words_of(NumberKind)
        hint = f"write 'fit(min, max)'; the kinds are {', '.join(kinds)}"
        text = self.yaml.scalar(fields["numbers"][1], "'numbers'", hint)
        if text is None:
            return None
        text = stripped(text)
        match = _PROMOTION.fullmatch(text.value)
        if match is None or match[1] not in kinds or match[2] is None:
            close = did_you_mean(match[1], kinds) if match is not None and match[1] not in kinds else None
            self.yaml.diagnostics.error(
                Code.MALFORMED, text.span(), f"'{text}' does not say what numbers do", close or hint
            )
            return None
        names = self.values.arguments(part(text, match.start(3), match.end(3)), schema, ("Scalar",))
        return Numbers(NumberKind(match[1]), names)

    def half(self, fields: Fields, schema: FunctionSchema) -> HalfKind | None:
        kinds = words_of(HalfKind)
        hint = f"the kinds are {' and '.join(kinds)}"
        text = self.yaml.scalar(fields["half"][1], "'half'", hint)
        if text is None:
            return None
        text = stripped(text)
        if text.value not in kinds:
            message = f"'half' must be one of {', '.join(kinds)}, not '{text}'"
            self.yaml.diagnostics.error(
                Code.UNKNOWN_WORD, text.span(), message, did_you_mean(text.value, kinds) or hint
            )
            return None
        return HalfKind(text.value)

    def batching(self, fields: Fields, schema: FunctionSchema) -> Text | None:
        text = self.yaml.scalar(fields["batching"][1], "'batching'", "write the name of a rule: 'batching: pointwise'")
        if text is None:
            return None
        text = stripped(text)
        if _IDENTIFIER.fullmatch(text.value) is None:
            self.yaml.diagnostics.error(
                Code.MALFORMED, text.span(), "'batching' must be one word, the name of a rule", "as in 'along'"
            )
            return None
        return text

    def composite(self, fields: Fields, schema: FunctionSchema) -> CompositeFormula | None:
        hint = "write the operator as a formula over others: 'composite: (self - self.mean()).square().mean()'"
        return self._composite(fields, "composite", hint)

    def foreach(self, fields: Fields, schema: FunctionSchema) -> CompositeFormula | None:
        hint = "write what becomes of an element of each list: 'foreach: self + other'"
        return self._composite(fields, "foreach", hint)

    def _composite(self, fields: Fields, key: str, hint: str) -> CompositeFormula | None:
        text = self.yaml.scalar(fields[key][1], f"'{key}'", hint)
        if text is None:
            return None
        formula = self._formula(stripped(text))
        return None if formula is None else CompositeFormula(formula.text, formula.tree, of_elements=key == "foreach")

    def about(self, fields: Fields, schema: FunctionSchema) -> str | None:
        text = self.yaml.scalar(fields["about"][1], "'about'", "say it in a sentence")
        return None if text is None else " ".join(text.value.split())

    def elementwise(self, fields: Fields, schema: FunctionSchema) -> ElementwiseFormula | None:
        hint = "write an element of the result as an expression: 'elementwise: self / (1 + abs(self))'"
        text = self.yaml.scalar(fields["elementwise"][1], "'elementwise'", hint)
        formula = None if text is None else self._formula(stripped(text))
        conventions, requirements = tuple(self._conventions(fields)), tuple(self._requirements(fields))
        promotion = fields["promotion"][1] if "promotion" in fields else None
        as_is = isinstance(promotion, yaml.ScalarNode) and promotion.value == _NO_PROMOTION
        if formula is None:
            return None
        return ElementwiseFormula(formula.text, formula.tree, conventions, requirements, as_is)

    def _conventions(self, fields: Fields) -> Iterator[Convention]:
        """What `slope_at` says: a slope for each point, or a list of those by all Tensors."""
        if "slope_at" not in fields:
            return
        hint = "write points and the derivatives there: 'slope_at: {0: 1}'"
        points = self.yaml.mapping(fields["slope_at"][1], "'slope_at'", hint) or {}
        for key, value in points.values():
            slopes = value.value if isinstance(value, yaml.SequenceNode) else [value]
            texts = [self.yaml.scalar(each, "a point or a derivative", hint) for each in (key, *slopes)]
            formulas = [None if text is None else self._formula(stripped(text)) for text in texts]
            known = [formula for formula in formulas if formula is not None]
            if len(known) == len(formulas):
                yield Convention(known[0], tuple(known[1:]))

    def _requirements(self, fields: Fields) -> Iterator[Requirement]:
        """What `requires` says: a message for each condition."""
        if "requires" not in fields:
            return
        hint = "write conditions and what to say where they do not hold: 'requires: {n > 0: \"n is {n}\"}'"
        conditions = self.yaml.mapping(fields["requires"][1], "'requires'", hint) or {}
        for key, value in conditions.values():
            texts = [self.yaml.scalar(each, "a condition or a message", hint) for each in (key, value)]
            condition, message = (None if text is None else stripped(text) for text in texts)
            formula = None if condition is None else self._formula(condition)
            if formula is None or message is None:
                continue
            shown = [self._formula(part(message, *found.span(1))) for found in _IN_BRACES.finditer(message.value)]
            known = tuple(each for each in shown if each is not None)
            if len(known) == len(shown):
                yield Requirement(formula, tuple(_IN_BRACES.split(message.value)[::2]), known)

    def kinks(self, fields: Fields, schema: FunctionSchema) -> tuple[WrittenFormula, ...]:
        hint = "write expressions whose zeros are the kinks: 'kinks: self - other'"
        node = fields["kinks"][1]
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        texts = [self.yaml.scalar(each, "a kink", hint) for each in nodes]
        formulas = [None if text is None else self._formula(stripped(text)) for text in texts]
        return tuple(formula for formula in formulas if formula is not None)

    def _formula(self, text: Text) -> WrittenFormula | None:
        try:
            return WrittenFormula(text, parse_formula(text.value))
        except ParseError as error:
            self.yaml.parse_error(Code.FORMULA_SYNTAX, text, error)
            return None

    def samples(self, fields: Fields, schema: FunctionSchema) -> tuple[Text, ...]:
        return read_sample_list(self.yaml, fields["samples"][1])

    def unique_part(self, fields: Fields, schema: FunctionSchema) -> str | None:
        node = fields["unique_part"][1]
        hint = "write expressions in the results, such as 'values, vectors * vectors[..., :1, :].sgn().conj()'"
        text = self.yaml.scalar(node, "'unique_part'", hint)
        if text is None:
            return None
        try:
            call = parse_sample(text.value)
        except ParseError:
            self.yaml.error(Code.SAMPLE, node, "'unique_part' is no list of Python expressions", hint)
            return None
        names = [str(each.name) for each in schema.returns]
        if call.keywords or not call.args:
            self.yaml.error(Code.SAMPLE, node, "'unique_part' has no expressions", hint)
            return None
        for each in ast.walk(call):
            if isinstance(each, ast.Name) and each is not call.func and each.id not in names:
                message = f"'{schema.name}' has no result '{each.id}'"
                self.yaml.error(Code.SAMPLE, node, message, did_you_mean(each.id, names) or hint)
                return None
        return " ".join(text.value.split())

    def reference(self, fields: Fields, schema: FunctionSchema) -> str | None:
        text = self.yaml.scalar(fields["reference"][1], "'reference'", references.HINT)
        return None if text is None else references.read_reference(text, schema, self.yaml.diagnostics)

    def unproven(self, fields: Fields, schema: FunctionSchema) -> tuple[tuple[str, str], ...]:
        hint = "write why, as in 'layouts: its result is about memory'"
        reasons = self.yaml.mapping(fields["unproven"][1], "'unproven'", hint) or {}
        found = []
        for name, (key, node) in reasons.items():
            if name not in PROPERTIES:
                message = f"nothing proves '{name}'"
                known = f"properties are {', '.join(PROPERTIES)}"
                self.yaml.error(Code.UNKNOWN_WORD, key, message, did_you_mean(name, PROPERTIES) or known)
                continue
            text = self.yaml.scalar(node, f"the reason of '{name}'", hint)
            if text is not None and not text.value.strip():
                self.yaml.error(Code.MALFORMED, node, f"'{name}' has no reason", hint)
            elif text is not None:
                found.append((name, " ".join(text.value.split())))
        return tuple(found)

    def not_a_derivative_because(self, fields: Fields, schema: FunctionSchema) -> str | None:
        hint = "write why its formulas are not its derivatives, as in 'rounding counts as the identity'"
        text = self.yaml.scalar(fields["not_a_derivative_because"][1], "'not_a_derivative_because'", hint)
        if text is not None and not text.value.strip():
            self.yaml.error(
                Code.MALFORMED, fields["not_a_derivative_because"][1], "'not_a_derivative_because' has no reason", hint
            )
            return None
        return None if text is None else " ".join(text.value.split())

    def domain(self, fields: Fields, schema: FunctionSchema) -> tuple[float, float] | None:
        return read_domain(self.yaml, fields["domain"][1])
