"""A real Chromium, driven by Playwright: skips the test where one of them is missing (scripts/setup.sh --test installs both)."""

import contextlib
import shutil
import unittest


def find_chromium():
    return next((path for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Browser:
    """Opens pages, and keeps what went wrong in them and which requests left them."""

    def __init__(self, playwright, executable):
        self.chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        self.errors, self.requests = [], []

    def open(self, url, width=1200, height=900, dark=False, wait="section"):
        context = self.chromium.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        page = context.new_page()
        page.on("console", lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.errors.append("dialog: " + dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url)
        if wait:
            page.wait_for_selector(wait, state="attached")
        return page


@contextlib.contextmanager
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise unittest.SkipTest("the Python package playwright is not here")
    executable = find_chromium()
    if executable is None:
        raise unittest.SkipTest("no Chromium is installed")
    with sync_playwright() as playwright:
        one = Browser(playwright, executable)
        try:
            yield one
        finally:
            one.chromium.close()


def numbers(page, chart):
    """The table behind a chart: its columns, and its rows as texts."""
    figure = page.locator(f"#{chart}")
    details = figure.locator("details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    figure.locator("table").wait_for()
    return page.evaluate("""(id) => { const table = document.querySelector(`#${id} table`);
        const texts = (row) => [...row.children].map((cell) => cell.textContent);
        return [texts(table.tHead.rows[0]), [...table.tBodies[0].rows].map(texts)]; }""", chart)


def column(page, chart, name):
    columns, rows = numbers(page, chart)
    return [float(row[columns.index(name)]) for row in rows]
