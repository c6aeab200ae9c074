// Python in a worker: the labs' scripts ask, blackboard.page.lab_worker answers. Nothing here is of another host.
const HERE = new URL("python/", self.location);

// Each chunk that comes is told to the page. There are servers that do not say what a .wasm is, and Pyodide would wait
// for ever.
const plainFetch = self.fetch.bind(self);
let come = 0;
self.fetch = async (what, options) => {
  const response = await plainFetch(what, options);
  if (!response.ok || !response.body) return response;
  const counted = response.body.pipeThrough(new TransformStream({
    transform(chunk, out) {
      postMessage({ come: (come += chunk.byteLength) });
      out.enqueue(chunk);
    },
  }));
  const headers = new Headers(response.headers);
  if (/\.wasm($|\?)/.test(String(what.url || what))) headers.set("Content-Type", "application/wasm");
  return new Response(counted, { headers });
};

self.close = () => {}; // what a reader writes can reach it, and the next question would wait in vain

// More memory than this Python does not get: a browser has more to do, and would end all of the page.
const MOST = 2 ** 30, PAGE = 2 ** 16; // bytes
const grow = WebAssembly.Memory.prototype.grow;
let size = 0;
WebAssembly.Memory.prototype.grow = function growUpTo(pages) {
  size = this.buffer.byteLength + pages * PAGE;
  if (size > MOST) throw new RangeError("too much memory");
  return grow.call(this, pages);
};

async function fetchArchive(name) {
  const response = await fetch(new URL(name, HERE), { cache: "no-cache" }); // a new build must not meet an old archive
  if (response.status === 404) throw new Error("missing"); // the book was built without Python for its pages
  if (!response.ok) throw new Error(`${name} could not be fetched (${response.status})`);
  return response.arrayBuffer();
}

async function start() {
  const archives = ["libraries.zip", "course.zip"].map(fetchArchive);
  const { loadPyodide } = await import(new URL("pyodide.js", HERE).href).catch(async (error) => {
    await Promise.all(archives); // which tell apart what is missing and what did not come
    throw error;
  });
  const python = await loadPyodide({ indexURL: HERE.href, packageBaseUrl: HERE.href });
  const extractDir = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
  const fetched = await Promise.all(archives);
  postMessage({ course: true });
  for (const archive of fetched) python.unpackArchive(archive, "zip", { extractDir });
  python.runPython("import importlib; importlib.invalidate_caches()");
  return python.pyimport("blackboard.page.lab_worker");
}

const started = start();
started.then(() => postMessage({ ready: true }), (error) => postMessage({ fatal: String(error.message || error) }));

onmessage = async ({ data: { id, question } }) => {
  try {
    const python = await started;
    const answer = JSON.parse(python.answer(JSON.stringify(question)));
    postMessage({ id, answer, full: size > MOST / 2 });
  } catch (error) {
    postMessage({ id, fatal: String(error.message || error) });
  }
};
