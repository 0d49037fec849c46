"""The web port for tests: requests as sent, and answers held against the API's description."""

import http.client
import json
import re

PRIMITIVES = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Web:
    def __init__(self, address, context=None):
        self.address = address
        self.context = context

    def request(self, method, target, body=None, headers=()):
        """(status, headers, body)."""
        if self.context:
            kind, more = http.client.HTTPSConnection, {"context": self.context}
        else:
            kind, more = http.client.HTTPConnection, {}
        connection = kind(*self.address, timeout=10, **more)
        try:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, target, **headers):
        return self.request("GET", target, headers=headers)

    def read(self, target):
        status, _, body = self.get(target)
        assert status == 200, (target, status, body)
        return json.loads(body)

    def post(self, target, value=None, **headers):
        headers = {"Content-Type": "application/json", **headers}
        status, _, body = self.request("POST", target, json.dumps(value or {}), headers)
        return status, json.loads(body)


def resolved(schema, document):
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]


def problems(value, schema, document, at="$"):
    """Where the value is not what the schema says; a member that it does not name is one too."""
    schema = resolved(schema, document)
    if "anyOf" in schema:
        tried = [list(problems(value, each, document, at)) for each in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(PRIMITIVES[kind](value) for kind in kinds):
        yield f"{at}: {value!r} is not {kinds}"
        return
    if value is None:
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    if schema.get("format") == "date-time" and not TIME.fullmatch(value):
        yield f"{at}: {value!r} is no time"
    if isinstance(value, list):
        for number, each in enumerate(value):
            items = schema.get("items", {"type": list(PRIMITIVES)})
            yield from problems(each, items, document, f"{at}[{number}]")
    if isinstance(value, dict) and "properties" in schema:
        yield from members(value, schema, document, at)


def members(value, schema, document, at):
    known = schema["properties"]
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at}: {name} is missing"
    for name, each in value.items():
        if name in known:
            yield from problems(each, known[name], document, f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{at}: {name} is not described"
