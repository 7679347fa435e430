/** An input token by token: open gates, writers, channels, and what both models predict; two inputs side by side. */
import { useData } from "../data/client";
import type { Run, Step, Suggestions, Trace, Unit } from "../data/shapes";
import { number, percent, plain, shortened, visible } from "../format";
import { change, go, link, useRoute } from "../router";
import { Ask } from "../ui/Ask";
import { Predictions } from "../ui/Predictions";
import { QuantaGraph } from "../ui/QuantaGraph";
import { Empty, Panel, Shown, Title } from "../ui/States";
import { Mover, clamped, useArrows } from "../ui/stepping";
import { Tokens } from "../ui/Tokens";

const STEP = "step";
const OTHER = "other";

export function TraceView({ run }: { run: Run }) {
  const { argument, query } = useRoute();
  const suggested = useData<Suggestions>(`runs/${run.id}/inputs`);
  const { inputs, placeholder } = suggested.state === "ready" ? suggested.value : { inputs: [], placeholder: undefined };
  const pinned = query["pin"];
  const traced = useTrace(run, argument);
  const other = useTrace(run, pinned ?? "");
  useArrows(traced.state === "ready" ? traced.value.steps.length : 0, STEP);
  return (
    <>
      <Title title="Trace">Watch the Q-model answer, token by token, beside the network that it explains.</Title>
      <Panel>
        <Ask
          value={argument}
          action="Trace"
          placeholder={placeholder}
          inputs={inputs}
          ask={(input) => go("trace", input, { pin: pinned })}
          address={(input) => link("trace", input, { pin: pinned })}
          beside={
            argument &&
            (pinned ? (
              <button type="button" onClick={() => change({ pin: null, [OTHER]: null })}>
                Unpin {shortened(visible(pinned), 24)}
              </button>
            ) : (
              <button type="button" onClick={() => change({ pin: argument, [OTHER]: query[STEP] })}>
                Pin to compare
              </button>
            ))
          }
        />
      </Panel>
      {!argument ? (
        <Empty title="Type an input">The Q-model answers it, and you see which quanta were at work.</Empty>
      ) : !pinned ? (
        <Traced of={traced} place={STEP} />
      ) : (
        <div class="columns">
          <Traced of={traced} place={STEP} beside={at(other, query[OTHER])} />
          <Traced of={other} place={OTHER} beside={at(traced, query[STEP])} />
        </div>
      )}
    </>
  );
}

type Found = ReturnType<typeof useTrace>;

function useTrace(run: Run, input: string) {
  return useData<Trace>(input ? `runs/${run.id}/trace` : null, { input });
}

/** The step that is shown; nothing is known of one that is not there yet. */
function at(found: Found, place: string | undefined): Step | null {
  if (found.state !== "ready") return null;
  const { steps } = found.value;
  return steps[clamped(place, steps.length)] ?? null;
}

function Traced({ of, place, beside }: { of: Found; place: string; beside?: Step | null }) {
  return (
    <div class={`stack${beside === undefined ? "" : " span-6"}`}>
      <Shown of={of} what="Tracing">
        {(trace) => <Steps trace={trace} place={place} beside={beside} />}
      </Shown>
    </div>
  );
}

function Steps({ trace, place, beside }: { trace: Trace; place: string; beside?: Step | null }) {
  const { query } = useRoute();
  const shown = clamped(query[place], trace.steps.length);
  const step = trace.steps[shown];
  const wide = beside === undefined;
  if (!step) return <Empty title="The Q-model emits nothing for this input" />;
  return (
    <>
      <Panel title={<bdi>{shortened(visible(trace.input), 120)}</bdi>} aside={<Mover at={shown} of={trace.steps.length} move={(to) => change({ [place]: to }, true)} />}>
        <Tokens
          tokens={trace.steps.map(({ token, right }) => ({ text: token, wrong: right !== null && right !== token }))}
          chosen={shown}
          choose={(to) => change({ [place]: to }, true)}
        />
        <p class="muted small" style={{ marginTop: "10px" }}>
          <Judged trace={trace} />
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
          <Panel title="Gates and channels" aside="open and in use at this token: blue">
            <QuantaGraph
              quanta={trace.quanta}
              channels={trace.channels}
              open={step.gates.map(({ name }) => name)}
              used={step.channels}
              choose={(name) => go("intervene", trace.input, { unit: name, step: shown })}
            />
          </Panel>
        </div>
        <div class={`stack${wide ? " span-4" : ""}`}>
          <Panel title="Open gates" aside={`${step.gates.length} of ${trace.quanta.length}, and how much each writes`}>
            <Active units={step.gates} address={(name) => link("quanta", name)} ablate={(name) => broken(trace, shown, name)} beside={beside?.gates} />
          </Panel>
          <Panel title="Active writers" aside={step.writers.length}>
            <Active units={step.writers} ablate={(name) => broken(trace, shown, name)} beside={beside?.writers} />
          </Panel>
        </div>
      </div>
    </>
  );
}

/** What the network says, and which of both answers is right. */
function Judged({ trace: { output, source_output, right } }: { trace: Trace }) {
  const [model, network] = [same(output, right), same(source_output, right)];
  return (
    <>
      The network itself says {same(source_output, output) ? "the same" : <bdi>{spoken(source_output)}</bdi>}
      {right &&
        (network ? (
          ", which is right"
        ) : model ? (
          ", which is wrong"
        ) : (
          <>
            ; right is <bdi>{spoken(right)}</bdi>
          </>
        ))}
      .
    </>
  );
}

const spoken = (tokens: readonly string[]) => tokens.map(visible).join(" ");
const same = (one: readonly string[], other: readonly string[] | null) => one.join("\n") === other?.join("\n");

function broken(trace: Trace, step: number, name: string): string {
  return link("intervene", trace.input, { units: `ablate ${name}`, step });
}

interface ActiveProps {
  units: readonly Unit[];
  address?: (name: string) => string;
  ablate: (name: string) => string;
  /** What is active for the other input: those that are not are marked. */
  beside?: readonly Unit[];
}

function Active({ units, address, ablate, beside }: ActiveProps) {
  if (!units.length) return <span class="muted">None at this token.</span>;
  const most = Math.max(...units.map(({ activity }) => activity), 1e-12);
  const also = beside && new Set(beside.map(({ name }) => name));
  return (
    <ul class="units scroll" tabIndex={0} aria-label="Active units">
      {units.map((unit) => (
        <li key={unit.name}>
          <span class="row">
            {address ? <a href={address(unit.name)}>{unit.name}</a> : <span class="mono">{unit.name}</span>}
            {also && !also.has(unit.name) && <span class="only">only here</span>}
          </span>
          <span class="row nowrap" title={`${percent(unit.activity / most)} of the most`}>
            <span class="bar" style={{ width: "52px" }}>
              <span style={{ width: `${(100 * unit.activity) / most}%` }} />
            </span>
            <span class="measure">{number(unit.activity)}</span>
            <a class="ablate" href={ablate(unit.name)} aria-label={`Ablate ${unit.name}`} title={`Ablate ${visible(unit.name)}`}>
              ✕
            </a>
          </span>
          {unit.says && <bdi class="says">{plain(unit.says, 200)}</bdi>}
        </li>
      ))}
    </ul>
  );
}
