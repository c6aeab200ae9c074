"""Write a class's notebooks, its answer key and its otter-grader assignment; grade what the class hands in.

    python tools/course.py classroom --students roster.csv
    python tools/course.py classroom --grade class

The roster is a CSV file with a column `id`. Each lesson has a folder, such as class/batching; `--lesson` writes one
alone, `--out` names another folder than `class`. A student hands in one answers file, class/batching/answers/ID.json,
or the notebook that saved it, ID.ipynb, which is read and never run.
"""

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from blackboard.page.grading import expected, grade
from blackboard.page.hand_in import HandIn, HandInError, lab_id, read_hand_in
from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import lessons, problems

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("class")  # which git ignores
PLAN = "classroom.json"  # in a lesson's folder: the lesson and its students
STARTS = ('p = problems("{}")', 'lab = lab_view.lab("{}")')  # where a notebook gets its problems and its lab
SAVES = ('p.save("answers.json")', 'lab.save("answers.json")')
NOTE = """**Your numbers are your own.** They are drawn from your id, `{student}`, so `again()` keeps them, and the
solutions are with your instructor, those to the lab's steps too. An answer or a step counts once you have checked it.
The last two cells write `answers.json`, which is what you hand in."""
HAND_IN = """## Hand in

Run these two cells, then hand in the file `answers.json`, or save this notebook and hand it in. Only what these cells
saved is graded."""
GRADING = """import glob, json, subprocess, sys

[handed] = glob.glob("*.json")
command = [sys.executable, "-m", "blackboard.page.grading", "{lesson}", handed]
marks = {{mark["problem"]: mark for mark in json.loads(subprocess.check_output(command))}}"""
OTTER_TEST = """from otter.test_files import test_case

OK_FORMAT = False
name = {problem!r}
points = 1


@test_case(points=1)
def test_answer(marks):
    mark = marks[{problem!r}]
    assert mark["points"], mark["message"]
"""

GENERATE = ("otter", "generate", "-t", "tests", "-o", "autograder.zip", "grading.ipynb")


class ClassroomError(Exception):
    """What a person has to put right; the message says what."""


# --- Write ----------------------------------------------------------------------------------------------------------


def read_roster(path):
    """The students' ids, in the roster's order."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if "id" not in (rows.fieldnames or []):
                raise ClassroomError(f"{path} has no column 'id'; it has: {', '.join(rows.fieldnames or ['nothing'])}")
            listed = [((row["id"] or "").strip(), rows.line_num) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ClassroomError(f"{path} cannot be read as a roster: {error}") from None
    return check_ids(listed, path)


def check_ids(listed, path):
    """The ids, where each can name a file and none comes twice."""
    first = {}
    for student, line in listed:
        if not re.fullmatch(r"\w[\w.@+-]{0,99}", student):
            raise ClassroomError(f"{path}, line {line}: {student!r} is no id; use letters, digits, and . @ + - _")
        if (known := student.casefold()) in first:  # some disks hold no two names that differ by case alone
            raise ClassroomError(f"{path}: the id {student!r} is there twice, in lines {first[known]} and {line}")
        first[known] = line
    if not listed:
        raise ClassroomError(f"{path} lists no student")
    return [student for student, _ in listed]


def write_notebook(source, lesson, student):
    """The lesson's exercises with a student's numbers, no outputs, and last cells that save the answers and the lab."""
    notebook = nbformat.read(source, as_version=4)
    first, _ = [give_to(notebook, start.format(lesson), student, source.name) for start in STARTS]
    notebook.cells.insert(notebook.cells.index(first), new_markdown_cell(NOTE.format(student=student)))
    notebook.cells += [new_markdown_cell(HAND_IN), *map(new_code_cell, SAVES)]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same each time it is written
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.pop("executed", None)
    return notebook


def give_to(notebook, start, student, name):
    """The one cell with a start, which is made the student's and tells no solutions."""
    found = [cell for cell in notebook.cells if cell.cell_type == "code" and start in cell.source]
    if len(found) != 1:
        raise ClassroomError(f"{name} has {len(found)} cells with {start}; it needs one")
    found[0].source = found[0].source.replace(start, f'{start}.of("{student}", solutions=False)')
    return found[0]


