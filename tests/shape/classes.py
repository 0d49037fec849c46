"""Reads the classes of C++ headers: how many public methods and data members each has.

This is no compiler. It reads what clang-format leaves: one declaration after the other, between the
braces of a class. Constructors, destructors, operators and deleted functions are not counted as
methods; static members and constants are not counted as members.
"""

import re
from dataclasses import dataclass

HEAD = re.compile(
    r"(?<!enum )\b(?P<kind>class|struct)\s+(?:\[\[\w+\]\]\s*)?(?P<name>\w+(?:::\w+)*)"
    r"(?:\s+final)?\s*(?::[^:;{}()][^;{}()]*)?\{"
)
ACCESS = re.compile(r"^\s*(public|protected|private)\s*:(?!:)\s*")
NOT_A_MEMBER = re.compile(
    r"^(using|typedef|friend|static_assert|enum|class|struct|union|static|constexpr|inline)\b"
)


@dataclass
class Class:
    name: str
    public_methods: int = 0
    methods: int = 0
    members: int = 0


def end_of_braces(code, begin):
    """The position after the brace that closes the one at `begin`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, begin):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return len(code)


def declarations(body):
    """The declarations of a class body, with what stood in braces left out."""
    text, position = "", 0
    while position < len(body):
        character = body[position]
        if character == ";":
            yield text.strip()
            text = ""
        elif character == "{":
            position = end_of_braces(body, position)
            follows = body[position:].lstrip()[:1]
            # A function's body ends its declaration; an initializer does not.
            if re.search(r"\)[^=]*$", text) and follows not in (",", "{", ";", ")"):
                yield text.strip() + " {}"
                text = ""
            else:
                text += "{}"
            continue
        else:
            text += character
            access = ACCESS.match(text)
            if character == ":" and access and body[position + 1 : position + 2] != ":":
                yield access.group(1) + ":"
                text = ""
        position += 1


def without_templates(text):
    """`std::map<a, b> c` as `std::map c`, also where they are nested."""
    text = re.sub(r"operator\s*\S+?\s*(?=\()", "operator", text)
    before = None
    while before != text:
        before = text
        text = re.sub(r"<[^<>]*>", "", text)
    return text


def method_name(text):
    """The name of the function that is declared, or None."""
    declared = without_templates(text).split("=")[0].split("{")[0]
    match = re.search(r"([~\w]+)\s*\(", declared)
    return match.group(1) if match else None


def read_class(name, kind, body):
    found = Class(name)
    is_public = kind == "struct"
    for text in declarations(body):
        if text in ("public:", "protected:", "private:"):
            is_public = text == "public:"
            continue
        text = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", re.sub(r"\[\[\w+\]\]\s*", "", text))
        method = method_name(text)
        if method:
            own = name.split("::")[-1]
            is_counted = method.strip("~") not in (own, "operator") and "= delete" not in text
            if is_counted and not re.match(r"(friend|using|static_assert)\b", text):
                found.methods += 1
                found.public_methods += is_public
        elif text and not NOT_A_MEMBER.match(text):
            found.members += without_templates(text.split("=")[0]).count(",") + 1
    return found


def classes(code):
    """Every class of a file whose comments and strings are blank, nested ones too."""
    code = "\n".join("" if line.lstrip().startswith("#") else line for line in code.split("\n"))
    for match in HEAD.finditer(code):
        end = end_of_braces(code, match.end() - 1)
        yield read_class(match["name"], match["kind"], code[match.end() : end - 1])
