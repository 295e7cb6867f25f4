"""Drives the real binaries with the official Python SDK's client, over stdio and HTTP, in both eras.

    python python_client.py --mainstay PATH [--fixtures PATH]

`--mainstay` is the product; `--fixtures` is the test-only binary, which adds tools that report progress, sleep
and ask questions. The last line is `N passed, N failed`.
"""

import argparse
import contextlib
import functools
import os
import sys
import time

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from harness import (
    Checks,
    HttpServer,
    RawStdio,
    environment,
    equal,
    exit_on_terminate,
    expect,
    free_port,
    scratch,
    serving,
)

MODERN = "2026-07-28"
LATEST_LEGACY = "2025-11-25"
INVALID_PARAMS = -32602

# How the SDK opens a connection, and the version that must come of it.
ERAS = {"legacy": LATEST_LEGACY, "auto": MODERN}
CHECK_LIMIT = 30.0
RUN_LIMIT = 540.0
CALLS = 200

checks = Checks()


@contextlib.contextmanager
def check(name):
    """A check that ends in time."""
    with checks.check(name), anyio.fail_after(CHECK_LIMIT):
        yield


@contextlib.asynccontextmanager
async def connected(target, mode, **options):
    """A client on `target`, a URL or a command, with the server's log out of the way."""
    options |= {"mode": mode, "read_timeout_seconds": CHECK_LIMIT}
    if isinstance(target, str):
        async with Client(target, **options) as client:
            yield client
    else:
        with scratch() as home, open(os.devnull, "w", encoding="utf-8") as log:
            program, *words = (str(word) for word in target)
            command = StdioServerParameters(command=program, args=words, cwd=home, env=environment(home))
            async with Client(stdio_client(command, errlog=log), **options) as client:
                yield client


async def all_pages(fetch, items):
    """Every item of a list that comes in pages."""
    found, cursor = [], None
    for _ in range(100):
        page = await fetch(cursor=cursor)
        found.extend(getattr(page, items))
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError(f"the list of {items} does not end")


def text_of(result):
    """The text of a result; where it has a structured value too, both must say the same."""
    expect(not result.is_error, f"an error result: {result.content}")
    texts = [block.text for block in result.content if block.type == "text"]
    expect(texts, "no text in the result")
    text = (result.structured_content or {}).get("text")
    if text is not None:
        expect(any(text in each for each in texts), f"the text copy {texts!r} does not hold {text!r}")
        return text
    return texts[0]


async def expect_error(call, code):
    try:
        result = await call
    except MCPError as error:
        equal(error.code, code, "error code")
    else:
        raise AssertionError(f"answered instead of refused: {result}")


async def opens(client, name, version):
    with check(f"{name}: the connection opens with {version} and says who answers"):
        equal(client.protocol_version, version, "protocol version")
        expect(client.server_info is not None, "no serverInfo")
        expect(client.server_info.name and client.server_info.version, f"anonymous: {client.server_info}")
        expect(client.server_capabilities.tools is not None, "tools are not among the capabilities")


