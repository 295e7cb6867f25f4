"""Drives the consent page in headless Chromium: what a person clicks is what the next call meets.

    python consent_page.py --mainstay PATH --browser PATH

The last line is `N passed, N failed`.
"""

import argparse
import functools
import json
import os
import sys
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

from harness import Checks, HttpServer, equal, exit_on_terminate, expect, scratch, serving

LIMIT = 30.0
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

checks = Checks()


def rpc(url, method, params):
    """HTTP status and body of one request of the dialect."""
    body = json.dumps({"jsonrpc": "2.0", "id": 8, "method": method, "params": params}).encode()
    request = urllib.request.Request(f"{url}/jsonrpc", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def call(url, name, arguments):
    return rpc(url, "tools/call", {"name": name, "arguments": arguments})


def log_something(url):
    status, answer = call(url, "log_activity", {"agent": "a", "activity": "work", "category": "task"})
    equal(status, 200, f"status of {answer}")


def asked(url):
    """Asks for what needs consent; where the page is."""
    status, answer = call(url, "delete_all_data", {})
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
        browser.close()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
