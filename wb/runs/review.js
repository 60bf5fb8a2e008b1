// Lays out what `review.py` tells and sends back what a person does.  Every text goes in as text, never as markup.
const CLASSES = ["rule", "open", "not a constraint", "duty", "waived"];

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

function render({ model, el }) {
  const legend = make("div", "legend");
  const page = make("div", "pane document");
  const beside = make("div", "pane beside", "Click a sentence.");
  const message = make("div", "told");
  message.setAttribute("role", "status");
  message.hidden = true;
  const left = make("div");
  const working = make("div", "working", "working …");
  working.setAttribute("role", "status");
  working.hidden = true;
  const root = make("div", "wb-review", legend, make("div", "panes", page, beside), working, message, left);
  root.dataset.lmSuppressShortcuts = "true"; // what is typed here is no command of the notebook
  el.append(root);
  let waiting = 0; // acts that were sent and have no answer yet
  let offered = null; // the stale decision that is to be used for the sentence that is shown next

  function send(act, id, more = {}) {
    waiting += 1;
    working.hidden = false;
    model.send({ act, id, ...more });
  }

  function answered() {
    waiting = Math.max(0, waiting - 1);
    working.hidden = waiting === 0;
  }

  function use(row) {
    offered = row;
    if (model.get("shown").id === row.near) show();
    else send("pick", row.near);
  }

  function counts() {
    const rows = model.get("rows");
    const of = (cls) => rows.filter((row) => row.cls === cls).length;
    legend.replaceChildren(
      ...CLASSES.map((cls) => make("span", "", make("span", "sentence " + colour(cls), cls), ` ${of(cls)}`)),
    );
  }

  function draw() {
    counts();
    const picked = model.get("shown").id;
    const blocks = [];
    for (const row of model.get("rows")) {
      if (row.breaks || !blocks.length) blocks.push(make("div", "block " + row.kind));
      const marks = (row.decided ? " decided" : "") + (row.id === picked ? " picked" : "");
      const one = make("span", "sentence " + colour(row.cls) + marks, row.text);
      one.tabIndex = 0;
      one.setAttribute("role", "button");
      one.dataset.id = row.id;
      one.dataset.cls = row.cls;
      one.title = row.cls;
      one.addEventListener("click", () => send("pick", row.id));
      one.addEventListener("keydown", (key) => key.key === "Enter" && send("pick", row.id));
      blocks.at(-1).append(one, " ");
    }
    const at = page.scrollTop;
    page.replaceChildren(...blocks);
    page.scrollTop = at;
  }

  function show() {
    const shown = model.get("shown");
    if (!shown.id) return;
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
    const act = (name) => () => send(name, shown.id, { why: why.value, rules: name === "rule" ? text.value : "" });
    const choose = (number) => () => send("accept", shown.id, { why: why.value, choice: number });
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
          pressed(`Accept reading ${at + 1}`, choose(at + 1)),
        ),
      ),
      make("label", "", "Decide: why", why),
      make(
        "div",
        "",
        pressed("Reject the reading", act("reject")),
        pressed("Waive", act("waive")),
        pressed("Not a constraint", act("not a constraint")),
        shown.decision ? pressed("Take back", act("take back")) : null,
      ),
      make("label", "", "Edit the rule, or write one of your own", text),
      make(
        "div",
        "",
        pressed("Say what it means", () => send("preview", shown.id, { rules: text.value })),
        pressed("Save the rule", act("rule")),
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

  function tell() {
    const said = model.get("told");
    if (!said.text) return;
    message.className = "told " + (said.good ? "good" : "bad");
    message.textContent = said.text;
    message.hidden = false;
  }

  function old() {
    const rows = model.get("stale");
    left.replaceChildren(
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
          row.near ? pressed("Look at that sentence", () => send("pick", row.near)) : null,
          row.near && row.rules ? pressed("Use its rule there", () => use(row)) : null,
        ),
      ),
    );
  }

  const heard = { "change:rows": draw, "change:shown": show, "change:preview": foresee, "change:told": tell };
  heard["change:stale"] = old;
  heard["change:heard"] = answered;
  for (const [what, act] of Object.entries(heard)) model.on(what, act);
  draw();
  old();
  show();
  return () => Object.entries(heard).forEach(([what, act]) => model.off(what, act));
}

export default { render };
