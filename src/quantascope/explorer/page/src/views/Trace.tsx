/** An input token by token: open gates, writers, channels, and what both models predict; two inputs side by side. */
import { useMemo, useState } from "preact/hooks";
import { offline, useData } from "../data/client";
import type { Run, Step, Suggestions, Trace, Unit } from "../data/shapes";
import { number, percent, visible } from "../format";
import { change, go, link, useRoute } from "../router";
import { Graph } from "../ui/Graph";
import { Predictions } from "../ui/Predictions";
import { Empty, Panel, Shown, Title } from "../ui/States";
import { Tokens } from "../ui/Tokens";

export function TraceView({ run }: { run: Run }) {
  const { argument, query } = useRoute();
  const suggested = useData<Suggestions>(`runs/${run.id}/inputs`);
  const inputs = suggested.state === "ready" ? suggested.value.inputs : [];
  const pinned = query["pin"];
  return (
    <>
      <Title title="Trace">Watch the Q-model answer, token by token, beside the network that it explains.</Title>
      <Panel>
        <Ask
          value={argument}
          ask={(input) => go("trace", input, { pin: pinned })}
          beside={
            argument &&
            (pinned ? (
              <button onClick={() => change({ pin: null })}>Unpin {visible(pinned)}</button>
            ) : (
              <button onClick={() => change({ pin: argument })}>Pin to compare</button>
            ))
          }
        />
        {inputs.length > 0 && (
          <div class="row" style={{ marginTop: "12px" }}>
            <span class="muted small">{offline ? "In this file" : "For instance"}</span>
            {inputs.slice(0, 16).map((input) => (
              <a key={input} class="chip" href={link("trace", input, { pin: pinned })}>
                <bdi>{visible(input)}</bdi>
              </a>
            ))}
          </div>
        )}
      </Panel>
      {argument ? (
        <div class="columns">
          <Traced run={run} input={argument} place="step" span={pinned ? 6 : 0} />
          {pinned && <Traced run={run} input={pinned} place="other" span={6} />}
        </div>
      ) : (
        <Empty title="Type an input">The Q-model answers it and shows which quanta were at work.</Empty>
      )}
    </>
  );
}

export function Ask({ value, ask, beside }: { value: string; ask: (input: string) => void; beside?: preact.ComponentChildren }) {
  const [text, set] = useState(value);
  const [last, keep] = useState(value);
  if (last !== value) {
    keep(value);
    set(value);
  }
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) ask(text.trim());
      }}
    >
      <input class="filter" style={{ flex: "0 1 320px", minWidth: 0 }} maxLength={2000} aria-label="Input" placeholder="An input, as in 346" value={text} onInput={(event) => set(event.currentTarget.value)} />
      <button class="primary">Trace</button>
      {beside}
    </form>
  );
}

function Traced({ run, input, place, span }: { run: Run; input: string; place: string; span: number }) {
  const found = useData<Trace>(`runs/${run.id}/trace`, { input });
  return (
    <div class={`stack${span ? ` span-${span}` : ""}`}>
      <Shown of={found} what={`Tracing ${visible(input)}`}>
        {(trace) => <Steps trace={trace} place={place} wide={!span} />}
      </Shown>
    </div>
  );
}

function Steps({ trace, place, wide }: { trace: Trace; place: string; wide: boolean }) {
  const { query } = useRoute();
  const at = Math.max(0, Math.min(trace.steps.length - 1, Number(query[place]) || 0));
  const step = trace.steps[at];
  const move = (to: number) => change({ [place]: to }, true);
  if (!step) return <Empty title="The Q-model emits nothing for this input" />;
  return (
    <>
      <Panel
        title={<bdi>{visible(trace.input)}</bdi>}
        aside={
          <>
            <button class="plain icon" aria-label="Previous token" disabled={at === 0} onClick={() => move(at - 1)}>
              ←
            </button>
            token {at + 1} of {trace.steps.length}
            <button class="plain icon" aria-label="Next token" disabled={at === trace.steps.length - 1} onClick={() => move(at + 1)}>
              →
            </button>
          </>
        }
      >
        <Tokens tokens={trace.steps.map(({ token, right }) => ({ text: token, wrong: right !== null && right !== token }))} chosen={at} choose={move} />
        <p class="muted small" style={{ marginTop: "10px" }}>
          The network itself says <bdi>{trace.source_output.map(visible).join(" ")}</bdi>
          {trace.right && trace.right.join() !== trace.output.join() && (
            <>
              ; right is <bdi>{trace.right.map(visible).join(" ")}</bdi>
            </>
          )}
        </p>
      </Panel>
      <div class="columns">
        <div class={`stack${wide ? " span-8" : ""}`}>
          <div class="columns">
            <Panel title="Q-model" aside={trace.preset} span={6}>
              <Predictions top={step.top} right={step.right} />
            </Panel>
            <Panel title="Network" span={6}>
              <Predictions top={step.source_top} right={step.right} />
            </Panel>
          </div>
          <Panel title="Channels" aside="those in use are drawn thick">
            <Channels trace={trace} step={step} />
          </Panel>
        </div>
        <div class={`stack${wide ? " span-4" : ""}`}>
          <Panel title="Open gates" aside={`${step.gates.length} of ${trace.quanta.length}`}>
            <Active units={step.gates} linked />
          </Panel>
          <Panel title="Active writers" aside={step.writers.length}>
            <Active units={step.writers} />
          </Panel>
        </div>
      </div>
    </>
  );
}

function Active({ units, linked }: { units: Unit[]; linked?: boolean }) {
  if (!units.length) return <span class="muted">None at this token.</span>;
  const most = Math.max(...units.map(({ activity }) => activity), 1e-12);
  return (
    <ul class="units scroll" tabIndex={0} aria-label="Active units">
      {units.map((unit) => (
        <li key={unit.name}>
          {linked ? <a href={link("quanta", unit.name)}>{unit.name}</a> : <span class="mono">{unit.name}</span>}
          <span class="row" title={percent(unit.activity / most)}>
            <span class="bar" style={{ width: "56px" }}>
              <span style={{ width: `${(100 * unit.activity) / most}%` }} />
            </span>
            <span class="measure">{number(unit.activity)}</span>
          </span>
          {unit.says && <bdi class="says">{unit.says}</bdi>}
        </li>
      ))}
    </ul>
  );
}

function Channels({ trace, step }: { trace: Trace; step: Step }) {
  const open = new Set(step.gates.map(({ name }) => name));
  const used = new Set(step.channels.map(([from, to]) => `${from}>${to}`));
  const nodes = useMemo(() => trace.quanta.map((name) => ({ id: name, title: name })), [trace]);
  return (
    <Graph
      label="Quanta and the channels between them"
      nodes={nodes.map((node) => ({ ...node, class: open.has(node.id) ? "lit" : "" }))}
      edges={trace.channels.map(([from, to]) => ({ from, to, class: used.has(`${from}>${to}`) ? "used" : "" }))}
      choose={(name) => go("quanta", name)}
    />
  );
}
