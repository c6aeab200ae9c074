// What an editor does for its writer: colours, keys that indent, and undo. It comes when the first editor is in sight.
//
// Why not a library: a step has 5 to 30 lines. prism-code-editor, the smallest that also works on a real textarea, takes
// 10 kB compressed, four times this file, and a bundler at installation; CodeMirror takes about 100. Keyboard and screen
// readers get what a textarea gives them, colors are those of the book's own code.
(() => {
  "use strict";
  const { escape } = window.course;
  const PAUSE = 1000; // milliseconds: letters typed without such a pause are undone together
  const COLOURED = 20000; // characters: a longer text stays plain
  // As Pygments calls them, whose colors the book has.
  const WORDS = {
    k: "as assert async await break class continue def del elif else except finally for from global if import lambda nonlocal pass raise return try while with yield",
    ow: "and in is not or",
    kc: "None True False",
    bp: "self cls",
    nb: "abs all any bin bool bytes callable chr classmethod dict dir divmod enumerate filter float format frozenset getattr hasattr hash hex id input int isinstance issubclass iter len list map max min next object open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip",
  };
  const CLASSES = new Map(Object.entries(WORDS).flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind])));
  const TOKEN = /(#.*)|([rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(\b\d[\w.]*)|([-+*\/%@&|^~<>=!.]+)|([^\W\d]\w*)/gi;
  const NAMES = ["c1", "s2", "mi", "o"];
  const INSIDE = /(?<=(?:^|[^{]){)([^{}:]+)/; // what an f-string computes

  const tint = (kind, text) => kind ? `<span class="${kind}">${escape(text)}</span>` : escape(text);

  function kindOf(word, before) {
    if (before === "def" || before === "class") return "nf";
    if (before === "." && CLASSES.get(word) === "nb") return undefined; // a method of that name
    return CLASSES.get(word) ?? (/^[A-Z]\w*(Error|Exception)$/.test(word) ? "ne" : undefined);
  }

  // The text as HTML, a span around what has a color.
  function colour(text) {
    if (text.length > COLOURED) return escape(text);
    let out = "", end = 0, before = "";
    for (const found of text.matchAll(TOKEN)) {
      const [all, , string, , , word] = found, kind = word ? kindOf(word, before) : NAMES[found.slice(1).findIndex(Boolean)];
      const parts = string && /^[rb]?f/i.test(string) ? string.split(INSIDE) : [all];
      out += escape(text.slice(end, found.index)) + parts.map((part, n) => n % 2 ? colour(part) : tint(kind, part)).join("");
      end = found.index + all.length;
      before = all;
    }
    return out + escape(text.slice(end));
  }

  // --- Keys ---------------------------------------------------------------------------------------------------------
  function select(area, from, to) { area.selectionStart = from; area.selectionEnd = to; }

  function shift(editor, out) {
    const { area } = editor, { value, selectionStart, selectionEnd } = area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const lines = value.slice(from, selectionEnd);
    const moved = out ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, "    ");
    if (moved === lines) return;
    select(area, from, selectionEnd);
    editor.insert(moved);
    select(area, from === selectionStart ? from : Math.max(from, selectionStart + (out ? -1 : 1) * Math.min(4, Math.abs(moved.length - lines.length))), from + moved.length);
  }

  // Where the statement begins that a text ends with, and the line of its innermost open bracket, if there is one.
  function statement(text) {
    const code = text.replace(TOKEN, (all, comment, string) => comment || string ? all.replace(/./g, " ") : all), open = [];
    let start = 0, line = 0;
    for (const { 0: sign, index } of code.matchAll(/[\n([{)\]}]/g)) {
      if (sign === "\n") {
        line = index + 1;
        if (!open.length) start = line;
      } else if ("([{".includes(sign)) open.push(line);
      else open.pop();
    }
    return { start, open: open.pop() };
  }

  function indentation(before) {
    const { start, open } = statement(before), indent = (from) => before.slice(from).match(/^ */)[0];
    if (open !== undefined) return indent(open) + "    ";
    const more = /:\s*(#.*)?$/.test(before) ? "    " : "", less = /^\s+(return|raise|break|continue|pass)\b/.test(before.slice(start)) ? 4 : 0;
    return indent(start).slice(less) + more;
  }

  function edit(editor, event, leave) {
    const { area } = editor, { value, selectionStart, selectionEnd } = area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const many = value.slice(selectionStart, selectionEnd).includes("\n");
    const blanks = line.match(/\S(  +)$/)?.[1].length ?? 0; // that Tab has put before the caret
    if (event.key === "Tab" && !leave) {
      if (event.shiftKey && blanks && selectionStart === selectionEnd) {
        select(area, selectionEnd - Math.min(blanks, (line.length - 1) % 4 + 1), selectionEnd);
        document.execCommand("delete");
      } else if (event.shiftKey || many) shift(editor, event.shiftKey);
      else editor.insert(" ".repeat(4 - (line.length % 4)));
    } else if (event.key === "Enter" && !event.isComposing) {
      editor.insert("\n" + indentation(value.slice(0, selectionStart)));
    } else if (event.key === "Backspace" && selectionStart === selectionEnd && /^( {4})+$/.test(line)) {
      select(area, selectionStart - 4, selectionStart);
      document.execCommand("delete");
    } else return;
    event.preventDefault();
  }

  // --- Undo ---------------------------------------------------------------------------------------------------------
  // Each editor undoes its own changes: the browser's undo goes on in another editor when this one has none left.
  class Changes {
    constructor(area) { this.area = area; this.clear(); }
    read() {
      const { value, selectionStart, selectionEnd } = this.area;
      return { value, selectionStart, selectionEnd };
    }
    clear() { Object.assign(this, { past: [], undone: [], now: this.read(), grown: 0, time: 0 }); }
    record() {
      const now = this.read(), grown = now.value.length - this.now.value.length, time = performance.now();
      if (now.value === this.now.value) return; // a browser may tell of one change twice
      const joins = Math.abs(grown) === 1 && grown === this.grown && time - this.time < PAUSE;
      if (!joins) this.past.push(this.now);
      Object.assign(this, { now, grown, time, undone: [] });
    }
    move(from, to) {
      if (!from.length) return;
      to.push(this.now);
      this.now = from.pop();
      this.grown = 0;
      Object.assign(this.area, this.now);
    }
    undo() { this.move(this.past, this.undone); }
    redo() { this.move(this.undone, this.past); }
  }

  // What a key asks for: "undo", "redo" or nothing.
  function history({ key, ctrlKey, metaKey, altKey, shiftKey }) {
    if (!(ctrlKey || metaKey) || altKey) return undefined;
    if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
    return key.toLowerCase() === "y" ? "redo" : undefined;
  }

  // --- The editor ---------------------------------------------------------------------------------------------------
  // A browser scrolls to the caret and no further back, so that a line's beginning would stay out of sight.
  function scrollBack({ area, lines }) {
    const column = area.selectionStart - area.value.lastIndexOf("\n", area.selectionStart - 1) - 1, box = area.parentElement;
    const inSight = lines.offsetWidth + parseFloat(getComputedStyle(area).fontSize) * 0.65 * (column + 3) < box.clientWidth;
    if (inSight || document.activeElement !== area) box.scrollLeft = 0;
  }

  function equip(editor) {
    const { area, run } = editor;
    for (const moved of ["input", "keyup", "click", "blur"]) area.addEventListener(moved, () => scrollBack(editor));
    let leave = false;
    const again = (event, act) => {
      if (!act) return;
      event.preventDefault();
      editor.changes[act]();
      editor.paint();
      editor.changed();
    };
    area.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return event.preventDefault(), run();
      again(event, history(event));
      if (!event.ctrlKey && !event.metaKey && !event.altKey) edit(editor, event, leave);
      if (event.key !== "Shift") leave = event.key === "Escape";
    });
    area.addEventListener("beforeinput", (event) => again(event, { historyUndo: "undo", historyRedo: "redo" }[event.inputType]));
    editor.changes = new Changes(area);
    editor.paint();
  }

  Object.assign(window.course, { colour, equip });
})();