async def drive_product(client, name):
    """What every installation answers, whatever tool families it has."""
    with check(f"{name}: tools are listed once each, with an object schema"):
        tools = await all_pages(client.list_tools, "tools")
        names = [tool.name for tool in tools]
        equal(len(names), len(set(names)), "number of different names")
        for wanted in ("server_echo", "server_status"):
            expect(wanted in names, f"{wanted} is missing from {names}")
        for tool in tools:
            equal(tool.input_schema.get("type"), "object", f"type of the input of {tool.name}")
            expect(tool.description, f"{tool.name} has no description")
    with check(f"{name}: a call is answered, as text and as a structured value"):
        result = await client.call_tool("server_echo", {"text": "hi"})
        equal(result.structured_content, {"text": "hi"}, "structured value")
        equal(text_of(result), "hi", "text")
    with check(f"{name}: text comes back unchanged: other scripts, quotes, line ends, NUL"):
        for text in ("", "žluťoučký 漢字 🦀", "\"'\\\n\r\n\t", "a\u2028b\u0000c"):
            result = await client.call_tool("server_echo", {"text": text})
            equal(result.structured_content, {"text": text}, "structured value")
    with check(f"{name}: a quarter of a megabyte comes back unchanged"):
        text = "0123456789abcdef" * (256 * 1024 // 16)
        result = await client.call_tool("server_echo", {"text": text})
        expect(result.structured_content == {"text": text}, "the text was changed on its way")
    with check(f"{name}: the server tells its status"):
        result = await client.call_tool("server_status", {})
        expect(not result.is_error, f"an error result: {result.content}")
        expect(isinstance(result.structured_content, dict), "no structured value")
    for what, arguments in {"of the wrong type": {"text": 7}, "left out": {}}.items():
        with check(f"{name}: an argument {what} is an error result that names it"):
            result = await client.call_tool("server_echo", arguments)
            expect(result.is_error, f"accepted: {result}")
            expect("text" in str(result.content), f"the argument is not named: {result.content}")
    with check(f"{name}: an unknown tool is refused"):
        await expect_error(client.call_tool("no_such_tool", {}), INVALID_PARAMS)
    with check(f"{name}: resources, templates and prompts are listed where they are declared"):
        if client.server_capabilities.resources is not None:
            await all_pages(client.list_resources, "resources")
            await all_pages(client.list_resource_templates, "resource_templates")
        if client.server_capabilities.prompts is not None:
            await all_pages(client.list_prompts, "prompts")
    with check(f"{name}: {CALLS} calls at once on one connection each get their own answer"):
        await many_calls(client, "server_echo", "one")


async def many_calls(client, tool, label):
    """Sends `CALLS` calls at once; each text is different, so an answer that went astray shows."""
    strays = []

    async def one(number):
        text = f"{label}-{number}"
        result = await client.call_tool(tool, {"text": text})
        if result.is_error or text_of(result) != text:
            strays.append((text, result.content))

    async with anyio.create_task_group() as group:
        for number in range(CALLS):
            group.start_soon(one, number)
    expect(not strays, f"{len(strays)} answers went astray, the first: {strays[:1]}")


async def drive_fixtures(client, name, asked):
    """What the product's own tools do not show yet: progress, cancellation, resources, prompts, questions."""
    modern = client.protocol_version == MODERN
    with check(f"{name}: a tool without arguments answers"):
        expect(text_of(await client.call_tool("test_simple_text", {})), "empty text")
    with check(f"{name}: the caller is known"):
        result = await client.call_tool("probe_whoami", {})
        expect(not result.is_error, f"an error result: {result.content}")
    with check(f"{name}: progress arrives before the answer, and rises"):
        seen = []

        async def note(progress, total, message):
            seen.append(progress)

        result = await client.call_tool("test_tool_with_progress", {}, progress_callback=note)
        expect(not result.is_error, f"an error result: {result.content}")
        expect(len(seen) >= 2, f"progress seen: {seen}")
        equal(seen, sorted(set(seen)), "progress")
    with check(f"{name}: a call is cancelled, and the connection serves on"):
        begun = time.monotonic()
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("probe_sleep", {"ms": 25_000})
        expect(scope.cancelled_caught, "the call was answered before it was cancelled")
        equal(text_of(await client.call_tool("probe_echo", {"text": "after"})), "after", "text")
        expect(time.monotonic() - begun < 10, "the next call waited for the cancelled one")
    with check(f"{name}: resources are listed and read, by template too"):
        resources = await all_pages(client.list_resources, "resources")
        expect("test://static-text" in {str(resource.uri) for resource in resources}, f"missing from {resources}")
        templates = await all_pages(client.list_resource_templates, "resource_templates")
        uris = {template.uri_template for template in templates}
        expect("test://template/{id}/data" in uris, f"missing from {uris}")
        read = await client.read_resource("test://static-text")
        expect(read.contents and read.contents[0].text, "empty")
        read = await client.read_resource("test://template/123/data")
        expect("123" in read.contents[0].text, f"the id is not in {read.contents}")
    with check(f"{name}: prompts are listed and filled in"):
        prompts = {prompt.name for prompt in await all_pages(client.list_prompts, "prompts")}
        expect("test_prompt_with_arguments" in prompts, f"missing from {prompts}")
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "hello", "arg2": "world"})
        text = "".join(message.content.text for message in prompt.messages)
        expect("hello" in text and "world" in text, f"the arguments are not in {text!r}")
    with check(f"{name}: a tool asks the person, and goes on with the answer"):
        asked.clear()
        if modern:
            result = await client.call_tool("test_input_required_result_elicitation", {})
        else:
            result = await client.call_tool("test_elicitation", {"message": "who are you?"})
        equal(len(asked), 1, "number of questions")
        expect(not result.is_error, f"an error result: {result.content}")


