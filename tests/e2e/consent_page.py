"""Drives the consent page in headless Chromium: what a person clicks is what the next call meets.

    python consent_page.py --mainstay PATH --browser PATH

The last line is `N passed, N failed`.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

from harness import Checks, HttpServer, environment, equal, exit_on_terminate, expect, scratch, serving

LIMIT = 30.0
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

checks = Checks()


def post(address, content, token=None):
    """HTTP status and body of one request."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(address, json.dumps(content).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def call(url, name, arguments, token=None):
    """One call in the dialect."""
    params = {"name": name, "arguments": arguments}
    return post(f"{url}/jsonrpc", {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}, token)


def log_something(url):
    status, answer = call(url, "log_activity", {"agent": "a", "activity": "work", "category": "task"})
    equal(status, 200, f"status of {answer}")


def asked(url, token=None):
    """Asks for what needs consent; where the page is."""
    status, answer = call(url, "delete_all_data", {}, token)
    equal((status, answer["error"]["code"]), (403, -32003), "status and code")
    return url + answer["error"]["data"]["consent_url"]


class Page:
    """The page in a browser, and what the browser complained about."""

    def __init__(self, browser, address):
        self.page = browser.new_page()
        self.complaints = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)

    def text(self):
        return self.page.inner_text("body")

    def click(self, name):
        self.page.get_by_role("button", name=name).click()
        self.page.wait_for_load_state()
        return self.text()


def approve(browser, url):
    with checks.check("the page says what will happen and who asks"):
        log_something(url)
        page = Page(browser, asked(url))
        text = page.text()
        expect("delete_all_data" in text and "local" in text, f"the page says: {text!r}")
        expect("Would delete 2 rows" in text and "Decide within" in text, f"the page says: {text!r}")
    with checks.check("Approve is recorded, and the page says so"):
        text = page.click("Approve").lower()
        expect("approved" in text, f"the page says: {text!r}")
        equal(page.page.get_by_role("button", name="Approve").count(), 0, "buttons left")
    with checks.check("the browser found nothing to complain about"):
        equal(page.complaints, [], "complaints")
    with checks.check("the call then succeeds once"):
        status, answer = call(url, "delete_all_data", {})
        equal(status, 200, f"status of {answer}")
        equal(answer["result"]["success"], True, "success")
    with checks.check("and only once"):
        status, answer = call(url, "delete_all_data", {})
        equal((status, answer["error"]["code"]), (403, -32003), "status and code")


def deny(browser, url):
    with checks.check("Deny is recorded, and the call is refused"):
        page = Page(browser, asked(url))
        text = page.click("Deny").lower()
        expect("denied" in text, f"the page says: {text!r}")
        status, answer = call(url, "delete_all_data", {})
        equal((status, answer["error"]["code"]), (403, -32004), "status and code")


def unknown(browser, url):
    with checks.check("an id that nobody gave out is not found"):
        page = browser.new_page()
        answer = page.goto(f"{url}/api/mcp/consent/00000000000000000000000000000000")
        equal(answer.status, 404, "status")


class Client:
    """A client of a server that issues its own tokens."""

    def __init__(self, program, home, scope):
        command = [program, "client", "add", "x", "--scope", scope, "--json", "--data-dir", os.path.join(home, "data")]
        made = json.loads(subprocess.check_output(command, env=environment(home), timeout=LIMIT))
        self.id, self.secret = made["client_id"], made["client_secret"]

    def token(self, url, scope):
        proof = {"grant_type": "client_credentials", "client_id": self.id, "client_secret": self.secret}
        status, answer = post(f"{url}/oauth/token", proof | {"scope": scope})
        equal(status, 200, f"status of {answer}")
        return answer["access_token"]


def signed_in(browser, url, agent, person):
    token = agent.token(url, "admin")
    page = Page(browser, asked(url, token))
    with checks.check("with tokens on, the page asks for one and shows nothing"):
        text = page.text()
        expect("Access token" in text and "delete_all_data" not in text, f"the page says: {text!r}")
    with checks.check("a wrong token is told to be wrong"):
        page.page.fill("#token", "wrong")
        page.page.press("#token", "Enter")
        page.page.get_by_text("is not valid").wait_for()
    with checks.check("a token signs in, and approves"):
        page.page.fill("#token", person.token(url, "consent"))
        text = page.click("Sign in with token")
        expect("delete_all_data" in text and person.id in text, f"the page says: {text!r}")
        text = page.click("Approve")
        expect("Approved by" in text and person.id in text, f"the page says: {text!r}")
        equal(call(url, "delete_all_data", {}, token)[0], 200, "status of the call")
    with checks.check("whoever signed in decides again, until they sign out"):
        page.page.goto(asked(url, token))
        page.page.get_by_role("button", name="Deny").wait_for()
        text = page.click("Sign out")
        expect("Access token" in text, f"the page says: {text!r}")
    with checks.check("a client signs in with its secret, and denies"):
        page.page.fill("#client_id", person.id)
        page.page.fill("#client_secret", person.secret)
        page.page.press("#client_secret", "Enter")
        page.page.get_by_role("button", name="Deny").wait_for()
        text = page.click("Deny")
        expect("Denied by" in text and person.id in text, f"the page says: {text!r}")
        equal(call(url, "delete_all_data", {}, token)[0], 403, "status of the call")
    with checks.check("the browser complained of the refusals alone"):
        equal([text for text in page.complaints if "401" not in text], [], "complaints")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mainstay", required=True)
    parser.add_argument("--browser", required=True)
    options = parser.parse_args()
    exit_on_terminate()
    with scratch() as home, sync_playwright() as playwright:
        workspace = os.path.join(home, "workspace")
        os.mkdir(workspace)
        command = [options.mainstay, "serve", "--listen", "127.0.0.1:0", "--workspace", workspace]
        command += ["--data-dir", os.path.join(home, "data")]
        browser = playwright.chromium.launch(executable_path=options.browser, args=FLAGS)
        with serving(functools.partial(HttpServer, command, home), checks, "consent page") as server:
            for part in (approve, deny, unknown):
                part(browser, server.url)
        with scratch() as home:
            config = os.path.join(home, "config.toml")
            with open(config, "w", encoding="utf-8") as file:
                file.write('[server.auth]\nmode = "local"\n')
            command = [options.mainstay, "serve", "--listen", "127.0.0.1:0", "--workspace", workspace]
            command += ["--data-dir", os.path.join(home, "data"), "--config", config]
            with serving(functools.partial(HttpServer, command, home), checks, "sign-in") as server:
                agent, person = (Client(options.mainstay, home, scope) for scope in ("admin", "consent"))
                signed_in(browser, server.url, agent, person)
        browser.close()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
