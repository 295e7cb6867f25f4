"""Drives the real binary with the MCP Inspector's command line, over HTTP and stdio, in each era it offers.

    python inspector.py --mainstay PATH --node PATH --inspector SCRIPT

The last line is `N passed, N failed`.
"""

import argparse
import functools
import json
import os
import subprocess
import sys

from harness import Checks, HttpServer, environment, equal, exit_on_terminate, expect, scratch, serving

ERAS = ("legacy", "auto", "modern")
LIMIT = 60.0

checks = Checks()


class Inspector:
    """The Inspector pointed at one server in one era."""

    def __init__(self, node, script, home, target, era):
        self.command = [node, script, "--cli", "--quiet", "--protocol-era", era]
        self.target = target
        self.home = home

    def run(self, *options):
        """Exit status, output and errors of one invocation."""
        done = subprocess.run(
            [*self.command, *options, *self.target],
            cwd=self.home,
            # It keeps a catalogue of servers and stored logins in the home directory: not in the user's own, here.
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        return done.returncode, done.stdout, done.stderr

    def result(self, *options):
        """The result that one invocation prints; a failure if it prints none."""
        status, output, errors = self.run(*options)
        expect(status == 0, f"exit status {status}: {errors.strip()[-500:] or output.strip()[-500:]}")
        return json.loads(output)


def drive(inspector, name):
    with checks.check(f"{name}: tools/list has server_echo"):
        names = [tool["name"] for tool in inspector.result("--method", "tools/list")["tools"]]
        expect("server_echo" in names, f"missing from {names}")
    with checks.check(f"{name}: tools/call server_echo text=hi gives hi"):
        result = inspector.result("--method", "tools/call", "--tool-name", "server_echo", "--tool-arg", "text=hi")
        equal(result.get("structuredContent"), {"text": "hi"}, "structured value")
        expect("hi" in result["content"][0]["text"], f"not in {result['content']}")
        expect(not result.get("isError"), "an error result")
    with checks.check(f"{name}: a wrong argument is an error result"):
        options = ("--method", "tools/call", "--tool-name", "server_echo", "--tool-args-json", '{"text":7}')
        status, output, errors = inspector.run(*options)
        expect(status != 0 or json.loads(output).get("isError"), f"accepted: {output}{errors}")
    with checks.check(f"{name}: an unknown tool is an error"):
        status, output, _ = inspector.run("--method", "tools/call", "--tool-name", "no_such_tool")
        expect(status != 0, f"accepted: {output}")


def drive_schemas(inspector, name):
    """The Inspector knows which schemas some models cannot use."""
    with checks.check(f"{name}: every tool's schema is portable"):
        status, _, errors = inspector.run("--method", "tools/list", "--strict")
        equal(status, 0, f"exit status ({errors.strip()[-800:]})")


def drive_all(arguments):
    make = functools.partial(Inspector, arguments.node, arguments.inspector)
    with scratch() as home:
        workspace = os.path.join(home, "workspace")
        os.mkdir(workspace)
        places = ["--data-dir", os.path.join(home, "data"), "--workspace", workspace]
        serve = [arguments.mainstay, "serve", "--listen", "127.0.0.1:0", *places]
        with serving(functools.partial(HttpServer, serve, home), checks, "http") as server:
            target = ["--transport", "http", "--server-url", f"{server.url}/mcp"]
            for era in ERAS:
                drive(make(home, target, era), f"http {era}")
            drive_schemas(make(home, target, "legacy"), "http legacy")
        target = ["--transport", "stdio", "--", arguments.mainstay, "stdio", *places]
        for era in ERAS:
            drive(make(home, target, era), f"stdio {era}")


def main():
    parser = argparse.ArgumentParser(description="Drives the binary with the MCP Inspector's command line.")
    parser.add_argument("--mainstay", required=True, type=os.path.abspath, help="the product")
    parser.add_argument("--node", required=True, type=os.path.abspath, help="Node 22.19 or newer")
    parser.add_argument("--inspector", required=True, type=os.path.abspath, help="the Inspector's start script")
    arguments = parser.parse_args()
    exit_on_terminate()
    with checks.check("the whole run ends"):
        drive_all(arguments)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
