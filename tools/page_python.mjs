// Compile Python packages with the very Pyodide that will run them in a page, into one archive without sources.
//   node tools/page_python.mjs PYODIDE OUT.zip FOLDER NAME...      NAMEs are packages or modules in FOLDER
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [core, out, folder, ...names] = process.argv.slice(2);
const index = resolve(core) + "/";
const { loadPyodide } = await import(pathToFileURL(index + "pyodide.mjs"));
const python = await loadPyodide({ indexURL: index });
python.FS.mkdir("/from");
python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(folder) }, "/from");
python.globals.set("names", python.toPy(names));
python.runPython(`
import importlib._bootstrap_external as bytecode, pathlib, zipfile

LEFT_OUT = {"tests", "benchmarks", "testsuite", "testing", "_antlr", "autolev", "__pycache__"}
root = pathlib.Path("/from")

def sources(name):
    if (root / f"{name}.py").exists():
        return [root / f"{name}.py"]
    return [path for path in sorted((root / name).rglob("*.py")) if not LEFT_OUT & set(path.relative_to(root).parts)]

with zipfile.ZipFile("/out.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for path in (path for name in names for path in sources(name)):
        inside = path.relative_to(root).as_posix()
        code = compile(path.read_bytes(), inside, "exec", dont_inherit=True, optimize=2)
        entry = zipfile.ZipInfo(inside + "c", (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, bytecode._code_to_hash_pyc(code, bytes(8), checked=False))
`);
writeFileSync(out, python.FS.readFile("/out.zip"));
