"""Checks the server against its own OpenAPI document with Schemathesis: requests made from the document, valid and
invalid ones, whose responses have to be as it says.

    python rest_api.py --mainstay PATH

What is not checked is in `schemathesis.toml`, each with the reason. The last line is `N passed, N failed`.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import urllib.request

from harness import Checks, HttpServer, environment, equal, exit_on_terminate, scratch, serving

LIMIT = 480.0
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemathesis.toml")

# The quota of contract 001 would answer most requests with 429.
SETTINGS = """
[server.auth]
mode = "local"
[engine.rate.per_dialect.agents]
calls = 1000000
"""

checks = Checks()


def add_client(mainstay, cwd):
    """A client that may read, write and decide; its id and secret."""
    command = [mainstay, "client", "add", "Tests", "--scope", "read write consent", "--json", "--config", "config.toml"]
    out = subprocess.run(
        [str(word) for word in command] + ["--data-dir", "data", "--workspace", "workspace"],
        cwd=cwd, env=environment(cwd), check=True, capture_output=True, timeout=LIMIT,
    )
    return json.loads(out.stdout)


def token(url, client):
    """An access token for the client."""
    asked = client | {"grant_type": "client_credentials", "scope": "read write consent"}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/oauth/token", json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)["access_token"]


def schemathesis(url, bearer, cwd):
    """Runs Schemathesis; its exit status and what it printed."""
    # The same requests each time: a failure is of the change that caused it.
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run", f"{url}/openapi.json",
        "--header", f"Authorization: Bearer {bearer}", "--seed", "1", "--max-examples", "25", "--no-color",
    ]
    ran = subprocess.run(command, cwd=cwd, env=environment(cwd), capture_output=True, text=True, timeout=LIMIT)
    return ran.returncode, ran.stdout + ran.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mainstay", required=True)
    mainstay = os.path.abspath(parser.parse_args().mainstay)
    exit_on_terminate()
    with scratch() as cwd:
        for name in ("data", "workspace"):
            os.mkdir(os.path.join(cwd, name))
        with open(os.path.join(cwd, "config.toml"), "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        client = add_client(mainstay, cwd)
        command = [mainstay, "serve", "--listen", "127.0.0.1:0", "--config", "config.toml"]
        command += ["--data-dir", "data", "--workspace", "workspace", "--log", "warn,mainstay=info"]
        with serving(functools.partial(HttpServer, command, cwd), checks, "server") as server:
            with checks.check("Schemathesis finds nothing that the document does not say"):
                status, printed = schemathesis(server.url, token(server.url, client), cwd)
                print(printed if status else printed[-600:], flush=True)
                equal(status, 0, "exit status of schemathesis")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
