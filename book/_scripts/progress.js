// The page of progress: what this browser has seen right, wrong or not tried, of each problem and each step of a lab.
// It can be forgotten, saved as a file and loaded. site.js reads what is kept.
(() => {
  "use strict";
  const KEPT = /^(practice\/|lab:|cells:|cards:)/; // the keys of the browser's store that are ours
  const VERSION = 1;
  const LARGEST = 5e6; // characters of a file
  const WORDS = { right: "✓ right", wrong: "✗ not yet right", untried: "not tried" };

  const keys = () => { try { return Object.keys(localStorage).filter((key) => KEPT.test(key)); } catch { return []; } };

  // {key: what is kept} of a file, or nothing where it is none of ours.
  function readFile(text) {
    try {
      const { version, kept } = JSON.parse(text.length <= LARGEST ? text : "");
      const rows = version === VERSION ? Object.entries(kept) : [];
      const ours = rows.filter(([key, value]) => KEPT.test(key) && value && typeof value === "object");
      return ours.length ? Object.fromEntries(ours) : null;
    } catch { return null; }
  }

  class ProgressList extends HTMLElement {
    connectedCallback() {
      if (this.total) return;
      this.total = document.createElement("p");
      this.said = document.createElement("p");
      this.said.setAttribute("role", "status");
      this.prepend(this.total, this.tools(), this.said);
      this.show();
      addEventListener("storage", () => this.show()); // another tab has solved something
    }

    tools() {
      const row = document.createElement("div");
      this.file = Object.assign(document.createElement("input"), { type: "file", accept: ".json,application/json", hidden: true });
      this.file.addEventListener("change", async () => { this.load(await this.file.files[0].text()); this.file.value = ""; });
      row.className = "practice-buttons";
      const acts = { "Save as a file": () => this.save(), "Load a file": () => this.file.click(), "Forget all": () => this.forget() };
      for (const [name, act] of Object.entries(acts)) {
        const button = Object.assign(document.createElement("button"), { type: "button", className: "practice-button", textContent: name });
        button.addEventListener("click", act);
        row.append(button);
      }
      row.append(this.file);
      return row;
    }

    show() {
      const counts = { right: 0, wrong: 0, untried: 0 };
      for (const fold of this.querySelectorAll(".progress-lesson")) {
        const told = [];
        for (const [kind, name] of [["problem", "problems"], ["step", "lab steps"]]) {
          const states = [...fold.querySelectorAll(`li[data-${kind}]`)].map((item) => this.mark(item, fold.dataset.lesson));
          for (const state of states) counts[state] += 1;
          if (states.length) told.push(`${states.filter((state) => state === "right").length} of ${states.length} ${name}`);
        }
        fold.querySelector(".progress-count").textContent = told.join(", ");
      }
      this.total.textContent = `Problems and lab steps in all: ${counts.right} right, ${counts.wrong} not yet right, ${counts.untried} not tried.`;
    }

    mark(item, lesson) {
      const { problem, step } = item.dataset;
      const state = problem ? stateOfProblem(lesson, problem) : stateOfStep(lesson, step); // eslint-disable-line no-undef
      item.dataset.state = state;
      item.querySelector(".progress-state").textContent = WORDS[state];
      return state;
    }

    save() {
      const kept = Object.fromEntries(keys().map((key) => [key, readKept(key)])); // eslint-disable-line no-undef
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([JSON.stringify({ version: VERSION, kept })], { type: "application/json" }));
      link.download = "progress.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }

    load(text) {
      const kept = readFile(text);
      if (!kept) return this.tell("That file holds no progress of this book.");
      try {
        for (const [key, value] of Object.entries(kept)) localStorage.setItem(key, JSON.stringify(value));
      } catch { return this.tell("The browser's store is full or closed, so not all of it could be kept."); }
      this.show();
      this.tell(`Loaded ${Object.keys(kept).length} entries.`);
    }

    forget() {
      if (!confirm("Forget all answers and all code that you wrote in this book? Save them as a file first if you may want them back.")) return;
      for (const key of keys()) localStorage.removeItem(key);
      this.show();
      this.tell("All forgotten.");
    }

    tell(words) { this.said.textContent = words; }
  }
  customElements.define("progress-list", ProgressList);
})();
