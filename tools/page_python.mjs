// Compile Python's own library and packages with the very Pyodide that will run them in a page, into two archives without
// sources: a page that compiled them itself would start twice as slowly.
//   node tools/page_python.mjs PYODIDE STDLIB.zip PACKAGES.zip FOLDER NAME...      NAMEs are packages or modules in FOLDER
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [core, stdlib, packages, folder, ...names] = process.argv.slice(2);
const index = resolve(core) + "/";
const { loadPyodide } = await import(pathToFileURL(index + "pyodide.mjs"));
const python = await loadPyodide({ indexURL: index });
for (const [name, root] of [["/core", core], ["/from", folder]]) {
  python.FS.mkdir(name);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(root) }, name);
}
python.globals.set("names", python.toPy(names));
python.runPython(`
import importlib._bootstrap_external as bytecode, pathlib, zipfile

LEFT_OUT = {"tests", "benchmarks", "testsuite", "testing", "_antlr", "autolev", "quantum", "mechanics", "biomechanics",
  "control", "continuum_mechanics", "optics", "hep", "__pycache__"}
FOR_TERMINALS = {"_pyrepl", "multiprocessing"}  # and processes: a page has neither
root = pathlib.Path("/from")

def sources(name):
    if (root / f"{name}.py").exists():
        return [root / f"{name}.py"]
    return [path for path in sorted((root / name).rglob("*.py")) if not LEFT_OUT & set(path.relative_to(root).parts)]

def library():
    with zipfile.ZipFile("/core/python_stdlib.zip") as archive:
        for inside in sorted(archive.namelist()):
            if not inside.endswith("/") and inside.partition("/")[0] not in FOR_TERMINALS:
                yield inside, archive.read(inside)

def packages():
    for name in names:
        for path in sources(name):
            yield path.relative_to(root).as_posix(), path.read_bytes()

def write(target, files):
    with zipfile.ZipFile(target, "w") as archive:
        for inside, content in files:
            if inside.endswith(".py"):
                code = compile(content, inside, "exec", dont_inherit=True, optimize=2)
                inside, content = inside + "c", bytecode._code_to_hash_pyc(code, bytes(8), checked=False)
            entry = zipfile.ZipInfo(inside, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)

write("/stdlib.zip", library())
write("/packages.zip", packages())
`);
writeFileSync(stdlib, python.FS.readFile("/stdlib.zip"));
writeFileSync(packages, python.FS.readFile("/packages.zip"));
