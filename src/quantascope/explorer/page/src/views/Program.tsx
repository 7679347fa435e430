/** A compiled program: its graph, the source of each quantum, and an input executed on it beside the neural Q-model. */
import { useMemo } from "preact/hooks";
import { useData } from "../data/client";
import type { Executed, ExecutedStep, Program, Run } from "../data/shapes";
import { count, number, percent, plain, shortened, visible } from "../format";
import { change, go, link, useRoute } from "../router";
import { Ask } from "../ui/Ask";
import { Graph } from "../ui/Graph";
import { Predictions } from "../ui/Predictions";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";
import { type Column, Table } from "../ui/Table";
import { Mover, clamped, useArrows } from "../ui/stepping";
import { Tokens } from "../ui/Tokens";

export function ProgramView({ run }: { run: Run }) {
  const program = useData<Program>(`runs/${run.id}/program`);
  return <Shown of={program}>{(found) => <Whole run={run} program={found} />}</Shown>;
}

function Whole({ run, program }: { run: Run; program: Program }) {
  const { argument, query } = useRoute();
  const input = program.runs ? argument || program.inputs[0] || "" : "";
  const executed = useData<Executed>(input ? `runs/${run.id}/execute` : null, { input });
  const kept = { quantum: query["quantum"] };
  const shares = Object.entries({ ...program.accuracy, ...program.knowledge });
  return (
    <>
      <Title title={program.program}>
        {count(program.quanta.length, "quantum", "quanta")} in {count(program.levels, "level")}, found by running the program and watching which value comes from which step.
      </Title>
      {shares.length > 0 && (
        <Panel title="What the neural Q-model has learned of it">
          <Facts facts={shares.map(([name, value]) => [name.replaceAll("_", " "), value > 1 ? number(value) : percent(value)])} />
        </Panel>
      )}
      {program.runs ? (
        <Panel>
          <Ask value={input} action="Execute" inputs={program.inputs} ask={(next) => go("program", next, kept)} address={(next) => link("program", next, kept)} />
        </Panel>
      ) : (
        <Panel title="Inputs are not executed here">
          <p class="muted">A program from a file is executed only if it is named: {program.command && <code>{program.command}</code>}</p>
        </Panel>
      )}
      {input ? (
        <Shown of={executed} what="Executing" keep>
          {(found) => <Steps program={program} executed={found} />}
        </Shown>
      ) : (
        <Parts program={program} step={null} />
      )}
    </>
  );
}

function Steps({ program, executed }: { program: Program; executed: Executed }) {
  const { query } = useRoute();
  useArrows(executed.steps.length);
  const at = clamped(query["step"], executed.steps.length);
  const step = executed.steps[at];
  if (!step) return <Empty title="The program writes nothing for this input" />;
  const move = (to: number) => change({ step: to }, true);
  return (
    <>
      <Panel title={<bdi>{shortened(visible(executed.input), 120)}</bdi>} aside={<Mover at={at} of={executed.steps.length} move={move} />}>
        <Tokens tokens={executed.steps.map(({ token, qmodel_token }) => ({ text: token, wrong: qmodel_token !== token }))} chosen={at} choose={move} />
        <p class="muted small" style={{ marginTop: "10px" }}>
          Written by <bdi>{plain(step.emitter, 60)}</bdi>. Underlined is where the neural Q-model says another token.
        </p>
      </Panel>
      <Parts program={program} step={step} />
    </>
  );
}

function Parts({ program, step }: { program: Program; step: ExecutedStep | null }) {
  const { query } = useRoute();
  const chosen = program.quanta.find(({ name }) => name === query["quantum"]) ?? program.quanta[0];
  const ran = useMemo(() => new Map(step?.quanta.map((one) => [one.name, one])), [step]);
  const nodes = program.quanta.map(({ name, emitter }) => {
    const here = ran.get(name);
    const looks = [here?.active && "lit", emitter && "emitter", name === chosen?.name && "chosen"].filter(Boolean).join(" ");
    return { id: name, title: name, class: looks, ...(step && { value: here?.active ? (here.value ?? "ran") : "–", gate: here?.gate }) };
  });
  const edges = program.edges.map(({ from, to, kind }) => ({
    from,
    to,
    class: `${kind === "control" ? "control" : ""} ${ran.get(from)?.active && ran.get(to)?.active ? "used" : ""}`,
  }));
  return (
    <>
      <div class="columns">
        <div class="stack span-7">
          <Panel title="Quanta by level" aside={step ? "blue: ran at this token; bar: gate of the Q-model; dashed: control" : "dashed: control"}>
            <Graph label="Quanta of the program by level" nodes={nodes} edges={edges} choose={(quantum) => change({ quantum }, true)} />
          </Panel>
        </div>
        <div class="stack span-5">
          {chosen && <Source quantum={chosen} />}
          {step && (
            <Panel title="Q-model" aside="next token">
              <Predictions top={step.top} right={step.token} />
            </Panel>
          )}
          {step && <Guards step={step} />}
        </div>
      </div>
      {step && <Gates step={step} />}
    </>
  );
}