def write_key(file, lesson, students):
    """The right answers to every student's numbers, and the course's version of each step of the lab, as CSV."""
    listed = [view.problem for view in problems(lesson)]
    steps = [(lab_id(step.name), step.source, "") for step in list_steps(lesson)]
    rows = [
        (student, *answer)
        for student in students
        for answer in [*((problem.id, *expected(problem, student)) for problem in listed), *steps]
    ]
    write_csv(file, ("student", "problem", "expected", "unit"), rows)


def write_csv(file, head, rows):
    """A table as CSV."""
    with file.open("w", encoding="utf8", newline="") as out:
        csv.writer(out).writerows([head, *rows])


def write_assignment(folder, lesson):
    """The lesson as an otter-grader assignment. A student hands in the answers file; the notebook that otter runs is
    ours, and a notebook handed in beside it makes otter stop, because there are then two.
    """
    tests = folder / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    names = [view.problem.id for view in problems(lesson)] + [lab_id(step.name) for step in list_steps(lesson)]
    for name in names:
        (tests / f"{name}.py").write_text(OTTER_TEST.format(problem=name), "utf8")
    notebook = new_notebook(cells=[new_code_cell(GRADING.format(lesson=lesson), id="grading")])
    nbformat.write(notebook, folder / "grading.ipynb")
    if shutil.which("otter"):
        subprocess.run(GENERATE, cwd=folder, check=True)


def write_lesson(students, lesson, out):
    """All that a class needs for one lesson, in one folder."""
    if lesson not in lessons():
        raise ClassroomError(f"no lesson {lesson!r} with problems; there are: {', '.join(lessons())}")
    (out / "answers").mkdir(parents=True, exist_ok=True)
    (out / "notebooks").mkdir(exist_ok=True)
    for student in students:
        notebook = write_notebook(ROOT / "exercises" / f"{lesson}.ipynb", lesson, student)
        nbformat.write(notebook, out / "notebooks" / f"{student}.ipynb")
    write_key(out / "key.csv", lesson, students)
    write_assignment(out / "otter", lesson)
    (out / PLAN).write_text(json.dumps({"lesson": lesson, "students": students}, indent=1), "utf8")


def write_class(roster, asked, out):
    """The folders of all lessons, or of the one that was asked for, and what a person does with them."""
    students, written = read_roster(roster), [asked] if asked else lessons()
    for number, lesson in enumerate(written, 1):
        write_lesson(students, lesson, out / lesson)
        print(f"{number} of {len(written)}: {out / lesson} for {len(students)} students", flush=True)
    place = out / (asked or "LESSON")
    print(
        f"notebooks, one for each student: {place / 'notebooks' / 'ID.ipynb'}",
        f"what they hand in goes to: {place / 'answers' / 'ID.json'} (or ID.ipynb)",
        f"right answers, for you alone: {place / 'key.csv'}",
        f"an assignment for otter-grader: {place / 'otter'}",
        f"to grade: python tools/course.py classroom --grade {out / asked if asked else out}",
        sep="\n",
    )
    if not shutil.which("otter"):
        print(f"otter-grader is not installed; to make its autograder.zip, run in that folder: {' '.join(GENERATE)}")


# --- Grade ----------------------------------------------------------------------------------------------------------


