"""From the trees of a unit to one ``Draft``: names, groups, includes, properties (language.md 1.2, 3, 12).

Called by ``load``. The first declaration of a name wins; the others are reported. Fragments come before the files that
import them, so that a clash is shown where the importing file makes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.dsl import groups
from engine.dsl.ast import Block, Declaration, EdgeLine, Scalar, Style, Text, Use
from engine.dsl.bundle import Bundle
from engine.dsl.data import PresetDraft, SchemaDraft, VarDraft, read_presets, read_schema, read_vars
from engine.dsl.diagnostics import Diagnostics, suggestion
from engine.dsl.draft import Draft, EdgeDraft, NodeDraft, OtherDraft, PromptDraft, WorkflowDraft
from engine.dsl.graph import TERMINALS, Span
from engine.dsl.includes import Includes
from engine.dsl.others import read_attachments, read_other, read_secrets
from engine.dsl.parser.blocks import NODE_WORDS
from engine.dsl.reader import Owner, Reader
from engine.dsl.unit import Unit

DATA = ("vars", "presets", "attachments", "secrets")
UNREAD = frozenset(["E001", "E002", "E003", "E004", "E006"])
TWICE = {"mcp_server": "C024", "cursor": "C086", "supervisor": "C192", "contract": "E010", "group": "E010"}


def replace_prompts(draft: Draft, prompts: Mapping[str, str]) -> None:
    """Put a recipe's texts in the place of the prompts of those names; one that no prompt has is C003."""
    for name, text in prompts.items():
        prompt = draft.prompts.get(name)
        if prompt is None:
            span = draft.workflow.span if draft.workflow else Span(draft.main, 1, 1)
            hint = suggestion(name, draft.prompts, f"declare `prompt {name}:`, or take it out of the recipe")
            draft.found.add("C003", span, name=name, hint=hint)
        else:
            draft.prompts[name] = PromptDraft(name, Text(text, prompt.span), prompt.span)


def where(first: Span, second: Span) -> str:
    """A place in words, as seen from another place."""
    return f"line {first.line}" if first.file == second.file else f"{first.file}:{first.line}"


def assemble(unit: Unit, bundle: Bundle | None, includes: Includes, found: Diagnostics) -> Draft:
    """The draft of ``unit``."""
    return _Assembly(unit, bundle, includes, found).run()


