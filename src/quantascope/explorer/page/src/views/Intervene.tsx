/** Break units and see what it costs, in the Q-model and in the network itself. */
import { useState } from "preact/hooks";
import { useData } from "../data/client";
import type { Effect, Intervened, Run, Units } from "../data/shapes";
import { count, number, percent, signed, visible } from "../format";
import { change, useRoute } from "../router";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";

const KINDS = ["ablate", "force", "delete"] as const;
type Kind = (typeof KINDS)[number];

export function InterveneView({ run }: { run: Run }) {
  const units = useData<Units>(`runs/${run.id}/units`);
  return (
    <>
      <Title title="Intervene">Ablate or force a quantum or writer, or delete a channel: what is lost, in the Q-model and in the network itself.</Title>
      <Shown of={units}>{(found) => <Asked run={run} units={found} />}</Shown>
    </>
  );
}

function Asked({ run, units }: { run: Run; units: Units }) {
  const { query } = useRoute();
  const asked = (query["units"] ?? "").split("\n").filter(Boolean);
  const panel = query["panel"] ?? units.panels[0] ?? "";
  const set = (next: string[]) => change({ units: [...new Set(next)].join("\n") });
  return (
    <>
      <Panel>
        <div class="row">
          <Choose units={units} add={(one) => set([...asked, one])} />
          <label class="row">
            <span class="muted">on</span>
            <select value={panel} onChange={(event) => change({ panel: event.currentTarget.value })}>
              {units.panels.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
        <div class="row" style={{ marginTop: "12px" }}>
          {asked.map((one) => (
            <button key={one} class="chip" title="Remove" onClick={() => set(asked.filter((other) => other !== one))}>
              {visible(one).replaceAll("␣", " ")} ×
            </button>
          ))}
        </div>
      </Panel>
      {asked.length ? <Effects run={run} asked={asked} panel={panel} /> : <Empty title="Nothing is broken yet">Choose a unit above.</Empty>}
    </>
  );
}

function Choose({ units, add }: { units: Units; add: (asked: string) => void }) {
  const [kind, setKind] = useState<Kind>("ablate");
  const names = kind === "delete" ? units.channels.map(([from, to]) => `${from}->${to}`) : kind === "force" ? units.quanta : [...units.quanta, ...units.writers];
  const [unit, setUnit] = useState("");
  const chosen = names.includes(unit) ? unit : (names[0] ?? "");
  return (
    <>
      <span class="segments">
        {KINDS.map((one) => (
          <button key={one} aria-pressed={one === kind} onClick={() => setKind(one)}>
            {one}
          </button>
        ))}
      </span>
      <select aria-label="Unit" value={chosen} onChange={(event) => setUnit(event.currentTarget.value)}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <button class="primary" disabled={!chosen} onClick={() => add(`${kind} ${chosen}`)}>
        Add
      </button>
    </>
  );
}

function Effects({ run, asked, panel }: { run: Run; asked: string[]; panel: string }) {
  const found = useData<Intervened>(`runs/${run.id}/intervene`, { panel, units: asked.join("\n") });
  return (
    <Shown of={found} what="Intervening">
      {({ interventions, events, where }) => (
        <>
          {interventions.map((one) => (
            <Panel key={one.title} title={one.title} aside={`${count(events, "event")} of ${where}`}>
              <div class="columns">
                <OneEffect title="Q-model" effect={one.qmodel} />
                <OneEffect title="Network" effect={one.source} />
              </div>
            </Panel>
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
        <h3>{title}</h3>
        <p class="muted">Channels are the Q-model's own: the network has no counterpart to them.</p>
      </div>
    );
  const worst = Object.entries(effect.by_token).sort(([, a], [, b]) => b - a).slice(0, 6);
  const interval = effect.nll_interval && `${number(effect.nll_interval[0])} to ${number(effect.nll_interval[1])}`;
  return (
    <div class="span-6 stack" style={{ gap: "12px" }}>
      <h3>{title}</h3>
      <Facts facts={[["accuracy lost", percent(effect.accuracy_drop)], ["loss in nats", signed(effect.nll_rise), interval]]} />
      <div class="predictions">
        {worst.flatMap(([token, lost]) => [
          <span key={`${token} token`} class="token">{visible(token)}</span>,
          <span key={`${token} bar`} class="bar">
            <span style={{ width: `${100 * Math.max(0, Math.min(1, lost))}%` }} />
          </span>,
          <span key={`${token} share`} class="share">{percent(lost)}</span>,
        ])}
      </div>
    </div>
  );
}