def answering(asked):
    """Answers a question with the word "Ada" for each text it wants."""

    async def answer(context, params):
        asked.append(params)
        fields = params.requested_schema.get("properties", {})
        content = {key: "Ada" if schema.get("type") == "string" else 1 for key, schema in fields.items()}
        return types.ElicitResult(action="accept", content=content)

    return answer


async def in_each_era(target, name, drive, **options):
    for mode, version in ERAS.items():
        label = f"{name} {mode}"
        with checks.check(f"{label}: the client opens and closes"):
            async with connected(target, mode, **options) as client:
                await opens(client, label, version)
                await drive(client, label)


async def two_clients(url, mode, name):
    """Two clients count their request ids alike, so answers could be mistaken for one another's."""
    with check(f"{name}: 2 clients with equal request ids and {CALLS} calls each: no answer crosses"):
        async with connected(url, mode) as first, connected(url, mode) as second:
            async with anyio.create_task_group() as group:
                group.start_soon(many_calls, first, "probe_echo", "first")
                group.start_soon(many_calls, second, "probe_echo", "second")
                group.start_soon(first.call_tool, "probe_sleep", {"ms": 50})
                group.start_soon(second.call_tool, "probe_sleep", {"ms": 50})


def initialize(id):
    params = {
        "protocolVersion": LATEST_LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id, tool, arguments, **params):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, **params}}


@contextlib.contextmanager
def raw(command):
    with scratch() as cwd:
        process = RawStdio(command, cwd)
        try:
            yield process
        finally:
            process.kill()