function Source({ quantum }: { quantum: Program["quanta"][number] }) {
  const lines = quantum.source?.replace(/\n$/, "").split("\n") ?? [];
  const facts = [quantum.line !== null && `line ${quantum.line}`, quantum.cardinality !== null && count(quantum.cardinality, "outcome"), quantum.emitter && "writes tokens"];
  return (
    <Panel title={<bdi>{plain(quantum.name)}</bdi>} aside={facts.filter(Boolean).join(", ")}>
      {quantum.source === null ? (
        <span class="muted">Its source is not kept in this run.</span>
      ) : (
        <pre class="code numbered" tabIndex={0} aria-label={`Source of ${quantum.name}`} style={{ counterReset: `line ${(quantum.line ?? 1) - 1}` }}>
          {lines.map((line, index) => (
            <span key={index}>{`${line}\n`}</span>
          ))}
        </pre>
      )}
    </Panel>
  );
}

function Guards({ step }: { step: ExecutedStep }) {
  if (!step.guards.length) return null;
  return (
    <Panel title="Guards" aside="tested at this token">
      <ul class="units scroll short" tabIndex={0} aria-label="Guards">
        {step.guards.map((guard, index) => (
          <li key={index}>
            <span>
              <bdi class="mono">{shortened(visible(guard.value), 40)}</bdi> is <bdi class="mono">{shortened(visible(guard.case), 40)}</bdi>
            </span>
            <span class={guard.holds ? "good" : "muted"}>{guard.holds ? "✓ holds" : "does not"}</span>
            {guard.on.length > 0 && <span class="says">decided by {plain(guard.on.join(", "), 200)}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Gate = ExecutedStep["quanta"][number];
const OPEN = 0.5;
const agrees = (one: Gate) => one.active === one.gate > OPEN;

const COLUMNS: Column<Gate>[] = [
  { key: "name", title: "Quantum", width: "minmax(170px, 1fr)", value: (one) => one.name, show: (one) => <bdi class="mono">{plain(one.name, 60)}</bdi> },
  { key: "active", title: "Program", width: "104px", value: (one) => Number(one.active), show: (one) => (one.active ? "ran" : one.eligible ? "did not run" : "not reached") },
  { key: "value", title: "Found", width: "minmax(120px, 1fr)", value: (one) => one.value, show: (one) => <bdi class="mono">{one.value === null ? "–" : shortened(visible(one.value), 60)}</bdi> },
  {
    key: "gate",
    title: "Gate of the Q-model",
    width: "190px",
    end: true,
    value: (one) => one.gate,
    show: (one) => (
      <span class="row nowrap">
        <span class="bar" style={{ flex: 1 }}>
          <span style={{ width: `${100 * one.gate}%` }} />
        </span>
        <span style={{ width: "56px" }}>{number(one.gate)}</span>
      </span>
    ),
  },
  { key: "agrees", title: "Agree", width: "92px", value: (one) => Number(agrees(one)), show: (one) => (agrees(one) ? <span class="good">✓ yes</span> : <span class="bad">✗ no</span>) },
];

function Gates({ step }: { step: ExecutedStep }) {
  const wrong = step.quanta.filter((one) => !agrees(one)).length;
  return (
    <Panel title="Gates beside the program's own" aside={wrong ? `${wrong} of ${step.quanta.length} differ` : "all agree"} flush>
      <Table label="Gates" noun={["quantum", "quanta"]} rows={step.quanta} columns={COLUMNS} filterable={false} open={({ name }) => change({ quantum: name }, true)} height={420} />
    </Panel>
  );
}
