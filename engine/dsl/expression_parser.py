"""Tokens of an expression -> its tree (language.md 8.1).

An operator-precedence parser with its own stack of open brackets, so that no depth of nesting exhausts the
interpreter's. Called by ``expressions.parse`` only. It knows which functions exist and where a lambda may stand; how
many arguments a call has is left to the checks (C138).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from engine.dsl.expression_errors import ExpressionSyntaxError
from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.expression_tokens import Token, TokenKind, tokenize
from engine.dsl.expression_tree import (
    MAX_DEPTH,
    Call,
    Chain,
    Lambda,
    Literal,
    LocalPath,
    NamePath,
    Part,
    Subscript,
    Unary,
)
from engine.dsl.scope import NAMESPACES

OR, AND, NOT, COMPARE, SUM, PRODUCT, NEGATION = range(1, 8)
BINDING: Final = {
    "||": OR, "or": OR, "&&": AND, "and": AND,
    "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT,
}  # fmt: skip
CANONICAL: Final = {"or": "||", "and": "&&", "not": "!"}
WORDS: Final = frozenset({"and", "or", "not", "true", "false"})
CLOSERS: Final = {"(": ")", "[": "]"}


@dataclass(slots=True)
class _Sign:
    """A pending operator."""

    text: str
    binding: int
    offset: int


@dataclass(slots=True)
class _Level:
    """An open bracket, or the whole text: what stands in it so far."""

    bracket: str
    offset: int
    call: str = ""
    receiver: Part | None = None
    operands: list[Part] = field(default_factory=list)
    signs: list[_Sign] = field(default_factory=list)
    arguments: list[Part] = field(default_factory=list)
    slots: tuple[int, ...] = ()
    lambda_offset: int = 0


def parse_tree(text: str) -> Part:
    """The tree of ``text``. Raises ``ExpressionSyntaxError``."""
    return _Parser(tokenize(text)).parse()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = 0
        self.levels = [_Level("", 0)]
        self.bound: list[dict[str, int]] = []
        self.slots = 0

    def parse(self) -> Part:
        while True:
            self._operand()
            tree = self._operators()
            if tree is not None:
                return tree

    # What may stand where a value is expected.

    def _operand(self) -> None:
        """Read prefix signs and opening brackets until a value is complete."""
        while True:
            token = self._next()
            if token.text == "-" and token.kind is TokenKind.SIGN:
                self.levels[-1].signs.append(_Sign("-", NEGATION, token.offset))
            elif token.text in ("!", "not") and token.kind in (TokenKind.SIGN, TokenKind.NAME):
                self._negation(token)
            elif token.text == "(" and token.kind is TokenKind.SIGN:
                self._open(_Level("(", token.offset))
            elif token.kind is TokenKind.NAME and self._is("(") and token.text not in WORDS:
                self._open_call(token)
                if self._is(")"):
                    return
            else:
                self.levels[-1].operands.append(self._primary(token))
                return

    def _negation(self, token: Token) -> None:
        signs = self.levels[-1].signs
        if signs and signs[-1].binding > NOT:
            problem = f"`{token.text}` cannot stand after `{signs[-1].text}`"
            raise ExpressionSyntaxError(problem, token.offset, "put it and its operand into parentheses")
        signs.append(_Sign("!", NOT, token.offset))

    def _primary(self, token: Token) -> Part:
        if token.kind in (TokenKind.INT, TokenKind.FLOAT, TokenKind.TEXT):
            return Literal(offset=token.offset, value=token.value)
        if token.text in ("true", "false"):
            return Literal(offset=token.offset, value=token.text == "true")
        if token.kind is not TokenKind.NAME or token.text in WORDS:
            raise self._wrong(token, "a value is expected", "write a number, a string, a path or a call")
        names = [token.text]
        while self._is("."):
            self.place += 1
            names.append(self._name())
        for binding in reversed(self.bound):
            if names[0] in binding:
                return LocalPath(offset=token.offset, slot=binding[names[0]], names=tuple(names[1:]))
        if names[0] in NAMESPACES:
            return NamePath(offset=token.offset, namespace=names[0], names=tuple(names[1:]))
        return NamePath(offset=token.offset, namespace="input", names=tuple(names), bare=True)

    # What may stand after a value.

    def _operators(self) -> Part | None:
        """Read what follows a value until the next one is expected; the tree, when the text is complete."""
        while True:
            token = self._next()
            level = self.levels[-1]
            if token.text in BINDING and token.kind in (TokenKind.SIGN, TokenKind.NAME):
                self._binary(token)
                return None
            if token.text == "[" and token.kind is TokenKind.SIGN:
                self._open(_Level("[", token.offset, receiver=level.operands.pop()))
                return None
            if token.text == "." and token.kind is TokenKind.SIGN:
                self._dotted(token)
            elif token.text == "," and level.call:
                self._end_argument()
                self._begin_argument()
                return None
            elif token.kind is TokenKind.END and not level.bracket:
                return self._reduce(0)
            elif level.bracket and token.text == CLOSERS[level.bracket]:
                self._close()
            else:
                raise self._unfinished(token)

    def _dotted(self, token: Token) -> None:
        operands = self.levels[-1].operands
        key = Literal(offset=token.offset + 1, value=self._name())
        receiver = operands.pop()
        operands.append(Subscript(offset=receiver.offset, depth=_over(receiver, key), receiver=receiver, key=key))

    def _binary(self, token: Token) -> None:
        binding = BINDING[token.text]
        self._reduce(binding)
        level = self.levels[-1]
        if binding == COMPARE and level.signs and level.signs[-1].binding == COMPARE:
            problem = f"`{level.signs[-1].text}` and `{token.text}` do not chain"
            raise ExpressionSyntaxError(problem, token.offset, "compare twice and join with &&")
        level.signs.append(_Sign(CANONICAL.get(token.text, token.text), binding, token.offset))

    def _reduce(self, binding: int) -> Part:
        """Build what binds tighter than ``binding``; the value that stands last."""
        level = self.levels[-1]
        while level.signs and level.signs[-1].binding > binding:
            top = level.signs[-1]
            if top.binding in (NOT, NEGATION):
                level.signs.pop()
                operand = level.operands.pop()
                part: Part = Unary(offset=top.offset, depth=_over(operand), sign=top.text, operand=operand)
            else:
                part = self._chain(level, top.binding)
            level.operands.append(part)
        return level.operands[-1]

    def _chain(self, level: _Level, binding: int) -> Part:
        count = 0
        while count < len(level.signs) and level.signs[-1 - count].binding == binding:
            count += 1
        signs = tuple(sign.text for sign in level.signs[-count:])
        operands = tuple(level.operands[-count - 1 :])
        del level.signs[-count:]
        del level.operands[-count - 1 :]
        return Chain(offset=operands[0].offset, depth=_over(*operands), signs=signs, operands=operands)

    # Brackets, calls and lambdas.

    def _open(self, level: _Level) -> None:
        if len(self.levels) > MAX_DEPTH:
            raise _too_deep(level.offset)
        self.levels.append(level)

    def _open_call(self, token: Token) -> None:
        if token.text not in FUNCTIONS:
            near = get_close_matches(token.text, FUNCTIONS, n=1)
            expected = f"did you mean `{near[0]}`?" if near else f"the functions are {', '.join(FUNCTIONS)}"
            raise ExpressionSyntaxError(f"unknown function `{token.text}`", token.offset, expected)
        self.place += 1
        self._open(_Level("(", token.offset, call=token.text))
        if not self._is(")"):
            self._begin_argument()

    def _begin_argument(self) -> None:
        level = self.levels[-1]
        start = self.tokens[self.place]
        names = self._lambda_names()
        function = FUNCTIONS[level.call]
        wanted = len(level.arguments) == function.lambda_at
        if names is None:
            if wanted:
                problem = f"argument {function.lambda_at + 1} of {level.call} is a function of its elements"
                raise ExpressionSyntaxError(problem, start.offset, f"write {_LAMBDAS[function.parameters]}")
            return
        if not wanted:
            raise ExpressionSyntaxError(f"`=>` cannot stand here in {level.call}", start.offset, _LAMBDA_PLACES)
        if len(names) != function.parameters:
            problem = f"{level.call} gives {function.parameters} values, found {len(names)} names"
            raise ExpressionSyntaxError(problem, start.offset, f"write {_LAMBDAS[function.parameters]}")
        self.bound.append(self._bind(names))
        level.slots = tuple(self.bound[-1].values())
        level.lambda_offset = start.offset

    def _lambda_names(self) -> list[Token] | None:
        """The parameters, when a lambda starts here; the place is then behind its ``=>``."""
        ahead = self.tokens[self.place : self.place + 2]
        if ahead[0].kind is TokenKind.NAME and ahead[-1].text == "=>":
            self.place += 2
            return [ahead[0]]
        if ahead[0].text != "(" or ahead[0].kind is not TokenKind.SIGN:
            return None
        place, names = self.place + 1, []
        while self.tokens[place].kind is TokenKind.NAME:
            names.append(self.tokens[place])
            place += 2
            if self.tokens[place - 1].text != ",":
                break
        if (
            not names
            or self.tokens[place - 1].text != ")"
            or self.tokens[min(place, len(self.tokens) - 1)].text != "=>"
        ):
            return None
        self.place = place + 1
        return names

    def _bind(self, names: list[Token]) -> dict[str, int]:
        binding: dict[str, int] = {}
        for token in names:
            if token.text in NAMESPACES or token.text in WORDS:
                raise ExpressionSyntaxError(f"a parameter cannot be called `{token.text}`", token.offset, "rename it")
            if token.text in binding:
                raise ExpressionSyntaxError(f"parameter `{token.text}` twice", token.offset, "rename one")
            binding[token.text] = self.slots
            self.slots += 1
        return binding

    def _end_argument(self) -> None:
        level = self.levels[-1]
        part = self._reduce(0)
        level.operands.clear()
        if level.slots:
            self.bound.pop()
            part = Lambda(offset=level.lambda_offset, depth=_over(part), slots=level.slots, body=part)
            level.slots = ()
        level.arguments.append(part)

    def _close(self) -> None:
        level = self.levels[-1]
        if level.call:
            if level.operands:
                self._end_argument()
            arguments = tuple(level.arguments)
            part: Part = Call(offset=level.offset, depth=_over(*arguments), name=level.call, arguments=arguments)
        else:
            part = self._reduce(0)
        if level.receiver is not None:
            receiver = level.receiver
            part = Subscript(offset=receiver.offset, depth=_over(receiver, part), receiver=receiver, key=part)
        self.levels.pop()
        self.levels[-1].operands.append(part)

    # Small steps.

    def _next(self) -> Token:
        token = self.tokens[self.place]
        self.place += 1
        return token

    def _is(self, sign: str) -> bool:
        token = self.tokens[self.place]
        return token.kind is TokenKind.SIGN and token.text == sign

    def _name(self) -> str:
        token = self._next()
        if token.kind is not TokenKind.NAME:
            raise self._wrong(token, "a name is expected after `.`", "write a field name")
        return token.text

    def _unfinished(self, token: Token) -> ExpressionSyntaxError:
        level = self.levels[-1]
        if token.kind is TokenKind.END:
            return ExpressionSyntaxError(
                f"`{level.bracket}` is not closed", level.offset, f"write {CLOSERS[level.bracket]}"
            )
        return self._wrong(token, "an operator is expected", "join two values with an operator")

    def _wrong(self, token: Token, problem: str, expected: str) -> ExpressionSyntaxError:
        found = "the end of the text" if token.kind is TokenKind.END else f"`{token.text}`"
        return ExpressionSyntaxError(f"{problem}, found {found}", token.offset, expected)


_LAMBDAS: Final = {1: "x => …", 2: "(acc, x) => …"}
_LAMBDA_PLACES: Final = "only map, filter and reduce take one, as their last argument"


def _over(*children: Part) -> int:
    """The depth of a node above ``children``."""
    depth = 1 + max((child.depth for child in children), default=0)
    if depth > MAX_DEPTH:
        raise _too_deep(children[0].offset)
    return depth


def _too_deep(offset: int) -> ExpressionSyntaxError:
    return ExpressionSyntaxError(
        f"nested deeper than {MAX_DEPTH} levels", offset, "split the expression over two nodes"
    )
