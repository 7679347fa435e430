/** Loss and acquisition on one time axis; a brushed interval tells which events it helped, and where. */
import { useMemo } from "preact/hooks";
import { useData } from "../data/client";
import type { Brushed, Run, Training } from "../data/shapes";
import { count, number, percent } from "../format";
import { change, go, link, useRoute } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { EventList } from "../ui/EventList";
import { Empty, Panel, Shown, Title } from "../ui/States";
import { hueStyle } from "../ui/theme";

const AXIS = "training";

export function TrainingView({ run }: { run: Run }) {
  const training = useData<Training>(`runs/${run.id}/training`);
  return <Shown of={training}>{(found) => <Charts run={run} training={found} />}</Shown>;
}

function Charts({ run, training }: { run: Run; training: Training }) {
  const { bounds, layers, quanta } = training;
  const { query } = useRoute();
  const [from, to] = [Number(query["from"]), Number(query["to"])];
  const brushed: [number, number] | null = query["to"] && Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
  const loss = useMemo(() => aligned(training.losses), [training]);
    const curves = useMemo<Line[]>(
    () => quanta.map(({ name, layer, values }) => ({ label: name, values: [0, ...cumulative(values)], hue: layers.indexOf(layer), width: 1.5 })),
    [training],
  );
  const brush = (a: number, b: number) => change(snapped(bounds, a, b));
  return (
    <>
      <Title title="Training" aside={brushed && <button onClick={() => change({ from: null, to: null })}>Clear the interval</button>}>
        Loss above, the acquisition of {count(quanta.length, "quantum", "quanta")} below, on the same steps. Drag over an interval to see what it
        helped.
      </Title>
      <Panel title="Loss">
        <Chart label="Loss by training step" x={loss.x} xLabel="step" yLabel="nats per event" lines={loss.lines} height={210} sync={AXIS} brushed={brushed} brush={brush} />
      </Panel>
      <Panel title="Acquisition" aside={<Layers layers={layers} />}>
        {quanta.length ? (
          <Chart
            label="Share of each quantum acquired by training step"
            x={bounds}
            xLabel="step"
            yLabel="share acquired"
            lines={curves}
            height={250}
            yRange={[0, 1.02]}
            sync={AXIS}
            brushed={brushed}
            brush={brush}
            choose={(line) => go("quanta", quanta[line]!.name)}
            legend={false}
          />
        ) : (
          <Empty title="No quanta have been found in this run" command={run.views["quanta"]?.command} />
        )}
      </Panel>
      {brushed && <Interval run={run} layers={layers} from={brushed[0]} to={brushed[1]} />}
    </>
  );
}

function Interval({ run, layers, from, to }: { run: Run; layers: string[]; from: number; to: number }) {
  const found = useData<Brushed>(`runs/${run.id}/interval`, { from, to });
  return (
    <Shown of={found} what="Reading the interval">
      {({ events, layers: shares, quanta }) => (
        <div class="columns">
          <Panel title={`Helped most, steps ${number(from)} to ${number(to)}`} span={8}>
            <EventList events={events} unit="nats" />
          </Panel>
          <div class="stack span-4">
            <Panel title="Through which layer">
              {shares.map(({ layer, share }) => (
                <div key={layer} class="predictions" style={hueStyle(layers.indexOf(layer))}>
                  <span>{layer}</span>
                  <span class="bar">
                    <span style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }} />
                  </span>
                  <span class="share">{percent(share)}</span>
                </div>
              ))}
            </Panel>
            <Panel title="Quanta that grew">
              <ul class="units">
                {quanta.map(({ name, gained }) => (
                  <li key={name}>
                    <a href={link("quanta", name)}>{name}</a>
                    <span>{percent(gained)}</span>
                  </li>
                ))}
              </ul>
            </Panel>
          </div>
        </div>
      )}
    </Shown>
  );
}

function Layers({ layers }: { layers: string[] }) {
  return (
    <span class="row">
      {layers.map((layer, index) => (
        <span key={layer} class="row" style={{ ...hueStyle(index), gap: "6px" }}>
          <i class="dot" />
          {layer}
        </span>
      ))}
    </span>
  );
}

/** Losses on one axis: all steps at which any was measured. */
function aligned(losses: Training["losses"]): { x: number[]; lines: Line[] } {
  const x = [...new Set(losses.flatMap(({ steps }) => steps))].sort((a, b) => a - b);
  const lines = losses.map(({ name, steps, values }, index) => {
    const at = new Map(steps.map((step, place) => [step, values[place] ?? null]));
    return { label: name, hue: index, values: x.map((step) => at.get(step) ?? null) };
  });
  return { x, lines };
}

/** Priority by interval, as the share gained so far. */
export function cumulative(values: readonly number[]): number[] {
  const total = values.reduce((sum, value) => sum + value, 0) || 1;
  let sum = 0;
  return values.map((value) => (sum += value) / total);
}

/** Whole intervals: the nearest bounds. */
function snapped(bounds: readonly number[], a: number, b: number): { from: number; to: number } {
  const nearest = (value: number) => bounds.reduce((best, bound, index) => (Math.abs(bound - value) < Math.abs(bounds[best]! - value) ? index : best), 0);
  const first = Math.min(nearest(Math.min(a, b)), bounds.length - 2);
  const last = Math.max(nearest(Math.max(a, b)), first + 1);
  return { from: bounds[first]!, to: bounds[last]! };
}
