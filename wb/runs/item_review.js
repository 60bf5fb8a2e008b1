// Lays out what `item_review.py` tells and sends back what a person does.  Every text goes in as text, never as markup.
function field(tag, classes, label, value) {
  const input = make(tag, classes);
  input.value = value;
  input.spellcheck = false;
  if (tag === "textarea") input.rows = Math.min(12, value.split("\n").length + 2);
  return [input, make("label", "", label, input)];
}

function render({ model, el }) {
  const tools = make("div", "pane tools");
  const page = make("div", "pane document");
  const beside = make("div", "pane beside");
  const message = make("div", "told");
  message.setAttribute("role", "status");
  message.hidden = true;
  const working = make("div", "working", "working …");
  working.setAttribute("role", "status");
  working.hidden = true;
  const below = make("div");
  const legend = make(
    "div",
    "legend",
    make("span", "", make("span", "sentence mine", "of this tool")),
    make("span", "", make("span", "sentence other", "of another tool")),
    make("span", "", make("span", "sentence uncovered", "says how to act, and is in no item")),
  );
  const root = make("div", "wb-review wb-items", legend, make("div", "panes", tools, page, beside), working, message, below);
  root.dataset.lmSuppressShortcuts = "true"; // what is typed here is no command of the notebook
  el.append(root);
  let waiting = 0; // acts that were sent and have no answer yet
  let chosen = null; // where a clicked sentence goes: the references of the form that is open

  function send(act, more = {}) {
    waiting += 1;
    working.hidden = false;
    model.send({ act, tool: model.get("shown").tool, ...more });
  }

  function answered() {
    waiting = Math.max(0, waiting - 1);
    working.hidden = waiting === 0;
  }

  function list() {
    tools.replaceChildren(
      ...model.get("tools").map((one) => {
        const archived = one.archived ? `, ${one.archived} archived` : "";
        const button = pressed(one.name, () => send("pick", { tool: one.name }));
        button.append(make("small", "", `${one.items} item${one.items === 1 ? "" : "s"}${archived}; ${one.kind}`));
        button.dataset.tool = one.name;
        button.classList.toggle("picked", one.name === model.get("shown").tool);
        return button;
      }),
    );
  }

  function draw() {
    const blocks = [];
    for (const row of model.get("rows")) {
      if (row.breaks || !blocks.length) blocks.push(make("div", "block " + row.kind));
      const mark = row.at.length ? " mine" : row.uncovered ? " uncovered" : row.elsewhere ? " other" : "";
      const one = make("span", "sentence" + mark, row.text);
      one.dataset.at = row.at.join(" ");
      one.addEventListener("click", () => chosen && choose(row.text));
      blocks.at(-1).append(one, " ");
    }
    const at = page.scrollTop;
    page.replaceChildren(...blocks);
    page.scrollTop = at;
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

  function form(act, at, one) {
    const [name, nameLabel] = field("input", "name", "Name", one.name);
    const [description, descriptionLabel] = field("textarea", "description", "What it demands", one.description);
    const hint = "References, one a line (click sentences of the document to add or take them out)";
    const [references, referencesLabel] = field("textarea", "references", hint, one.references.join("\n"));
    const [why, whyLabel] = field("input", "why", "Why", "");
    chosen = references;
    page.classList.add("choosing");
    const save = () =>
      send(act, {
        at,
        name: name.value,
        description: description.value,
        references: references.value.split("\n"),
        why: why.value,
      });
    const buttons = make("div", "", pressed("Save", save), pressed("Leave it", show));
    beside.replaceChildren(
      message,
      make("em", "", act === "add" ? "A new item" : "The item becomes"),
      nameLabel,
      descriptionLabel,
      referencesLabel,
      whyLabel,
      buttons,
    );
  }

  function card(one, k) {
    const [why, whyLabel] = field("input", "why", "Why (to drop, archive or bring back)", "");
    const does = (act) => () => send(act, { at: k, why: why.value });
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

  function tell() {
    const said = model.get("told");
    if (!said.text) return;
    message.className = "told " + (said.good ? "good" : "bad");
    message.textContent = said.text;
    message.hidden = false;
  }

  function old() {
    const rows = model.get("done");
    const stale = model.get("stale");
    below.replaceChildren(
      ...(rows.length ? [make("p", "", `Edits in ${model.get("file")}; they count from the next run on:`)] : []),
      ...rows.map((row, k) => {
        const text = `${row.act} “${row.item}” of ${row.tool}${row.why ? `: ${row.why}` : ""} `;
        return make("div", "done", text, pressed("Take back", () => send("take back", { at: k })));
      }),
      ...(stale.length ? [make("p", "", "Edits without effect:")] : []),
      ...stale.map((text) => make("div", "stale", text)),
    );
  }

  const heard = { "change:tools": list, "change:rows": draw, "change:shown": show, "change:told": tell };
  heard["change:done"] = old;
  heard["change:stale"] = old;
  heard["change:heard"] = answered;
  for (const [what, act] of Object.entries(heard)) model.on(what, act);
  draw();
  show();
  old();
  return () => Object.entries(heard).forEach(([what, act]) => model.off(what, act));
}

export default { render };