def drive_raw(command):
    """The product on stdio without an SDK: only protocol on stdout, and an end when the input ends."""
    with checks.check("raw stdio: end of input ends the server, with status 0"), raw(command) as server:
        server.send(initialize(1))
        equal(server.answer(1)["result"]["protocolVersion"], LATEST_LEGACY, "version")
        server.send(INITIALIZED)
        server.send(call(2, "server_echo", {"text": "hi"}))
        equal(server.answer(2)["result"]["structuredContent"], {"text": "hi"}, "structured value")
        server.close_input()
        equal(server.wait_exit(10), 0, "exit status")
        server.rest(5)
    with checks.check("raw stdio: requests sent just before the end of input are answered"), raw(command) as server:
        server.send(initialize(1))
        server.answer(1)
        server.send(INITIALIZED)
        for id in range(2, 22):
            server.send(call(id, "server_echo", {"text": str(id)}))
        server.close_input()
        answers = {message["id"]: message["result"]["structuredContent"]["text"] for message in server.rest(10)}
        equal(answers, {id: str(id) for id in range(2, 22)}, "answers")
        equal(server.wait_exit(10), 0, "exit status")
    with checks.check("raw stdio: the current era needs no handshake"), raw(command) as server:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        server.send({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": meta}})
        expect(MODERN in server.answer("d")["result"]["supportedVersions"], "the version is not offered")
        server.send(call("c", "server_echo", {"text": "hi"}, _meta=meta))
        equal(server.answer("c")["result"]["resultType"], "complete", "resultType")
        server.close_input()
        equal(server.wait_exit(10), 0, "exit status")
    with checks.check("raw stdio: half a line, then the end of input"), raw(command) as server:
        server.send(initialize(1))
        server.answer(1)
        server.write('{"jsonrpc":"2.0","id":2,"method":"tools/')
        server.close_input()
        server.wait_exit(10)
        server.rest(5)
    with checks.check("raw stdio: a line that is not JSON is answered, and the next is served"), raw(command) as server:
        server.send(initialize(1))
        server.answer(1)
        server.send(INITIALIZED)
        server.write("this is not JSON\n")
        server.send(call(2, "server_echo", {"text": "hi"}))
        equal(server.answer(2)["result"]["structuredContent"], {"text": "hi"}, "structured value")
        errors = [message["error"]["code"] for message in server.seen if "error" in message]
        equal(errors, [-32700], "errors")


def drive_raw_fixtures(command):
    with checks.check("raw stdio: a cancelled call stops, is never answered, and holds nothing up"), raw(command) as server:
        server.send(initialize(1))
        server.answer(1)
        server.send(INITIALIZED)
        server.send(call(2, "probe_sleep", {"ms": 60_000}, _meta={"progressToken": "p"}))
        time.sleep(0.3)
        cancelled = {"requestId": 2, "reason": "no longer needed"}
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        server.send(call(3, "probe_echo", {"text": "hi"}))
        equal(server.answer(3)["result"]["structuredContent"], {"text": "hi"}, "structured value")
        expect(all(message.get("id") != 2 for message in server.rest(1)), "the cancelled call was answered")
        server.close_input()
        equal(server.wait_exit(5), 0, "exit status")
        server.rest(5)
        expect(all(message.get("id") != 2 for message in server.seen), "the cancelled call was answered")


def places(home):
    """Options for a workspace and, apart from it, the server's own files."""
    workspace = os.path.join(home, "workspace")
    os.mkdir(workspace)
    return ["--data-dir", os.path.join(home, "data"), "--workspace", workspace]


async def drive_all(mainstay, fixtures):
    with anyio.fail_after(RUN_LIMIT):
        with scratch() as home:
            stdio = [mainstay, "stdio", *places(home)]
            await in_each_era(stdio, "stdio", drive_product)
            drive_raw(stdio)
        with scratch() as home:
            serve = [mainstay, "serve", "--listen", "127.0.0.1:0", *places(home)]
            with serving(functools.partial(HttpServer, serve, home), checks, "http") as server:
                await in_each_era(f"{server.url}/mcp", "http", drive_product)
        if fixtures:
            await drive_all_fixtures(fixtures)


async def drive_all_fixtures(fixtures):
    asked = []
    drive = functools.partial(drive_fixtures, asked=asked)
    options = {"elicitation_callback": answering(asked)}
    with scratch() as home:
        stdio = [fixtures, "stdio", *places(home)]
        await in_each_era(stdio, "fixtures stdio", drive, **options)
        drive_raw_fixtures(stdio)
    with scratch() as home:
        url = f"http://127.0.0.1:{free_port()}"
        serve = [fixtures, "--listen", url.removeprefix("http://"), *places(home)]
        with serving(functools.partial(HttpServer, serve, home, url), checks, "fixtures http") as server:
            await in_each_era(f"{server.url}/mcp", "fixtures http", drive, **options)
            for mode in ERAS:
                await two_clients(f"{server.url}/mcp", mode, f"fixtures http {mode}")


def main():
    parser = argparse.ArgumentParser(description="Drives the binaries with the official Python SDK.")
    parser.add_argument("--mainstay", required=True, type=os.path.abspath, help="the product")
    parser.add_argument("--fixtures", type=os.path.abspath, help="the test-only binary")
    arguments = parser.parse_args()
    exit_on_terminate()
    with checks.check("the whole run ends in time"):
        anyio.run(drive_all, arguments.mainstay, arguments.fixtures)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
