"""scavenger-report's page in real Chromium: it shows the log's numbers, obeys no markup, asks nobody, and opens quickly.

By hand: python3 report_page_test.py BUILD/bin [TestClass.test]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import sample_logs
from browser import browser, column, numbers

programs = pathlib.Path(".")
MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>&\"'`{}<!--"


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_page_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def report(self, *runs, output=None):
        """Makes the page of these runs, and returns its file."""
        output = output or self.folder / "page.html"
        done = subprocess.run([programs / "scavenger-report", *runs, "--output", output], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return output

    def events(self, run, name):
        return [event for event in map(json.loads, (run / "events.jsonl").read_text().splitlines()) if event["event"] == name]

    def assert_near(self, seen, expected):
        self.assertEqual(len(seen), len(expected))
        for one, other in zip(seen, expected):
            self.assertAlmostEqual(one, other, delta=abs(other) * 1e-5 + 1e-3 * (abs(other) > 100))

    def assert_quiet(self, page_browser, files):
        self.assertEqual(page_browser.errors, [])
        self.assertEqual(page_browser.requests, [file.as_uri() for file in files])


class OneRun(ReportTest):
    def test_every_chart_has_the_data_of_the_log(self):
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        file = self.report(run)
        with browser() as chromium:
            page = chromium.open(file.as_uri())
            memberships = self.events(run, "membership")
            evaluations = [event for event in self.events(run, "evaluation")]
            iterations = self.events(run, "iterations")
            # More iterations than a curve has points: means of neighbours, and the extremes of all.
            losses = [loss for event in iterations for loss in event["loss"]]
            each = -(-len(losses) // len(column(page, "loss", "loss")))
            self.assert_near(column(page, "loss", "loss")[:3], [sum(losses[i * each:(i + 1) * each]) / each for i in range(3)])
            self.assert_near([min(column(page, "loss", "least")), max(column(page, "loss", "most"))], [min(losses), max(losses)])
            seconds = [value for event in iterations for value in event["seconds"]]
            self.assert_near([min(column(page, "timers", "least")), max(column(page, "timers", "most"))], [min(seconds), max(seconds)])
            first = iterations[0]
            each = -(-len(seconds) // len(column(page, "timers", "forward")))
            forward = [sum(worker["forward"][i] for worker in first["workers"]) / len(first["workers"]) for i in range(each)]
            self.assert_near(column(page, "timers", "forward")[:1], [sum(forward) / each])
            self.assert_near(column(page, "workers-k", "workers"), [event["workers"] for event in memberships])
            self.assert_near(column(page, "batch", "samples"), [event["batch_size"] for event in memberships])
            self.assert_near(column(page, "shares", "worker 0"), [event["shares"][0] for event in memberships])
            columns, rows = numbers(page, "metric-accuracy")
            shown = sorted((row[1], int(row[2]), float(row[5])) for row in rows)
            self.assertEqual(shown, sorted((event["split"], event["iteration"], float(f'{event["accuracy"]:.6g}')) for event in evaluations))
            checkpoints = self.events(run, "checkpoint")
            self.assert_near(column(page, "checkpoints", "stood still"), [event["stall_seconds"] for event in checkpoints])
            prediction = self.events(run, "prediction")[-1]
            self.assert_near(column(page, "cost-time", "cost"), [one["cost"] for one in prediction["candidates"]])
            self.assert_near(column(page, "foresight", "predicted seconds"), [one["seconds"] for event in self.events(run, "prediction") for one in event["candidates"]
                                                                             if (one["workers"], one["batch_size"]) == (event["workers"], event["batch_size"])])
            self.assertEqual(len(numbers(page, "machines")[1]), 5)
            # What it cost, machine by machine and second by second, where it was asked, and what it would have cost.
            end = self.events(run, "end")[0]["time"]
            lives = {event["name"]: [event["time"], end] for event in self.events(run, "machine") if event["change"] == "ready"}
            lives["vm1"][1] = next(event["time"] for event in self.events(run, "machine") if event["change"] == "lost")
            seconds = [max(60, to - from_) for from_, to in lives.values()]
            self.assert_near(column(page, "machines", "dollars"), [one * 0.0567 / 3600 for one in seconds])
            self.assert_near(column(page, "machines", "dollars on demand"), [one * 0.1942 / 3600 for one in seconds])
            self.assert_near(column(page, "cost", "dollars")[-1:], [sum(seconds) * 0.0567 / 3600])
            self.assertEqual(page.locator("#places tbody tr td").all_inner_texts()[:5], ["us-central1-a", "n2-standard-4", "5", "0", "1"])
            self.assertIn(f"${sum(seconds) * 0.1942 / 3600:.4f} on demand", page.inner_text("#savings"))
            slowest = max(prediction["candidates"], key=lambda one: one["seconds"])
            own = self.events(run, "target_reached")[0]["time"]
            row = next(row for row in page.locator("#savings tbody tr").all() if "the slowest" in row.inner_text()).inner_text()
            self.assertIn(f'K {slowest["workers"]}', row)
            less = 1 - own / slowest["seconds"]
            self.assertIn(f'{float(f"{abs(less) * 100:.2g}"):g} % {"less" if less > 0 else "more"}', row)
            self.assertRegex(row, r"% (less|more) \([\d.]+ % (less|more) to [\d.]+ % (less|more)\)")
            self.assertEqual([row[0] for row in numbers(page, "processes")[1]].count("worker 1"), 2)
            self.assertEqual(len(numbers(page, "measured")[1]), 5)  # one of them with even and with unequal shares
            self.assert_near(column(page, "workers", "worker"), [0, 2, 3, 0, 1, 2, 3])  # of the last two memberships
            self.assertNotIn("undefined", page.inner_text("main"))
            self.assertNotIn("NaN", page.inner_text("main"))
            self.assertNotRegex(page.content(), r'="[^"]*(NaN|undefined)')
            self.assertGreater(len(column(page, "noise", "B_s")), 50)
            for event in [*memberships, *self.events(run, "search_step")]:
                self.assertIn(event["reason"], page.inner_text("#section-decisions"))
            self.assertIn("killed by signal 9", page.inner_text("#notes"))
            self.assertIn("worker 1", page.inner_text("#recoveries"))
            self.assertEqual(page.evaluate("Format.interval(1280, null, Format.count)"), "1,280 or more")
            self.assert_quiet(chromium, [file])

    def test_a_chart_is_read_by_mouse_keyboard_and_legend(self):
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        with browser() as chromium:
            page = chromium.open(self.report(run).as_uri())
            drawing = page.locator("#metric-accuracy svg")
            drawing.scroll_into_view_if_needed()
            drawing.focus()
            page.keyboard.press("Home")
            first = self.events(run, "evaluation")[0]
            self.assertIn(f'{first["accuracy"] * 100:.2f} %', page.inner_text("#metric-accuracy .tip"))
            self.assertIn(f'{first["accuracy"] * 100:.2f} %', page.locator("#metric-accuracy [role=status]").text_content())
            page.keyboard.press("End")
            self.assertIn(f'{self.events(run, "evaluation")[-1]["accuracy"] * 100:.2f} %', page.inner_text("#metric-accuracy .tip"))
            page.keyboard.press("Escape")
            self.assertFalse(page.locator("#metric-accuracy .tip").is_visible())
            drawing.hover(position={"x": 300, "y": 100})
            self.assertTrue(page.locator("#metric-accuracy .tip").is_visible())
            shapes = page.locator("#metric-accuracy g.series").count()
            page.locator("#metric-accuracy .key", has_text="train").click()
            self.assertEqual(page.locator("#metric-accuracy g.series").count(), shapes - 1)
            page.locator(".segments button", has_text="epochs").click()
            self.assertIn("epochs", page.locator("#loss svg").text_content())
            self.assertEqual(chromium.errors, [])

    def test_neighbours_on_an_axis_have_different_labels(self):
        """Whatever is the same about their values."""
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        log = run / "events.jsonl"
        events = [json.loads(line) for line in log.read_text().splitlines()]
        events[0]["target"]["value"] = 0.9985  # which the axis has, too
        measured = [event for event in events if event["event"] == "evaluation"]
        for i, event in enumerate(measured):
            event["accuracy"] = 0.9975 + 0.001 * i / len(measured)
        log.write_text("".join(json.dumps(event) + "\n" for event in events))
        with browser() as chromium:
            page = chromium.open(self.report(run).as_uri())
            drawn = page.locator("#metric-accuracy .axis text").all_text_contents()
            labels = [text for text in drawn if text.endswith(" %")]
            self.assertGreater(len(labels), 2)
            self.assertEqual(sorted(set(labels)), sorted(labels))
            for values, form, expected in [([0.998, 0.99825, 0.9985], "Format.percent", ["99.8 %", "99.83 %", "99.85 %"]),
                                           ([0.9982, 0.99822], "Format.percent", ["99.82 %", "99.822 %"]),
                                           ([1000000, 1000020], "Format.number", ["1,000,000", "1,000,020"]),
                                           ([1.0011, 1.0012], "Format.brief", ["1.0011 s", "1.0012 s"]),
                                           ([0, 0.5], "Format.percent", ["0 %", "50 %"]),
                                           ([1, 1], "Format.count", ["1", "1"])]:
                self.assertEqual(page.evaluate(f"(values) => tickLabels(values, {form})", values), expected)
            self.assertEqual(chromium.errors, [])

    def test_nothing_is_drawn_from_a_stop_to_the_resume(self):
        run = self.folder / "run"
        sample_logs.resumed_job(run)
        stop = self.events(run, "start")[1]["time"]
        with browser() as chromium:
            page = chromium.open(self.report(run).as_uri())

            def pieces(chart, shape="line"):
                return page.locator(f"#{chart} path.{shape}").first.get_attribute("d").count("M")

            def gap(chart):
                """How many pixels there are between the pieces of its line."""
                before, after = page.locator(f"#{chart} path.line").first.get_attribute("d").split("M")[1:]
                return float(after.split(",")[0]) - float(before.split("L")[-1].split(",")[0])

            for chart in ("loss", "metric-loss", "metric-accuracy", "timers", "pace", "noise", "workers-k", "batch", "shares"):
                self.assertEqual(pieces(chart), 2, chart)
            self.assertEqual(pieces("timers", "fill"), 2)
            self.assertEqual(pieces("noise", "band"), 2)
            for chart in ("loss", "timers", "pace"):
                self.assertGreater(gap(chart), 100, chart)  # 60 s of less than two minutes
            stops = page.evaluate("([from, to]) => Page.figures.get('loss').places().filter((x) => x > from && x < to).length", [stop, stop + 60])
            self.assertEqual(stops, 0)  # the cursor does not stand where nothing is
            self.assertIn("resumed from iteration 300", [title.text_content() for title in page.locator("#loss .mark title").all()])
            page.locator(".segments button", has_text="iterations").click()
            for chart in ("loss", "metric-loss", "timers", "pace", "noise", "workers-k"):
                self.assertEqual(pieces(chart), 1, chart)
            self.assertEqual(chromium.errors, [])

    def test_a_run_that_only_began_has_a_page(self):
        run = self.folder / "run"
        sample_logs.Job(run).log.close()
        file = self.report(run)
        with browser() as chromium:
            page = chromium.open(file.as_uri())
            self.assertEqual(page.inner_text("h1"), "fashion_cnn")
            self.assertEqual(page.inner_text(".badge"), "running")
            self.assert_quiet(chromium, [file])

    def test_markup_in_every_text_stays_text(self):
        run = self.folder / "run"
        sample_logs.eventful_job(run, text=lambda text: MARKUP + text)
        file = self.report(run)
        with browser() as chromium:
            page = chromium.open(file.as_uri())
            for details in page.locator("details").all():
                details.locator("summary").click()
            for drawing in page.locator("figure svg").all():
                drawing.focus()
                page.keyboard.press("End")
            self.assertEqual(page.inner_text("h1"), MARKUP + "fashion_cnn")
            self.assertEqual(page.locator("img").count(), 0)
            self.assertEqual(page.locator("script").count(), 2)
            self.assert_quiet(chromium, [file])

    def test_it_fits_narrow_screens_and_has_names_for_all(self):
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        file = self.report(run)
        with browser() as chromium:
            for width in (360, 800, 1600):
                page = chromium.open(file.as_uri(), width=width)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
            unnamed = page.evaluate("""[...document.querySelectorAll('button, a, figure svg')].filter((one) =>
                !(one.textContent.trim() || document.getElementById(one.getAttribute('aria-labelledby'))?.textContent)).length""")
            self.assertEqual(unnamed, 0)
            self.assertEqual(page.evaluate("[...document.querySelectorAll('[id]')].length - new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size"), 0)

    def test_readers_of_screens_and_keyboards_find_all(self):
        try:
            from axe_playwright_python.sync_playwright import Axe
        except ImportError:
            self.skipTest("the Python package axe-playwright-python is not here")
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        file = self.report(run)
        with browser() as chromium:
            for dark in (False, True):
                page = chromium.open(file.as_uri(), dark=dark)
                for details in page.locator("details").all():
                    details.locator("summary").click()
                # Further rows of a table are like these, and there are thousands, which take axe-core a minute.
                page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 9)').forEach((row) => row.remove())")
                found = Axe().run(page).response["violations"]
                told = [f"{rule['id']}: {rule['help']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"][:3]]
                self.assertEqual(told, [], "\n".join(told))
            # All that can be used is reached by Tab, and shows that it is.
            usable = page.locator("a, button:visible, summary, figure svg").count()
            reached = set()
            for _ in range(usable + 20):
                page.keyboard.press("Tab")
                seen = page.evaluate("""() => { const one = document.activeElement; if (one === document.body) return null;
                    const style = getComputedStyle(one); window.all ??= []; if (!window.all.includes(one)) window.all.push(one);
                    return [window.all.indexOf(one), style.outlineStyle]; }""")
                if seen:
                    reached.add(seen[0])
                    self.assertNotEqual(seen[1], "none")
            self.assertGreaterEqual(len(reached), usable)

    def test_its_print_is_light_and_whole(self):
        try:
            import numpy
            import pypdfium2
        except ImportError as missing:
            self.skipTest(f"a Python package is not here: {missing}")
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        file = self.report(run)
        with browser() as chromium:
            page = chromium.open(file.as_uri(), dark=True)
            page.locator("#loss details summary").click()  # a table that is open is printed, all of it
            page.locator("#loss table").wait_for()
            page.emulate_media(media="print", color_scheme="dark")
            self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            titles = page.evaluate("[...document.querySelectorAll('figure h3')].map((one) => one.textContent)")
            self.assertGreater(len(titles), 12)
            print_file = self.folder / "page.pdf"
            print_file.write_bytes(page.pdf(format="A4", print_background=False, margin=dict.fromkeys(("top", "right", "bottom", "left"), "12mm")))
            last_loss = numbers(page, "loss")[1][-1]
        document = pypdfium2.PdfDocument(print_file)
        sheets = [(sheet.get_textpage().get_text_bounded(), sheet.render(scale=1.0).to_pil().convert("RGB")) for sheet in document]
        everything = "\n".join(text for text, _ in sheets)
        for title in [*titles, "What it would have cost otherwise", last_loss[0]]:
            self.assertIn(title, everything)
        self.assertNotIn("Numbers\n", everything.split("Training loss")[0])
        for _, picture in sheets:
            # Light, and with a margin all around into which nothing reaches: it would be cut.
            self.assertGreater(numpy.asarray(picture).mean(), 200)
            edge = int(12 / 25.4 * 72) - 4
            width, height = picture.size
            for box in ((0, 0, width, edge), (0, height - edge, width, height), (0, 0, edge, height), (width - edge, 0, width, height)):
                self.assertGreaterEqual(min(low for low, _ in picture.crop(box).getextrema()), 250)
        # Every chart is drawn: its sheet has the colour of its first curve.
        for title, color in (("Training loss", (0x0b, 0x62, 0xa8)), ("Gradient noise scale", (0x9b, 0x3a, 0x85)), ("Lives of machines", (0x17, 0x93, 0xad))):
            picture = next(picture for text, picture in sheets if title in text)
            away = numpy.abs(numpy.asarray(picture).astype(int) - color).max(axis=2)
            self.assertGreater((away < 40).sum(), 30, title)

    def test_ten_hours_open_in_three_seconds_and_lose_no_peak(self):
        run = self.folder / "run"
        sample_logs.long_job(run)
        file = self.report(run)
        self.assertLess(file.stat().st_size, 5 << 20)
        with browser() as chromium:
            begin = time.monotonic()
            page = chromium.open(file.as_uri())
            page.wait_for_selector("#loss path.line", state="attached")
            seconds = time.monotonic() - begin
            print(f"ten hours, a million iterations: {file.stat().st_size / 1e6:.2f} MB, drawn after {seconds:.2f} s")
            self.assertAlmostEqual(max(column(page, "loss", "most")), sample_logs.SPIKE, places=3)
            self.assertAlmostEqual(min(column(page, "loss", "least")), sample_logs.DIP, places=5)
            self.assertAlmostEqual(max(column(page, "timers", "most")), 9.5, places=3)
            self.assertEqual(column(page, "loss", "iteration")[-1], sample_logs.LONG_ITERATIONS)
            self.assert_quiet(chromium, [file])
        self.assertLess(seconds, 30)  # 3 s is the aim, and what an idle machine needs a third of; a busy one may be slow


class SeveralRuns(ReportTest):
    def test_runs_are_side_by_side(self):
        for name, seed in (("a", 1), ("b", 2)):
            sample_logs.eventful_job(self.folder / name, seed=seed, name="job " + name)
        file = self.report(self.folder / "a", self.folder / "b")
        with browser() as chromium:
            page = chromium.open(file.as_uri())
            self.assertEqual(page.locator("#loss path.line").count(), 2)
            self.assertEqual(page.locator("#measures th").count(), 3)
            columns, rows = numbers(page, "loss")
            self.assertEqual({row[0] for row in rows}, {str(self.folder / "a"), str(self.folder / "b")})
            for index in range(2):
                self.assertTrue(page.locator(f"#timers-{index}").is_visible())
            self.assert_quiet(chromium, [file])


class WrongInput(ReportTest):
    def refused(self, *arguments):
        done = subprocess.run([programs / "scavenger-report", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stdout

    def test_a_folder_that_is_no_run_is_named(self):
        self.assertIn("is no run folder", self.refused(self.folder))

    def test_a_damaged_line_is_named(self):
        run = self.folder / "run"
        sample_logs.eventful_job(run)
        lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
        lines[7] = "{}\n"
        (run / "events.jsonl").write_text("".join(lines))
        self.assertIn("events.jsonl:8", self.refused(run))


def main():
    global programs
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(77 if result.wasSuccessful() and len(result.skipped) == result.testsRun else 0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
