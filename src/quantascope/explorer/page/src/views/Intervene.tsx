/** Break a unit by a click: what both models then say to an input, and on demand what it costs on a panel. */
import { offline, useData } from "../data/client";
import type { Effect, Intervened, Preview, Run, Suggestions, Trace, Units } from "../data/shapes";
import { count, number, percent, plain, shortened, signed, visible } from "../format";
import { type Route, change, go, link, route, useRoute } from "../router";
import { Ask } from "../ui/Ask";
import { Predictions } from "../ui/Predictions";
import { QuantaGraph } from "../ui/QuantaGraph";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";
import { Mover, clamped, useArrows } from "../ui/stepping";
import { Tokens } from "../ui/Tokens";

const MOST = 8;

export function InterveneView({ run }: { run: Run }) {
  const units = useData<Units>(`runs/${run.id}/units`);
  const suggested = useData<Suggestions>(`runs/${run.id}/inputs`);
  return (
    <>
      <Title title="Intervene">Click a quantum, then delete, force or replace it, one of its writers or one of its channels. Both models answer at once.</Title>
      <Shown of={units}>{(found) => <Shown of={suggested}>{(inputs) => <Asked run={run} units={found} suggested={inputs} />}</Shown>}</Shown>
    </>
  );
}

/** The interventions of an address. */
function askedBy({ query }: Route): string[] {
  return (query["units"] ?? "").split("\n").filter(Boolean);
}

/** Does or undoes an intervention. The address is asked, not the last drawing of the page: clicks come faster than drawings. */
function toggle(one: string): void {
  const asked = askedBy(route());
  change({ units: (asked.includes(one) ? asked.filter((other) => other !== one) : [...asked, one].slice(-MOST)).join("\n") });
}

function Asked({ run, units, suggested }: { run: Run; units: Units; suggested: Suggestions }) {
  const now = useRoute();
  const { argument, query } = now;
  const asked = askedBy(now);
  const example = suggested.inputs.includes(suggested.placeholder) ? suggested.placeholder : suggested.inputs[0];
  const input = argument || example || "";
  const traced = useData<Trace>(input ? `runs/${run.id}/trace` : null, { input });
  useArrows(traced.state === "ready" ? traced.value.steps.length : 0);
  const step = traced.state === "ready" ? traced.value.steps[clamped(query["step"], traced.value.steps.length)] : undefined;
  const kept = { units: query["units"], unit: query["unit"], panel: query["panel"] };
  return (
    <>
      <Panel>
        <Ask
          value={input}
          action="Use"
          placeholder={suggested.placeholder}
          inputs={suggested.inputs}
          ask={(next) => go("intervene", next, kept)}
          address={(next) => link("intervene", next, kept)}
        />
      </Panel>
      {input && asked.length ? (
        <Answers run={run} input={input} asked={asked} />
      ) : (
        <Panel>
          <Empty title="Nothing is broken yet">Click a quantum in the graph, then choose what to do to it.</Empty>
        </Panel>
      )}
      <div class="columns">
        <div class="stack span-7">
          <Panel title="Q-model" aside="blue: open and in use at this token; dashed: deleted; double: forced or replaced">
            <QuantaGraph
              quanta={units.quanta}
              channels={units.channels}
              open={step?.gates.map(({ name }) => name) ?? []}
              used={step?.channels ?? []}
              units={asked}
              chosen={query["unit"]}
              choose={(unit) => change({ unit }, true)}
              chooseChannel={(from, to) => toggle(`delete ${from}->${to}`)}
            />
            <div class="row beside">
              <span class="muted small">All messages</span>
              <Buttons units={units} asked={asked} kinds={["delete-all", "replace-all"]} />
            </div>
          </Panel>
          {input && asked.length > 0 && <Both run={run} input={input} asked={asked} />}
        </div>
        <div class="stack span-5">
          <Inspector units={units} chosen={query["unit"] ?? ""} asked={asked} />
        </div>
      </div>
      {asked.length > 0 && <Costs run={run} asked={asked} panels={units.panels} />}
    </>
  );
}

interface InspectorProps {
  units: Units;
  chosen: string;
  asked: readonly string[];
}