def read_plan(folder):
    """The lesson and the students of a folder."""
    try:
        plan = json.loads((folder / PLAN).read_text("utf8"))
        return plan["lesson"], plan["students"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ClassroomError(f"{folder} has no readable {PLAN}; write the class first, with --students") from None


def handed_in(folder):
    """The files that students handed in for a lesson: answers files and notebooks."""
    return [file for kind in ("*.json", "*.ipynb") for file in sorted((folder / "answers").glob(kind))]


def read_answers(folder, student):
    """A student's answers, from the answers file where there is one; none at all counts as nothing attempted."""
    file = next((file for file in handed_in(folder) if file.stem == student), None)
    if not file:
        return HandIn(student, {})
    handed = read_hand_in(file)
    if handed.student != student:
        raise HandInError(f"{file.name} holds the answers of {handed.student!r}; nothing in it was graded.")
    return handed


def find_lessons(folder):
    """A lesson's own folder, or those in a class's folder to which something was handed in."""
    if (folder / PLAN).exists():
        return [folder]
    inside = [file.parent for file in sorted(folder.glob(f"*/{PLAN}"))]
    found = [each for each in inside if handed_in(each)]
    if inside and not found:
        raise ClassroomError(f"nothing is handed in; the answers go to {folder / 'LESSON' / 'answers' / 'ID.json'}")
    return found or [folder]  # which has no plan, as is said when it is read


def grade_class(folder):
    """Grade all lessons of a folder; what could not be graded."""
    return [failure for each in find_lessons(folder) for failure in grade_lesson(each)]


def grade_lesson(folder):
    """Points by student and problem, and how often each misconception came; what could not be graded."""
    lesson, students = read_plan(folder)
    print(f"{lesson}:")
    marks, failures = [], []
    for number, student in enumerate(students, 1):
        try:
            handed = read_answers(folder, student)
            found = grade(handed, lesson)
            said = f"{sum(m.points for m in found)} of {len(found)}" if handed.answers else "handed in nothing"
            print(f"{number} of {len(students)}: {student} {said}", flush=True)
        except HandInError as error:
            found = grade(HandIn(student, {}), lesson)
            failures.append(str(error))
        marks += found
    strangers = [file.name for file in handed_in(folder) if file.stem not in students]
    failures += [f"{name} belongs to nobody on the roster." for name in strangers]
    write_grades(folder, marks)
    return failures


def write_grades(folder, marks):
    """The marks, their sums and the misconceptions as CSV; the commonest ones are printed."""
    named = [mark for mark in marks if mark.kind == "misconception"]
    names = lambda m: (m.message, "") if m.kind == "misconception" else ("", m.message if m.kind == "type" else "")
    rows = [(m.student, m.problem, m.points, m.kind, *names(m)) for m in marks]
    write_csv(folder / "points.csv", ("student", "problem", "points", "verdict", "misconception", "not read"), rows)
    earned = Counter({mark.student: 0 for mark in marks})
    for mark in marks:
        earned[mark.student] += mark.points
    write_csv(
        folder / "totals.csv", ("student", "points", "of"), [(*k, len(marks) // len(earned)) for k in earned.items()]
    )
    counted = Counter((mark.problem, mark.message) for mark in named).most_common()
    write_csv(folder / "misconceptions.csv", ("problem", "misconception", "students"), [(*k, n) for k, n in counted])
    for (problem, message), count in counted[:5]:
        print(f"{count} × {problem}: {message}")
    print(f"wrote {folder / 'points.csv'}, {folder / 'totals.csv'} and {folder / 'misconceptions.csv'}")


def read_arguments(arguments):
    """The command line: --students writes a class, --grade grades it."""
    parser = argparse.ArgumentParser(prog="course.py classroom", description=__doc__.split("\n")[0])
    does = parser.add_mutually_exclusive_group(required=True)
    does.add_argument("--students", type=Path, metavar="ROSTER", help="write a class; a CSV file with a column id")
    does.add_argument("--grade", type=Path, metavar="FOLDER", help="grade what was handed in: a class, or one lesson")
    parser.add_argument("--lesson", help="write this one alone, such as batching")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help=f"where to; {FOLDER} if not given")
    return parser.parse_args(arguments)


def main(arguments):
    """Write or grade; status 1 where something could not be done."""
    given = read_arguments(arguments)
    try:
        failures = grade_class(given.grade) if given.grade else write_class(given.students, given.lesson, given.out)
    except ClassroomError as error:
        failures = [str(error)]
    print(*(failures or []), sep="\n", end="\n" if failures else "", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
