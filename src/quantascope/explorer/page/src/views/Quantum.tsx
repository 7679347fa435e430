/** One quantum: when it was acquired, what it is for, what it is made of and what it is connected to. */
import { useMemo } from "preact/hooks";
import { askable, get, offline, useData } from "../data/client";
import { useResource } from "../data/resource";
import type { EventPage, OneQuantum, Preview, Run, Suggestions, Which } from "../data/shapes";
import { count, number, percent, plain } from "../format";
import { change, link, useRoute } from "../router";
import { Chart } from "../ui/Chart";
import { EventList } from "../ui/EventList";
import { acquired } from "../ui/lines";
import { Facts, Panel, Shown, Title } from "../ui/States";

/** Inputs of which one is chosen to show what happens without a quantum. */
const MOST_TRIED = 8;

const WHICH: [Which, string][] = [
  ["strongest", "Strongest"],
  ["borderline", "Borderline"],
  ["absent", "Not helped"],
];

export function QuantumView({ run, name }: { run: Run; name: string }) {
  const found = useData<OneQuantum>(`runs/${run.id}/quantum`, { name });
  return <Shown of={found}>{(one) => <Known run={run} one={one} />}</Shown>;
}

function Known({ run, one }: { run: Run; one: OneQuantum }) {
  const { quantum } = one;
  const lines = useMemo(() => [{ label: quantum.name, values: acquired(one.curve), hue: 0, width: 2.25 }], [one]);
  const says = quantum.description;
  const place = useResource(run.views["intervene"]?.there ? `${run.id} ${quantum.name}` : null, () => mostChanged(run.id, quantum.name));
  return (
    <>
      <Title
        title={quantum.name}
        aside={
          <>
            <a class="button" href={link("quanta")} style={{ textDecoration: "none" }}>
              All quanta
            </a>
            <a class="button primary" href={without(quantum.name, place.state === "ready" ? place.value : null)} style={{ textDecoration: "none" }}>
              See what happens without it
            </a>
          </>
        }
      >
        {plain(says ? `It helps where this holds: ${says.text}` : `Typical tokens: ${quantum.words}`, 300)}
      </Title>
      <Panel>
        <Facts
          facts={[
            ["layer", plain(quantum.layer, 32)],
            ["acquired by step", number(quantum.acquired)],
            ["demand", percent(quantum.demand), count(quantum.events, "event")],
            ["complexity", number(quantum.complexity)],
            ["explained", percent(quantum.explained)],
            ...(says ? ([[`F1 of the description (${says.of})`, number(says.f1), `always true ${number(says.always_true)}`]] as [string, string, string][]) : []),
          ]}
        />
      </Panel>
      <div class="columns">
        <div class="stack span-8">
          <Panel title="Acquisition">
            <Chart label={`Share of ${quantum.name} acquired by step`} x={one.bounds} xLabel="step" yLabel="share acquired" lines={lines} yRange={[0, 1.02]} height={210} marker={quantum.acquired} />
          </Panel>
          <Events run={run} name={quantum.name} />
        </div>
        <div class="stack span-4">
          <Links title="Parents" names={one.parents} none="It reads from no other quantum." />
          <Links title="Children" names={one.children} none="No other quantum reads from it." />
          <Panel title="Writers" aside={count(one.writers.length, "writer")}>
            {one.writers.length ? (
              <ul class="units scroll" tabIndex={0} aria-label="Writers">
                {one.writers.map((writer) => (
                  <li key={writer.name}>
                    <span class="mono">{writer.name}</span>
                    <span />
                    {writer.description && <bdi class="says">{plain(writer.description, 200)}</bdi>}
                  </li>
                ))}
              </ul>
            ) : (
              <span class="muted">Writers are known once a Q-model is fitted.</span>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}

/** A token of the answer to an input. */
interface Place {
  input: string;
  step: number;
}

/** Where breaking a quantum is shown. */
function without(name: string, place: Place | null): string {
  return link("intervene", place?.input ?? "", { units: `ablate ${name}`, unit: name, step: place?.step });
}

/** Of the inputs that a quantum helped most, or of the few in a file, the token whose probability falls most without it. */
async function mostChanged(run: string, name: string): Promise<Place | null> {
  const path = `runs/${run}/preview`;
  const asked = { unit: `ablate ${name}` };
  const inputs = (await candidates(run, name)).filter((input) => askable(path, { ...asked, input }));
  const previews = await Promise.all(inputs.map((input) => get<Preview>(path, { ...asked, input })));
  const places = previews.flatMap(({ steps }, index) =>
    steps.map(({ before, after }, step) => ({ input: inputs[index]!, step, fall: before.probability - after.probability })),
  );
  return places.reduce<(typeof places)[number] | null>((most, one) => (most && most.fall >= one.fall ? most : one), null);
}

async function candidates(run: string, name: string): Promise<string[]> {
  if (offline) return askable(`runs/${run}/inputs`) ? (await get<Suggestions>(`runs/${run}/inputs`)).inputs : [];
  const { events } = await get<EventPage>(`runs/${run}/events`, { name, which: WHICH[0]![0] });
  return [...new Set(events.map(({ input }) => input))].filter(Boolean).slice(0, MOST_TRIED);
}

function Links({ title, names, none }: { title: string; names: string[]; none: string }) {
  return (
    <Panel title={title}>
      {names.length ? (
        <div class="row">
          {names.map((name) => (
            <a key={name} class="chip" href={link("quanta", name)}>
              {name}
            </a>
          ))}
        </div>
      ) : (
        <span class="muted">{none}</span>
      )}
    </Panel>
  );
}

function Events({ run, name }: { run: Run; name: string }) {
  const { query } = useRoute();
  const which = WHICH.find(([key]) => key === query["events"])?.[0] ?? "strongest";
  const found = useData<EventPage>(`runs/${run.id}/events`, { name, which });
  return (
    <Panel
      title="Events in context"
      aside={
        <span class="segments">
          {WHICH.map(([key, title]) => (
            <button key={key} aria-pressed={key === which} onClick={() => change({ events: key })}>
              {title}
            </button>
          ))}
        </span>
      }
    >
      <Shown of={found} keep>
        {(first) => (
          <EventList label={`Events: ${which}`} run={run.id} first={first} page={(offset) => get(`runs/${run.id}/events`, { name, which, offset })} unit="priority" />
        )}
      </Shown>
    </Panel>
  );
}