class _Assembly:
    def __init__(self, unit: Unit, bundle: Bundle | None, includes: Includes, found: Diagnostics) -> None:
        unclear = frozenset().union(*(source.tree.unclear for source in unit.order))
        self.draft = Draft(found, unit.folder, unclear=unclear, incomplete=unit.incomplete, main=unit.main.label)
        self.unit = unit
        self.bundle = bundle
        self.includes = includes
        self.found = found
        self.reader = Reader(found)
        self.groups: dict[str, Declaration] = {}
        self.prompts: dict[str, Declaration] = {}
        self.uses: list[Use] = []
        self.nodes: list[Declaration] = []
        self.workflows: list[Declaration] = []
        self.folders = {source.label: source.path.parent for source in unit.order}

    def run(self) -> Draft:
        for source in self.unit.order:
            self._blocks_once(source.tree.declarations)
            for declaration in source.tree.declarations:
                self._sort(declaration)
        copies = self._expand_groups()
        for declaration in (*self.nodes, *copies.nodes):
            self._node(declaration)
        own = self._own_prompts()
        for declaration in (*own, *copies.prompts):
            self._prompt(declaration)
        known = {declaration.name for declaration in own}
        self._note_includes(declaration for name, declaration in self.prompts.items() if name not in known)
        self._bundle_texts()
        self._edges(copies.edges)
        self._workflow()
        self._inline_prompts()
        self.draft.features.extend(self.reader.features)
        for edge in self.draft.edges:
            if self.draft.ends_at(edge.source):
                continue
            self.draft.outgoing.setdefault(edge.source, []).append(edge)
            self.draft.incoming.setdefault(edge.target, []).append(edge)
        return self.draft

    def _blocks_once(self, declarations: Iterable[Declaration | Use]) -> None:
        first: dict[str, Declaration] = {}
        for declaration in declarations:
            if isinstance(declaration, Declaration) and declaration.kind in DATA:
                other = first.setdefault(declaration.kind, declaration)
                if other is not declaration:
                    self.found.add("E014", declaration, name=declaration.kind, first=f"line {other.span.line}")

    def _sort(self, declaration: Declaration | Use) -> None:
        if isinstance(declaration, Use):
            self.uses.append(declaration)
        elif declaration.kind in NODE_WORDS:
            self.nodes.append(declaration)
        elif declaration.kind == "prompt":
            self._first(self.prompts, declaration, "prompt", "C041")
        elif declaration.kind == "group":
            self._first(self.groups, declaration, "group", "E010")
        elif declaration.kind == "workflow":
            self.workflows.append(declaration)
        elif declaration.kind == "schema":
            self._schema(declaration)
        elif declaration.kind in DATA:
            self._data(declaration.kind, declaration.block)
        else:
            self._other(declaration)

    def _first(self, known: dict[str, Declaration], declaration: Declaration, what: str, code: str) -> bool:
        first = known.setdefault(declaration.name, declaration)
        if first is declaration:
            return True
        self._twice(what, declaration.name, first.name_span, declaration.name_span, code)
        return False

    def _twice(self, what: str, name: str, first: Span, second: Span, code: str) -> None:
        code = code if first.file == second.file else "E010"
        self.found.add(code, second, what=what, name=name, first=where(first, second))

    def _schema(self, declaration: Declaration) -> None:
        schema = read_schema(declaration, self.found)
        first: SchemaDraft = self.draft.schemas.setdefault(schema.name, schema)
        if first is not schema:
            self._twice("schema", schema.name, first.span, schema.span, "C041")

    def _data(self, kind: str, block: Block | None, *, replacing: bool = False) -> None:
        drafts: Iterable[VarDraft | PresetDraft | OtherDraft]
        known: dict[str, VarDraft] | dict[str, PresetDraft] | dict[str, OtherDraft]
        if kind == "vars":
            drafts, known = read_vars(block, self.found), self.draft.vars
        elif kind == "presets":
            drafts, known = read_presets(block, self.found), self.draft.presets
        elif kind == "attachments":
            drafts, known = read_attachments(block, self.reader), self.draft.others.setdefault(kind, {})
        else:
            drafts, known = read_secrets(block, self.reader), self.draft.others.setdefault(kind, {})
        for draft in drafts:
            name = draft.var.name if isinstance(draft, VarDraft) else draft.name
            first = known.get(name)
            if first is None or replacing:
                known[name] = draft  # type: ignore[assignment]
            else:
                self._twice(f"in {kind}", name, first.span, draft.span, "E010")

    def _other(self, declaration: Declaration) -> None:
        known = self.draft.others.setdefault(declaration.kind, {})
        other = read_other(declaration, self.reader)
        first = known.setdefault(other.name, other)
        if first is not other:
            self._twice(declaration.kind, other.name, first.span, other.span, TWICE[declaration.kind])

    def _expand_groups(self) -> groups.Copies:
        prefixes: dict[str, Use] = {}
        wanted: list[Use] = []
        names = {node.name: node.name_span for node in self.nodes}
        for use in self.uses:
            first = prefixes.get(use.prefix)
            place = first.prefix_span if first else names.get(use.prefix)
            if place is not None:
                self._twice("the prefix", use.prefix, place, use.prefix_span, "C041")
                continue
            prefixes[use.prefix] = use
            wanted.append(use)
        self.draft.groups = self.groups
        self.draft.uses = {use.prefix: use.group for use in wanted}
        used = {use.group for use in self.uses}
        for name, group in self.groups.items():
            if name not in used:
                self._unused(group)
        return groups.expand(wanted, self.groups, self.prompts, self.found)

    def _unused(self, group: Declaration) -> None:
        """A group that nobody uses still has well-formed members."""
        for node in groups.members_of(group, self.found)[0]:
            Reader(self.found).section(node.block, node.kind, Owner(node.kind, node.name), node.span)

    def _node(self, declaration: Declaration) -> None:
        name, kind = declaration.name, declaration.kind
        owner = Owner(kind, name)
        first = self.draft.nodes.get(name)
        if declaration.block is None or name in TERMINALS:
            self.draft.unclear |= {name}
            return
        if first is not None:
            self._twice("node", name, first.span, declaration.name_span, "C041")
            return
        section = self.reader.section(declaration.block, kind, owner, declaration.span)
        folder = self.folders.get(declaration.span.file, self.draft.folder)
        self.draft.nodes[name] = NodeDraft(name, kind, section, declaration.name_span, folder)

    def _own_prompts(self) -> list[Declaration]:
        """The declared prompts, without those that only groups use: their copies stand for them."""
        used: set[str] = set()
        for node in self.draft.nodes.values():
            scalars = (node.section.scalar(key) for key in groups.PROMPT_KEYS)
            used.update(scalar.text for scalar in scalars if scalar is not None)
        grouped = groups.prompts_with_parameters(self.groups.values(), self.prompts)
        return [prompt for name, prompt in self.prompts.items() if name in used or name not in grouped]

    def _note_includes(self, prompts: Iterable[Declaration]) -> None:
        """Files that only prompts of groups include count for the digest too, used or not (language.md 15)."""
        for prompt in prompts:
            assert prompt.text is not None
            self.includes.expand(prompt.text.value, self._folder(prompt.span), prompt.text.span)

    def _prompt(self, declaration: Declaration) -> None:
        assert declaration.text is not None
        self._add_prompt(declaration.name, declaration.text, self._folder(declaration.span), declaration.name_span)

    def _folder(self, span: Span) -> Path:
        return self.folders.get(span.file, self.draft.folder)

    def _add_prompt(self, name: str, text: Text, folder: Path, span: Span, literal: Scalar | None = None) -> None:
        value = self.includes.expand(text.value, folder, text.span)
        self.draft.prompts[name] = PromptDraft(name, groups.without_rows(text, value), span, literal)

    def _bundle_texts(self) -> None:
        if self.bundle is None:
            return
        for name, text in self.bundle.prompts.items():
            if name not in self.draft.prompts:
                self._add_prompt(name, text, self.draft.folder / "prompts", text.span)
        for name, preset in self.bundle.presets.items():
            known = self.draft.presets.get(name)
            values, span = (known.values, known.span) if known else ({}, preset.span)
            self.draft.presets[name] = PresetDraft(name, values, span, preset.values)

    def _edges(self, lines: Iterable[EdgeLine]) -> None:
        edges = self.draft.edges
        for line in lines:
            for place in range(len(line.nodes) - 1):
                source, target = line.nodes[place], line.nodes[place + 1]
                edge = EdgeDraft(len(edges), source.name, target.name, source.span, target.span)
                if place == len(line.nodes) - 2:
                    edge.when, edge.otherwise, edge.loop = line.when, line.otherwise, line.loop
                    edge.foreach, edge.clause_span = line.foreach, line.clause_span
                    edge.mapping = line.mapping.entries if line.mapping else ()
                edges.append(edge)

    def _unread(self) -> bool:
        """Whether something of the main file could not be read: what is missing may stand there."""
        return any(found.code in UNREAD and found.file == self.unit.main.label for found in self.found)

    def _workflow(self) -> None:
        main = [flow for flow in self.workflows if flow.span.file == self.unit.main.label]
        if not main:
            if not self.draft.unclear and not self._unread():
                hint = "move the workflow from the fragment into this file" if self.workflows else None
                self.found.add("C006", Span(self.unit.main.label, 1, 1), hint=hint)
            return
        flow = main[0]
        for other in self.workflows:
            if other is not flow:
                self.found.add("C007", other, name=other.name, first=where(flow.name_span, other.span))
        owner = Owner("workflow", flow.name)
        section = self.reader.section(flow.block, "workflow", owner, flow.span)
        self.draft.workflow = WorkflowDraft(flow.name, section, flow.name_span)
        self._edges(section.edges)
        for kind in ("vars", "attachments"):
            item = section.items.get(kind)
            if item is not None and isinstance(item.data, Block):
                self._data(kind, item.data, replacing=True)

    def _inline_prompts(self) -> None:
        """A string where a prompt is wanted is an anonymous prompt, named by its text (language.md 4.4)."""
        for node in self.draft.nodes.values():
            for key in groups.PROMPT_KEYS:
                scalar = node.section.scalar(key)
                if scalar is None or scalar.style is Style.BARE:
                    continue
                name = inline_name(scalar.text)
                if name not in self.draft.prompts:
                    folder = self._folder(scalar.span)
                    self._add_prompt(name, Text(scalar.text, scalar.span), folder, scalar.span, scalar)


def inline_name(text: str) -> str:
    """The name of the anonymous prompt that holds ``text``."""
    return "_inline_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def prompt_name(scalar: Scalar) -> str:
    """The name of the prompt that a property names or holds."""
    return scalar.text if scalar.style is Style.BARE else inline_name(scalar.text)
