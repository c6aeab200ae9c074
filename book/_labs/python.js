// Python for a page: one worker (worker.js), started when it is first asked.
(() => {
  "use strict";
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");
  const { COME, SIZE, UNFETCHED, escape, keep, problem } = window.course;
  const BYTES = 21_000_000; // that the worker fetches, unpacked
  const SAID = 3; // megabytes between two words on how many have come
  const SECONDS = { start: 300, prepare: 60, check: 8, run: 8, function: 8, cell: 8, draw: 9 };
  const DOING = { draw: "Drawing …", cell: "Running …", run: "Running …" };
  const STARTS = "Starting Python: about five seconds, longer on a busy machine …";
  const FROM_DISK = "Python starts only on pages that a server sends. In the folder of the course run <code>python -m http.server -d _build/html</code> and open <code>http://localhost:8000</code>, or use the exercise notebook.";

  // What is said after so many bytes.
  function sayCome(bytes) {
    if (bytes > 0.98 * BYTES) return STARTS;
    return `Loading Python: ${SAID * Math.floor((parseInt(SIZE) * bytes) / BYTES / SAID)} of ${SIZE} …`;
  }

  // Count the seconds beside what is said to a reader who waits; the number is for the eye alone, and not read out.
  function countSeconds() {
    const began = Date.now();
    return setInterval(() => {
      const waiting = [...document.querySelectorAll(".lab-state")].filter((said) => said.textContent.endsWith("…"));
      for (const said of waiting) said.dataset.seconds = Math.round((Date.now() - began) / 1000);
    }, 1000);
  }

  // What takes too long ends with its worker, and so does one that has filled its memory, which never shrinks; the next
  // one starts at once.
  class Python {
    constructor() {
      this.asked = new Map();
      this.count = 0;
      this.seconds = SECONDS;
      this.before = Promise.resolve(); // the question that is being answered: one at a time, so that limits are fair
    }

    start() {
      this.ready ??= new Promise((resolve, reject) => {
        const worker = new Worker(HERE + "worker.js", { type: "module" });
        this.worker = worker;
        worker.onerror = () => reject(new Error("fetch")); // the worker's own script
        worker.onmessage = ({ data }) => {
          if (data?.ready) resolve();
          else if (data?.come !== undefined) this.tell(sayCome(data.come));
          else if (data?.course) this.tell("Loading the course …");
          else if (data?.id === undefined) reject(new Error(data?.fatal));
          else this.asked.get(data.id)?.(data);
        };
        setTimeout(() => reject(new Error("late")), 1000 * SECONDS.start);
      });
      this.ready.catch(() => this.stop());
      return this.ready;
    }

    stop() {
      this.worker?.terminate();
      this.ready = this.worker = this.prepared = undefined;
      this.asked.clear();
    }

    // Tell who waits for Python what it does, where that is another thing than before.
    tell(words) {
      if (words !== this.said) this.say?.(words);
      this.said = words;
    }

    restart() { this.stop(); this.start().catch(() => {}); }

    // The answer to a question, or a sentence that says why there is none.
    ask(question, say) {
      if (location.protocol === "file:") return Promise.resolve(problem("Not here.", FROM_DISK));
      say("Waiting for Python …");
      return this.before = this.before.then(async () => {
        const counting = countSeconds();
        try { return await this.answer(question, say); } finally { clearInterval(counting); }
      });
    }

    // What a question imports has time of its own.
    async answer(question, say) {
      say(this.ready ? "Waiting for Python …" : sayCome(0));
      this.say = say;
      try {
        await this.start();
      } catch (error) {
        return problem("Python did not start.", `${escape(this.why(error.message))} Your code is kept.`);
      } finally {
        this.say = undefined;
      }
      keep(COME, true);
      const doing = DOING[question.ask] ?? "Checking …";
      say(this.prepared ? doing : "Loading the course …");
      const stopped = await this.send({ ...question, ask: "prepare", what: question.ask });
      if (stopped.kind) return stopped;
      this.prepared = true;
      say(doing);
      return this.send(question);
    }

    why(message) {
      if (message === "late") return `It took more than ${SECONDS.start / 60} minutes: is the connection slow?`;
      if (message === "missing") return "This copy of the book has no Python in its pages. Use the exercise notebook instead.";
      if (/fetch|network|import/i.test(message)) return UNFETCHED; // browsers have their own words
      return `${message.slice(0, 200)}. Reload the page and try again, or use the exercise notebook.`;
    }

    send(question) {
      const limit = this.seconds[question.ask], id = this.count++;
      return new Promise((resolve) => {
        const end = (answer) => { clearTimeout(late); this.asked.delete(id); resolve(answer); };
        const fail = (answer) => { end(answer); this.restart(); };
        const late = setTimeout(() => fail(problem("Stopped.", `Your code ran for too long, ${limit} s. Look for a loop that does not stop, or for very large numbers.`, "slow")), 1000 * limit);
        this.asked.set(id, ({ answer, fatal, full }) => answer ? (full ? fail : end)(answer)
          : fail(problem("Stopped.", `Python broke off: ${escape(fatal.trim().split("\n").pop().slice(0, 200))}. It is starting again; your code is kept.`, "slow")));
        this.worker.postMessage({ id, question });
      });
    }
  }

  window.course.python = new Python();
})();