function Inspector({ units, chosen, asked }: InspectorProps) {
  const known = units.quanta.includes(chosen);
  const buttons = (kinds: readonly string[], unit: string) => <Buttons units={units} asked={asked} kinds={kinds} unit={unit} />;
  const writers = units.writers.filter((name) => name.startsWith(`${chosen}.`));
  const channels = units.channels.filter((ends) => ends.includes(chosen));
  return (
    <Panel title={known ? <bdi>{chosen}</bdi> : "A unit"} aside={known && <a href={link("quanta", chosen)}>what it is for</a>}>
      {known ? (
        <div class="stack tight">
          <div class="row">{buttons(["ablate", "force", "replace"], chosen)}</div>
          <List title="Writers" names={writers} none="It has no writers.">
            {(name) => buttons(["ablate"], name)}
          </List>
          <List title="Channels" names={channels.map(([from, to]) => `${from}->${to}`)} none="It has no channels.">
            {(name) => buttons(["delete"], name)}
          </List>
        </div>
      ) : (
        <label class="row">
          <span class="muted">Click a quantum, or choose one:</span>
          <select value="" onChange={(event) => change({ unit: event.currentTarget.value })}>
            <option value="">quantum</option>
            {units.quanta.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
    </Panel>
  );
}

interface ButtonsProps {
  units: Units;
  asked: readonly string[];
  kinds: readonly string[];
  unit?: string;
}

/** What can be done to a unit, or to all messages. */
function Buttons({ units, asked, kinds, unit = "" }: ButtonsProps) {
  const offered = kinds.filter((kind) => units.kinds.includes(kind)).map((kind) => ({ kind, one: `${kind} ${unit}`.trim() }));
  return (
    <>
      {offered.map(({ kind, one }) => (
        <button key={one} class="do" aria-pressed={asked.includes(one)} aria-label={one} onClick={() => toggle(one)}>
          {kind.replace("-", " ")}
        </button>
      ))}
    </>
  );
}

function List(props: { title: string; names: readonly string[]; none: string; children: (name: string) => preact.ComponentChildren }) {
  const { title, names, none, children } = props;
  return (
    <div>
      <h3>{title}</h3>
      {names.length ? (
        <ul class="units scroll short" tabIndex={0} aria-label={title}>
          {names.map((name) => (
            <li key={name}>
              <bdi class="mono">{name.replace("->", " → ")}</bdi>
              {children(name)}
            </li>
          ))}
        </ul>
      ) : (
        <span class="muted">{none}</span>
      )}
    </div>
  );
}

interface PreviewProps {
  run: Run;
  input: string;
  asked: readonly string[];
}

/** What stands in a preview at the chosen token. */
function usePreview({ run, input, asked }: PreviewProps) {
  const { query } = useRoute();
  const found = useData<Preview>(`runs/${run.id}/preview`, { input, unit: asked.join("\n") });
  return { found, place: (preview: Preview) => clamped(query["step"], preview.steps.length) };
}

/** What the Q-model says with and without the units, and the way back. */
function Answers(props: PreviewProps) {
  const { found, place } = usePreview(props);
  const move = (to: number) => change({ step: to }, true);
  return (
    <Shown of={found} what="Intervening" keep>
      {(preview) => {
        const at = place(preview);
        if (!preview.steps.length) return <Empty title="There is nothing to predict for this input" />;
        return (
          <Panel title={<bdi>{shortened(visible(preview.input), 120)}</bdi>} aside={<Mover at={at} of={preview.steps.length} move={move} />}>
            <div class="stack tight">
              <div class="row">
                {props.asked.map((one) => (
                  <button key={one} class="chip" title="Undo" aria-label={`Undo ${one}`} onClick={() => toggle(one)}>
                    <bdi>{one.replace("->", " → ")}</bdi> ×
                  </button>
                ))}
                <button class="plain" onClick={() => change({ units: null })}>
                  Undo all
                </button>
              </div>
              <div class="answers">
                <span class="muted small">before</span>
                <Tokens tokens={preview.steps.map(({ before }) => ({ text: said(before) }))} chosen={at} choose={move} />
                <span class="muted small">after</span>
                <Tokens tokens={preview.steps.map(({ after, before }) => ({ text: said(after), wrong: said(after) !== said(before) }))} chosen={at} choose={move} />
              </div>
              <p class="muted small">
                {plain(preview.title, 200)}. What the Q-model says, each token after the same tokens as before;{" "}
                {preview.steps.some(({ after, before }) => said(after) !== said(before)) ? "underlined is what changed." : "none of them changed. The bars below show its probabilities."}
                {preview.donor !== null && (
                  <>
                    {" "}
                    Messages come from <bdi>{shortened(visible(preview.donor), 60)}</bdi>.
                  </>
                )}
              </p>
            </div>
          </Panel>
        );
      }}
    </Shown>
  );
}

/** The predictions of both models at the chosen token. */
function Both(props: PreviewProps) {
  const { found, place } = usePreview(props);
  return (
    <Shown of={found} what="Intervening" keep>
      {(preview) => {
        const step = preview.steps[place(preview)];
        if (!step) return null;
        return (
          <div class="columns">
            <Panel title="Q-model" aside="after; the mark is before" span={6}>
              <Predictions top={step.after.top} right={step.token} why="the token that follows" before={step.before} probability={step.after.probability} />
            </Panel>
            <Panel title="Network" aside="after; the mark is before" span={6}>
              {step.source_after ? (
                <Predictions top={step.source_after.top} right={step.token} why="the token that follows" before={step.source_before} probability={step.source_after.probability} />
              ) : (
                <p class="muted">{preview.note ?? "The network has no counterpart to this."}</p>
              )}
            </Panel>
          </div>
        );
      }}
    </Shown>
  );
}

function said({ top }: Preview["steps"][number]["before"]): string {
  return top[0]?.[0] ?? "";
}

/** The effects on a panel are computed when they are asked for. */
function Costs({ run, asked, panels }: { run: Run; asked: readonly string[]; panels: readonly string[] }) {
  const { query } = useRoute();
  const panel = query["panel"] ?? "";
  if (!panels.length) return null;
  return (
    <Panel
      title="Effect on a panel"
      aside={
        <label class="row">
          <span>measured on</span>
          <select value={panel} onChange={(event) => change({ panel: event.currentTarget.value })}>
            <option value="">choose a panel</option>
            {panels.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      }
    >
      {panel ? (
        <div class="stack">
          <p class="muted small">Each intervention on its own.</p>
          {asked.map((unit) => (
            <Cost key={unit} run={run} unit={unit} panel={panel} />
          ))}
        </div>
      ) : (
        <p class="muted">
          Choose a panel to measure accuracy and loss over its events{offline ? "" : ", with an interval"}. <button onClick={() => change({ panel: panels[0]! })}>Measure on {plain(panels[0]!, 40)}</button>
        </p>
      )}
    </Panel>
  );
}

function Cost({ run, unit, panel }: { run: Run; unit: string; panel: string }) {
  const found = useData<Intervened>(`runs/${run.id}/intervene`, { panel, units: unit });
  return (
    <Shown of={found} what="Measuring">
      {({ interventions, events, where }) => (
        <>
          {interventions.map((one) => (
            <section key={one.title} aria-label={one.title}>
              <h3>
                {one.title} <span class="muted">{`on ${count(events, "event")} of ${where}`}</span>
              </h3>
              <div class="columns">
                <OneEffect title="Q-model" effect={one.qmodel} />
                <OneEffect title="Network" effect={one.source} />
              </div>
            </section>
          ))}
        </>
      )}
    </Shown>
  );
}

function OneEffect({ title, effect }: { title: string; effect: Effect | null }) {
  if (!effect)
    return (
      <div class="span-6">
        <p class="muted">{title}: messages are the Q-model's own, the network has no counterpart to them.</p>
      </div>
    );
  const worst = Object.entries(effect.by_token)
    .filter(([, lost]) => lost > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 6);
  const interval = effect.nll_interval && `${number(effect.nll_interval[0])} to ${number(effect.nll_interval[1])}`;
  return (
    <div class="span-6 stack tight">
      <Facts facts={[[`${title}: accuracy lost, points`, number(effect.accuracy_drop)], ["loss, nats per event", signed(effect.nll_rise), interval]]} />
      {worst.length > 0 && <span class="muted small">accuracy lost where this is the right token</span>}
      <div class="predictions">
        {worst.flatMap(([token, lost]) => [
          <span key={`${token} token`} class="token">
            {shortened(visible(token), 24)}
          </span>,
          <span key={`${token} bar`} class="bar">
            <span style={{ width: `${Math.max(0, Math.min(100, lost))}%` }} />
          </span>,
          <span key={`${token} share`} class="share">
            {percent(lost / 100)}
          </span>,
        ])}
      </div>
    </div>
  );
}
