// Lays out what `review.py` tells and sends back what a person does.  Every text goes in as text, never as markup.
const CLASSES = ["rule", "open", "not a constraint", "duty", "waived"];

function make(tag, classes = "", ...children) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...children.filter((child) => child !== null)); // a string becomes a text node
  return element;
}

function pressed(text, act) {
  const button = make("button", "", text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

function field(tag, classes, label, value) {
  const input = make(tag, classes);
  input.value = value;
  input.spellcheck = false;
  if (tag === "textarea") input.rows = Math.min(12, value.split("\n").length + 2);
  return [input, make("label", "", label, input)];
}

function status(classes, text = "") {
  const line = make("div", classes, text);
  line.setAttribute("role", "status");
  line.hidden = true;
  return line;
}

// What both reviews have: panes side by side, a line that tells what came of an act, one while it works, and `below`.
function desk({ model, el }, classes, legend, panes) {
  const message = status("told");
  const working = status("working", "working …");
  const below = make("div");
  const root = make("div", classes, legend, make("div", "panes", ...panes), working, message, below);
  root.dataset.lmSuppressShortcuts = "true"; // what is typed here is no command of the notebook
  el.append(root);
  // the second of a double click would fall on what has moved there since
  root.addEventListener("click", (e) => e.detail > 1 && e.target.closest("button") && e.stopPropagation(), true);
  let waiting = 0; // acts that were sent and have no answer yet

  function send(content) {
    waiting += 1;
    working.hidden = false;
    model.send(content);
  }

  function answered() {
    waiting = Math.max(0, waiting - 1);
    working.hidden = waiting === 0;
  }

  function tell() {
    const said = model.get("told");
    if (!said.text) return;
    message.className = "told " + (said.good ? "good" : "bad");
    message.textContent = said.text;
    message.hidden = false;
  }

  function hear(acts) {
    const heard = { ...acts, told: tell, heard: answered };
    for (const [what, act] of Object.entries(heard)) model.on("change:" + what, act);
    return () => Object.entries(heard).forEach(([what, act]) => model.off("change:" + what, act));
  }

  return { message, below, send, hear };
}

// The document in its lines; `span` makes the element of a sentence.
function lay(page, rows, span) {
  const blocks = [];
  for (const row of rows) {
    if (row.breaks || !blocks.length) blocks.push(make("div", "block " + row.kind));
    blocks.at(-1).append(span(row), " ");
  }
  const at = page.scrollTop;
  page.replaceChildren(...blocks);
  page.scrollTop = at;
}

const colour = (cls) => "c-" + cls.split(" ")[0];

function run(shown) {
  if (!shown.steps.length) return make("span", "", shown.reason);
  if (shown.steps.length === 1) return make("span", "", shown.steps[0]);
  return make("ol", "", ...shown.steps.map((step) => make("li", "", step)));
}

function told(pairs) {
  const list = make("dl");
  for (const [name, what] of pairs) {
    if (what === "" || what === null) continue;
    list.append(make("dt", "", name), make("dd", "", what));
  }
  return list;
}

function rule(one) {
  const denies = make("span", "denies", run(one.denied));
  const allows = make("span", "allows", run(one.allowed));
  return make(
    "div",
    "rule-card" + (one.in_force ? "" : " idle"),
    make("div", "words", one.words),
    told([
      ["LTLf", make("code", "", one.formula)],
      ["told by", make("span", "", one.told.map(([name, by]) => `${name}: ${by}`).join("; "))],
      ["denies", denies],
      ["allows", allows],
      ["in force", one.in_force ? "" : "no: nobody chose it yet"],
    ]),
  );
}

function sentences(given) {
  const { model } = given;
  const legend = make("div", "legend");
  const counted = make("div", "counted");
  const waiting = make("div", "pane queue");
  const aside = make("div", "pane queue aside");
  const above = make("div", "", make("div", "panes", waiting, aside), legend, counted);
  const page = make("div", "pane document");
  const beside = make("div", "pane beside", "Click a sentence.");
  const { message, below, send, hear } = desk(given, "wb-review", above, [page, beside]);
  let offered = null; // the stale decision that is to be used for the sentence that is shown next
  let grouped = false; // whether several sentences stand beside, in place of the one that is shown

  function act(name, id, more = {}) {
    if (grouped && name === "pick" && model.get("shown").id === id) show();
    send({ act: name, id, ...more });
  }

  function use(row) {
    offered = row;
    if (model.get("shown").id === row.near) show();
    else act("pick", row.near);
  }

  function counts() {
    const rows = model.get("rows");
    const of = (cls) => rows.filter((row) => row.cls === cls).length;
    legend.replaceChildren(
      ...CLASSES.map((cls) => make("span", "", make("span", "sentence " + colour(cls), cls), ` ${of(cls)}`)),
    );
  }

  // How many labelled calls are decided, and what that was before the last act.
  function tally() {
    const { words, before } = model.get("counted");
    counted.hidden = !words;
    counted.title = "by the rules as they are now, before a run refines them and proves guards";
    counted.replaceChildren(make("b", "", words || ""), make("small", "", before ? `before: ${before}` : ""));
  }

  // What is to be decided, and beside it in grey what was set aside, each in groups of what is alike.
  function groups() {
    const rows = model.get("queue");
    const open = rows.filter((row) => row.cls === "open");
    const most = model.get("counted").words ? "calls, then tools" : "tools";
    waiting.replaceChildren(
      make("p", "", make("b", "", "Open"), ` what holds most ${most} first`),
      ...(open.length ? open.map(group) : ["nothing is open"]),
    );
    aside.replaceChildren(
      make("p", "", make("b", "", "Set aside"), " a permission may hide a condition: what names facts comes first"),
      ...rows.filter((row) => row.cls !== "open").map(group),
    );
  }

  function group(row) {
    const first = row.sentences[0].id;
    const button = pressed("", () => (row.sentences.length > 1 ? several(row) : act("pick", first)));
    button.dataset.first = first;
    button.title = row.tools.join(", ");
    button.append(make("b", "", row.title), " ", make("q", "", row.begins), make("small", "", row.about));
    return button;
  }

  // What is alike, to be decided for one reason, each sentence of it or some of them.
  function several(row) {
    const [why, whyLabel] = field("input", "why", "Decide all that are ticked: why", "");
    const ticks = row.sentences.map((one) => {
      const tick = make("input");
      tick.type = "checkbox";
      tick.checked = true;
      tick.dataset.of = one.id;
      return tick;
    });
    const does = (name) => () => {
      const ids = ticks.filter((tick) => tick.checked).map((tick) => tick.dataset.of);
      if (ids.length) act(name, ids[0], { also: ids.slice(1), why: why.value });
    };
    grouped = true;
    message.hidden = true;
    beside.replaceChildren(
      message,
      make("p", "", make("b", "", row.title), row.under ? ` under “${row.under}”` : ""),
      told([
        [row.cls === "open" ? "holds back" : "", row.cls === "open" ? row.tools.join(", ") : ""],
        ["because", run({ steps: row.why })],
      ]),
      ...row.sentences.map((one, k) =>
        make("div", "alike", make("label", "", ticks[k], one.text), pressed("Look", () => act("pick", one.id))),
      ),
      whyLabel,
      make(
        "div",
        "",
        row.cls === "not a constraint" ? null : pressed("None is a constraint", does("not a constraint")),
        row.cls === "waived" ? pressed("Take back", does("take back")) : pressed("Waive them", does("waive")),
        row.cls === "open" ? null : pressed("Open them", does("reject")),
      ),
    );
  }

  function draw() {
    counts();
    const picked = model.get("shown").id;
    lay(page, model.get("rows"), (row) => {
      const marks = (row.decided ? " decided" : "") + (row.id === picked ? " picked" : "");
      const one = make("span", "sentence " + colour(row.cls) + marks, row.text);
      one.tabIndex = 0;
      one.setAttribute("role", "button");
      one.dataset.id = row.id;
      one.dataset.cls = row.cls;
      one.title = row.cls;
      one.addEventListener("click", () => act("pick", row.id));
      one.addEventListener("keydown", (key) => key.key === "Enter" && act("pick", row.id));
      return one;
    });
  }

  function show() {
    const shown = model.get("shown");
    if (!shown.id) return;
    grouped = false;
    for (const one of page.querySelectorAll(".sentence")) one.classList.toggle("picked", one.dataset.id === shown.id);
    message.hidden = true;
    const why = make("input", "why");
    why.placeholder = "why: a reason, kept with the decision";
    const text = make("textarea", "rules");
    const again = offered?.near === shown.id ? offered : null;
    offered = null;
    why.value = again ? again.why : "";
    text.value = again?.rules || shown.begin;
    text.rows = Math.min(24, text.value.split("\n").length + 1);
    text.spellcheck = false;
    const preview = make("div", "preview");
    const does = (name) => () => act(name, shown.id, { why: why.value, rules: name === "rule" ? text.value : "" });
    const choose = (number) => () => act("accept", shown.id, { why: why.value, choice: number });
    const now = shown.decision ? `${shown.decision.decision}: ${shown.decision.why}` : "";
    const apart = shown.apart.length ? run({ steps: shown.apart }) : "";
    beside.replaceChildren(
      message,
      make("p", "", make("q", "", shown.text), " ", make("span", "sentence " + colour(shown.cls), shown.cls)),
      told([
        ["where", shown.place],
        ["because", shown.reason],
        ["by", shown.grade],
        ["readings part where", apart],
        [shown.cls === "open" ? "holds back" : "tools", shown.tools.join(", ")],
        ["decided", now],
      ]),
      ...shown.rules.map((one) => rule(one)),
      ...shown.choices.map((one, at) =>
        make(
          "div",
          "choice",
          make("strong", "", `${at + 1}. as read by ${one.by}`),
          ...one.rules.map((card) => rule(card)),
          one.idle
            ? make("em", "", `It cannot be accepted, the sentence would stay open: ${one.idle}`)
            : pressed(`Accept reading ${at + 1}`, choose(at + 1)),
        ),
      ),
      make("label", "", "Decide: why", why),
      make(
        "div",
        "",
        pressed("Reject the reading", does("reject")),
        pressed("Waive", does("waive")),
        pressed("Not a constraint", does("not a constraint")),
        shown.decision ? pressed("Take back", does("take back")) : null,
      ),
      make("label", "", "Edit the rule, or write one of your own", text),
      make(
        "div",
        "",
        pressed("Say what it means", () => act("preview", shown.id, { rules: text.value })),
        pressed("Save the rule", does("rule")),
      ),
      preview,
    );
  }

  function foresee() {
    const preview = beside.querySelector(".preview");
    const rules = model.get("preview");
    if (!preview) return;
    preview.replaceChildren(...(rules.length ? [make("em", "", "It would say:"), ...rules.map((one) => rule(one))] : []));
    if (rules.length) message.hidden = true;
  }

  function old() {
    const rows = model.get("stale");
    below.replaceChildren(
      ...(rows.length ? [make("p", "", `Stale decisions in ${model.get("file")}, without effect:`)] : []),
      ...rows.map((row) =>
        make(
          "div",
          "stale",
          make("q", "", row.text),
          told([
            ["decided", `${row.decision}: ${row.why}`],
            ["now perhaps", row.says],
          ]),
          row.near ? pressed("Look at that sentence", () => act("pick", row.near)) : null,
          row.near && row.rules ? pressed("Use its rule there", () => use(row)) : null,
        ),
      ),
    );
  }

  draw();
  tally();
  groups();
  old();
  show();
  return hear({ rows: draw, queue: groups, counted: tally, shown: show, preview: foresee, stale: old });
}

function items(given) {
  const { model } = given;
  const tools = make("div", "pane tools");
  const page = make("div", "pane document");
  const beside = make("div", "pane beside");
  const legend = make(
    "div",
    "legend",
    make("span", "", make("span", "sentence mine", "of this tool")),
    make("span", "", make("span", "sentence other", "of another tool")),
    make("span", "", make("span", "sentence uncovered", "says how to act, and is in no item")),
  );
  const { message, below, send, hear } = desk(given, "wb-review wb-items", legend, [tools, page, beside]);
  let chosen = null; // where a clicked sentence goes: the references of the form that is open

  const act = (name, more = {}) => send({ act: name, tool: model.get("shown").tool, ...more });

  function list() {
    tools.replaceChildren(
      ...model.get("tools").map((one) => {
        const archived = one.archived ? `, ${one.archived} archived` : "";
        const button = pressed(one.name, () => act("pick", { tool: one.name }));
        button.append(make("small", "", `${one.items} item${one.items === 1 ? "" : "s"}${archived}; ${one.kind}; held by ${one.open} open`));
        button.dataset.tool = one.name;
        button.classList.toggle("picked", one.name === model.get("shown").tool);
        return button;
      }),
    );
  }

  function draw() {
    lay(page, model.get("rows"), (row) => {
      const mark = row.at.length ? " mine" : row.uncovered ? " uncovered" : row.elsewhere ? " other" : "";
      const one = make("span", "sentence" + mark, row.text);
      one.dataset.at = row.at.join(" ");
      one.addEventListener("click", () => chosen && choose(row.text));
      return one;
    });
  }

  function choose(text) {
    const lines = chosen.value.split("\n").filter((line) => line.trim());
    const kept = lines.includes(text) ? lines.filter((line) => line !== text) : [...lines, text];
    chosen.value = kept.join("\n");
    chosen.rows = Math.min(12, kept.length + 2);
  }

  function light(k, on) {
    for (const one of page.querySelectorAll(".sentence")) {
      if (one.dataset.at.split(" ").includes(String(k))) one.classList.toggle("lit", on);
    }
  }

  function form(what, at, one) {
    const [name, nameLabel] = field("input", "name", "Name", one.name);
    const [description, descriptionLabel] = field("textarea", "description", "What it demands", one.description);
    const hint = "References, one a line (click sentences of the document to add or take them out)";
    const [references, referencesLabel] = field("textarea", "references", hint, one.references.join("\n"));
    const [why, whyLabel] = field("input", "why", "Why", "");
    chosen = references;
    page.classList.add("choosing");
    const save = () =>
      act(what, {
        at,
        name: name.value,
        description: description.value,
        references: references.value.split("\n"),
        why: why.value,
      });
    const buttons = make("div", "", pressed("Save", save), pressed("Leave it", show));
    beside.replaceChildren(
      message,
      make("em", "", what === "add" ? "A new item" : "The item becomes"),
      nameLabel,
      descriptionLabel,
      referencesLabel,
      whyLabel,
      buttons,
    );
  }

  function card(one, k) {
    const [why, whyLabel] = field("input", "why", "Why (to drop, archive or bring back)", "");
    const does = (name) => () => act(name, { at: k, why: why.value });
    const shown = make(
      "div",
      "item-card" + (one.archived ? " archived" : ""),
      make("div", "words", one.name),
      make("div", "", one.description),
      ...one.references.map((text) => make("div", "", make("q", "", text))),
      make("small", "", `by ${one.by}${one.rules.length ? `; rules ${one.rules.join(", ")}` : "; no rule"}`),
      one.archived ? make("div", "", make("em", "", `archived: ${one.archived}`)) : null,
      whyLabel,
      make(
        "div",
        "",
        pressed("Edit", () => form("edit", k, one)),
        one.archived ? pressed("Bring back", does("bring back")) : pressed("Archive", does("archive")),
        pressed("Drop", does("drop")),
      ),
    );
    shown.tabIndex = 0;
    for (const [event, on] of [["mouseenter", true], ["mouseleave", false], ["focusin", true], ["focusout", false]]) {
      shown.addEventListener(event, () => light(k, on));
    }
    return shown;
  }

  function show() {
    const shown = model.get("shown");
    chosen = null;
    page.classList.remove("choosing");
    message.hidden = true;
    beside.replaceChildren(
      message,
      make("p", "", make("b", "", shown.tool)),
      pressed("Add an item", () => form("add", -1, { name: "", description: "", references: [] })),
      ...shown.items.map(card),
    );
    list();
  }

  function old() {
    const rows = model.get("done");
    const stale = model.get("stale");
    below.replaceChildren(
      ...(rows.length ? [make("p", "", `Edits in ${model.get("file")}; they count from the next run on:`)] : []),
      ...rows.map((row, k) => {
        const text = `${row.act} “${row.item}” of ${row.tool}${row.why ? `: ${row.why}` : ""} `;
        return make("div", "done", text, pressed("Take back", () => act("take back", { at: k })));
      }),
      ...(stale.length ? [make("p", "", "Edits without effect:")] : []),
      ...stale.map((text) => make("div", "stale", text)),
    );
  }

  draw();
  show();
  old();
  return hear({ tools: list, rows: draw, shown: show, done: old, stale: old });
}

export default { render: (given) => (given.model.get("of") === "items" ? items(given) : sentences(given)) };
