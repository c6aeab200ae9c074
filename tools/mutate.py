"""Mutation check: spoil one line at a time in a copy of the project and see whether the tests notice.

    python tools/mutate.py              every mutation, on this checkout
    python tools/mutate.py 3 17 42      these alone
    python tools/mutate.py --stages 1   with the tests likeliest to fail alone; 0: with the one named for the line
    python tools/mutate.py --root DIR   on another checkout, an older one for instance, with its own tests

Most mutations were chosen before the suite that they judge was written, spread over all packages. A mutant is killed by
the first test that fails; the tests likeliest to fail run first. One that survives them all means that nothing checks
that line.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIB = "lib/blackboard/"
MUTATIONS = [  # (file, what stands there once, what is put in its place)
    # the core
    (LIB + "units.py", "if abs(value) >= 1e6 else 0", "if abs(value) >= 1e9 else 0"),
    (LIB + "units.py", "places = max(0, digits - 1 - exponent)", "places = max(1, digits - 1 - exponent)"),
    (LIB + "notation.py", "f.base if f.exp > 0 else 1 / f.base", "f.base if f.exp < 0 else 1 / f.base"),
    (LIB + "formula.py", "total.get(name, 0) + exponent * power", "total.get(name, 0) + exponent"),
    (LIB + "compiled.py", '(value or row.low == "nonnegative")', '(value or row.low != "nonnegative")'),
    (LIB + "compiled.py", "part = slice(start, start + rows)", "part = slice(start, start + rows - 1)"),
    (
        LIB + "catalogue/architecture.py",
        "seen * (seen + 1) / 2 + (tokens - seen) * seen",
        "seen * (seen + 1) / 2 + tokens * seen",
    ),
    (
        LIB + "catalogue/architecture.py",
        "window + self.growth(precision) * context",
        "self.growth(precision) * context",
    ),
    (LIB + "catalogue/__init__.py", "return self.chips * self.chip.bandwidth", "return self.chip.bandwidth"),
    (LIB + "catalogue/prices.py", "context_tokens <= step.tokens", "context_tokens < step.tokens"),
    (LIB + "catalogue/prices.py", "p.output * step.output_multiplier", "p.output * step.input_multiplier"),
    (LIB + "page/derivation.py", '"+" if to == 0 else "-"', '"-" if to == 0 else "+"'),
    (
        LIB + "answers.py",
        "key and len(key) > 3 and key in text.lower()",
        "key and len(key) > 3 and key not in text.lower()",
    ),
    (LIB + "problem.py", "out += [(8.0, bits), (1 / 8, bits)]", "out += [(8.0, bits)]"),
    (LIB + "problem.py", "return 2.5 * self.tolerance", "return 0.5 * self.tolerance"),
    (LIB + "page/problem_panel.py", 'if view.problem.kind == "function"', 'if view.problem.kind == "choice"'),
    (LIB + "charts/interactive.py", "if not (title.strip() and alt.strip())", "if not (title.strip() or alt.strip())"),
    (LIB + "charts/controls.py", "machine.flops[precision]", "machine.flops.bf16"),
    (LIB + "page/summary.py", "formula.source == DERIVED", "formula.source != DERIVED"),
    # the lessons of the lecture
    (
        LIB + "lessons/batching/equations.py",
        "hardware_constant.typed * n_total / (n_active * new_token)",
        "hardware_constant.typed * n_active / (n_total * new_token)",
    ),
    (LIB + "lessons/batching/simulation.py", "if ratio >= price_ratio:", "if ratio <= price_ratio:"),
    (LIB + "lessons/batching/transformer.py", "np.sqrt(c.head_width)", "np.sqrt(c.width)"),
    (
        LIB + "lessons/batching/own_machine.py",
        "below = np.flatnonzero(seconds < level)",
        "below = np.flatnonzero(seconds > level)",
    ),
    (
        LIB + "lessons/sparsity/equations.py",
        "* size ** (slope(saturated) / slope(one_expert))",
        "* size ** (slope(one_expert) / slope(saturated))",
    ),
    (
        LIB + "lessons/sparsity/simulation.py",
        "np.argpartition(-keys, top_k - 1, axis=1)",
        "np.argpartition(keys, top_k - 1, axis=1)",
    ),
    (LIB + "lessons/sparsity/numbers.py", '"knee_most": f"{most:.0f}"', '"knee_most": f"{least:.0f}"'),
    (
        LIB + "lessons/racks/equations.py",
        "layers * copies * width * (dispatch_bytes + combine_bytes)",
        "layers * copies * width * dispatch_bytes",
    ),
    (LIB + "lessons/racks/moe.py", "if experts % n == 0]", "if n % 2 == 0]"),
    (LIB + "lessons/racks/simulation.py", "if places < 1 or experts % places:", "if places < 1:"),
    (
        LIB + "lessons/pipelining/equations.py",
        "(stages - 1) / (micro_batches + stages - 1)",
        "(stages - 1) / (micro_batches + stages)",
    ),
    (
        LIB + "lessons/pipelining/timeline.py",
        "sum(box.end - box.start for box in self.rows[device])",
        "sum(box.end for box in self.rows[device])",
    ),
    (
        LIB + "lessons/pipelining/numbers.py",
        "count = math.ceil(3e12 / box)",
        "count = math.floor(3e12 / box)",
    ),
    (
        LIB + "lessons/overtraining/equations.py",
        "rl_each = flop_per_param / decode_efficiency + rl_flop - flop_per_param",
        "rl_each = flop_per_param * decode_efficiency + rl_flop - flop_per_param",
    ),
    (
        LIB + "lessons/overtraining/problems.py",
        "Abs(eq.rising_share - 0.5)",
        "eq.rising_share",
    ),
    (LIB + "lessons/overtraining/simulation.py", "if layer or learn_embedding:", "if layer:"),
    (
        LIB + "lessons/pricing/equations.py",
        "critical_batch.typed / batch + context / balanced_context.typed",
        "critical_batch.typed / batch + 2 * context / balanced_context.typed",
    ),
    (
        LIB + "lessons/pricing/simulation.py",
        "return sum(min(each) for each in choices)",
        "return sum(max(each) for each in choices)",
    ),
    (
        LIB + "lessons/pricing/implied.py",
        'own["rent_USD_per_GPU_per_hour"] / factor("h")',
        'own["rent_USD_per_GPU_per_hour"] * factor("h")',
    ),
    (
        LIB + "lessons/pricing/results.py",
        "cost[line] - alone[line] for line in cost",
        "cost[line] + alone[line] for line in cost",
    ),
    (LIB + "lessons/reversibility/equations.py", "flop_spent * hbm / flops", "flop_spent / hbm / flops"),
    (
        LIB + "lessons/reversibility/network.py",
        "self.macs[self.phase] += a.shape[0] * a.shape[1] * b.shape[1]",
        "self.macs[self.phase] += a.shape[0] * a.shape[1] * b.shape[0]",
    ),
    (LIB + "lessons/reversibility/network.py", "np.arange(len(labels)) % 5 == 0", "np.arange(len(labels)) % 5 == 1"),
    # the lessons on what serving and training add
    (
        LIB + "lessons/speculation/distributions.py",
        "follow(made + token, drafted, chance * refused * more)",
        "follow(made + token, drafted, chance * more)",
    ),
    (LIB + "lessons/speculation/simulation.py", "math.sqrt(spread / len(sample))", "math.sqrt(spread) / len(sample)"),
    (LIB + "lessons/speculation/numbers.py", "significant(places[n - 1], 2)", "significant(places[n - 2], 2)"),
    (LIB + "lessons/paging/allocator.py", "hit = len(found) * self.page_tokens", "hit = len(found)"),
    (
        LIB + "lessons/paging/hybrid.py",
        "if (n == 0) != (b in self.pool.queue)",
        "if (n == 0) == (b in self.pool.queue)",
    ),
    (LIB + "lessons/paging/equations.py", "(page_tokens - new_token) / 2", "page_tokens / 2"),
    (LIB + "lessons/paging/simulation.py", "seen.steps < warm + steps", "seen.steps < steps"),
    (LIB + "lessons/overheads/kernels.py", "flop, 2 * past, after=kept", "flop, past, after=kept"),
    (LIB + "lessons/overheads/simulation.py", "if n >= ahead else free", "if n > ahead else free"),
    (
        LIB + "lessons/corpus/equations.py",
        "worth(pool_tokens) / worth(kept_share * pool_tokens)",
        "worth(kept_share * pool_tokens) / worth(pool_tokens)",
    ),
    (
        LIB + "lessons/corpus/simulation.py",
        "scores - scores.max(axis=2, keepdims=True)",
        "scores - scores.max(axis=1, keepdims=True)",
    ),
    # the equations against measurements, and the reference pages
    (
        LIB + "prediction/equations.py",
        "start_time + message * Max(near, far) / link_efficiency",
        "start_time + message * (near + far) / link_efficiency",
    ),
    (LIB + "prediction/layout.py", "max(1, self.expert / self.domain)", "self.expert / self.domain"),
    (LIB + "prediction/rows.py", "computed / self.published if self.rate", "self.published / computed if self.rate"),
    (
        LIB + "validation/serving.py",
        "more = best.work.sequences / case.work.sequences",
        "more = case.work.sequences / best.work.sequences",
    ),
    (
        LIB + "prediction/step.py",
        "batch * g.prefills(context) for g in groups",
        "g.prefills(context) for g in groups",
    ),
    (LIB + "prediction/calibration.py", "(min(batches), max(batches))", "(min(batches), min(batches))"),
    (
        LIB + "validation/report.py",
        "[row for row in self.rows if not row.holds]",
        "[row for row in self.rows if row.holds]",
    ),
    (LIB + "reference/bills.py", "if c.provider == maker][:NEWEST]", "if c.provider == maker][-NEWEST:]"),
    (
        LIB + "reference/flashcards.py",
        "return self.asked + given",
        "return self.asked",
    ),
    (LIB + "reference/repeated_claims.py", "board, said = sparsity.ABOUT_300", "board, said = 2 * sparsity.ABOUT_300"),
    # what pages load
    ("book/_static/practice.js", "if (this.depth > 40)", "if (this.depth > 9)"),
    ("book/_static/practice.js", 'sign === "*" ? (p) => a(p) * b(p)', 'sign === "*" ? (p) => a(p) + b(p)'),
    ("book/_static/practice.js", "Math.round(power) !== 0", "Math.round(power) === 0"),
    ("book/_static/practice.js", "if (this.problem.draws.length > 1)", "if (this.problem.draws.length > 99)"),
    (
        "book/_static/interactive.js",
        'figure.classList.add("chart-drawn")',
        'figure.classList.toggle("chart-drawn", false)',
    ),
    ("book/_static/interactive.js", 'name.replace(/_exponent$/, "")', "name"),
    ("book/_static/site.js", "SHOW_SEARCH_SUMMARY = false", "SHOW_SEARCH_SUMMARY = true"),
    ("book/_static/site.js", 'box.className = "table-box";', 'box.className = "";'),
    # the build
    ("tools/build.py", "site.rename(old)", "shutil.rmtree(site)"),
    ("tools/build.py", '"nitpicky": True', '"nitpicky": False'),
    (
        "tools/html_fixes.py",
        'if DECK in context["body"]:',
        'if DECK not in context["body"]:',
    ),
    (
        "tools/glossary_links.py",
        'if isinstance(text, SILENT) or COMPUTED & set(text.get("classes", ())):',
        "if isinstance(text, SILENT):",
    ),
    ("tools/glossary_links.py", "if now != env.glossed_last:", "if now == env.glossed_last:"),
    # the planner, the labs and the searches, which came later
    (LIB + "planner/serving.js", "Math.min(layout.tensor, group.kv_heads)", "layout.tensor"),
    (LIB + "planner/frontier.py", " and found.first_token <= self.first", ""),
    (LIB + "lab.py", "Trial(args, pickle.loads(packed), want=want)", "Trial(args, args, want=want)"),
    (LIB + "search.py", "if cost(low * step) < cost(high / step)", "if cost(low) < cost(high)"),
    ("book/_labs/lab.js", "hint.hidden = number >= hints", "hint.hidden = number > hints"),
]

# Where the tests named after a file are many or slow: those that are there for the line, run before all others.
NAMED = {
    '"+" if to == 0 else "-"': "derivation::test_limits_of_maxima",
    "np.arange(len(labels)) % 5 == 0": (
        "reversibility_routes::test_every_fifth_digit_is_for_the_test_from_the_first_on"
    ),
    'figure.classList.add("chart-drawn")': "front_page::test_a_chart_is_drawn_at_the_first_sign_of_a_reader",
    'name.replace(/_exponent$/, "")': "front_page::test_a_view_can_be_shared",
    'box.className = "table-box";': "site::test_every_table_scrolls_in_a_box_of_its_own",
    "site.rename(old)": "build::test_the_last_good_site_comes_back_after_a_crash_between_the_renames",
    '"nitpicky": True': "build::test_a_warning_stops_the_build_before_the_first_site",
    'if DECK in context["body"]:': "flashcards::test_the_deck_is_written_for_the_page_that_offers_it_and_for_no_other",
    'if isinstance(text, SILENT) or COMPUTED & set(text.get("classes", ())):': ("glossary::test_what_counts_as_a_use"),
    "if now != env.glossed_last:": "glossary::test_a_changed_entry_renews_every_page",
    "Math.min(layout.tensor, group.kv_heads)": "planner::test_every_number_of_the_page_is_that_of_python",
    " and found.first_token <= self.first": "planner::test_a_promised_first_token_costs_users",
    "Trial(args, pickle.loads(packed), want=want)": "labs::test_arguments_must_stay_as_they_were",
    "if cost(low * step) < cost(high / step)": "numeric_search::test_a_minimum_is_found",
    "hint.hidden = number >= hints": "lab_hints::test_a_hint_is_in_sight_once_it_was_asked_for",
}

PAGES = {
    "practice.js": ("practice_page", "lesson_page"),
    "interactive.js": ("lesson_page", "site"),
    "site.js": ("site",),
}
TOOLS = {"build.py": ("build",), "html_fixes.py": ("flashcards", "build", "site"), "glossary_links.py": ("glossary",)}
SLOW = re.compile(
    r"\b(browser|visit|server|nbclient|build_site)\b|tools/build\.py"
)  # needs a browser, a notebook or the book
HUNG = 3600  # seconds


def named_test(root: Path, line: str) -> list[str]:
    """The test that is there for a line, if this checkout has it."""
    file, _, test = NAMED.get(line, "").partition("::")
    path = root / "tests" / f"test_{file}.py"
    there = path.exists() and f"def {test.partition('[')[0]}(" in path.read_text("utf8")
    return [f"{path}::{test}"] if there else []


def order_tests(root: Path, spoiled: str) -> list[list[Path]]:
    """The files of tests in three stages: those named after the spoiled file, other quick ones, other slow ones."""
    tests = sorted(root.glob("tests/**/test_*.py"))
    path = Path(spoiled)
    near_names = PAGES.get(path.name) or TOOLS.get(path.name) or {path.stem, path.parent.name} - {"blackboard", "page"}
    near = [test for test in tests if any(name in test.stem for name in near_names)]
    slow = [test for test in tests if test not in near and SLOW.search(test.read_text("utf8"))]
    return [near, [test for test in tests if test not in near + slow], slow]


def run_tests(root: Path, tests: list[Path] | list[str]) -> str:
    """The first failure of these tests; nothing where all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    environment = os.environ | {"PYTHONPATH": str(root / "lib"), "PYTHONPYCACHEPREFIX": str(root / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every run would translate all packages anew
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=HUNG)
    except subprocess.TimeoutExpired:
        return "the tests hang"
    if done.returncode in (0, 5):  # all passed, or there are none
        return ""
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return found[0] if found else done.stdout[-300:] + done.stderr[-300:]


def find_killer(root: Path, mutation: tuple[str, str, str], stages: int) -> str:
    """The test that notices a mutation; nothing where none does."""
    name, before, after = mutation
    path = root / name
    original = path.read_text("utf8")
    path.write_text(original.replace(before, after), "utf8")
    try:
        tried = [named_test(root, before), *order_tests(root, name)[:stages]]
        return next(filter(None, (run_tests(root, tests) for tests in tried if tests)), "")
    finally:
        path.write_text(original, "utf8")


def copy_tracked(root: Path, target: Path) -> None:
    """Copy every file that git tracks."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=root, text=True).split("\0")
    for name in filter(None, names):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)


def link_page_python(root: Path, target: Path) -> None:
    """Let a copy have the Python for its pages, where the checkout has it."""
    fetched = root / ".venv" / "page-python"
    if fetched.exists():
        (target / ".venv").mkdir(exist_ok=True)
        (target / ".venv" / "page-python").symlink_to(fetched.resolve(), target_is_directory=True)


def find_lost(root: Path) -> list[str]:
    """The mutations whose line is not in its file, or not once there."""
    read = lambda name: (root / name).read_text("utf8") if (root / name).exists() else ""
    return [f"{name}: {before!r}" for name, before, _ in MUTATIONS if read(name).count(before) != 1]


def main() -> int:
    """Run the mutations; the number that survive is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", type=int, help="which mutations, from 1; all where none is named")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to spoil a copy of")
    parser.add_argument(
        "--stages", type=int, default=3, help="tests named after the file; then other quick ones; then slow ones"
    )
    wanted = parser.parse_args()
    if lost := find_lost(wanted.root):
        sys.exit("these lines do not stand once in their files:\n" + "\n".join(lost))
    survived = 0
    numbers = wanted.numbers or range(1, len(MUTATIONS) + 1)
    with tempfile.TemporaryDirectory() as scratch:
        copy_tracked(wanted.root.resolve(), Path(scratch))
        link_page_python(wanted.root, Path(scratch))
        if (wanted.root / "_build").exists():  # a mutant then builds only what it changes
            shutil.copytree(wanted.root / "_build", Path(scratch) / "_build")
        for number in numbers:
            name, before, after = MUTATIONS[number - 1]
            killer = find_killer(Path(scratch), MUTATIONS[number - 1], wanted.stages)
            survived += not killer
            print(f"{number:>3} {name}: {before!r} -> {after!r}\n    {killer or 'SURVIVED'}", flush=True)
    print(f"{len(numbers) - survived} killed, {survived} survived")
    return survived


if __name__ == "__main__":
    sys.exit(main())
