/** Loss and acquisition on one time axis; a brushed interval tells which events it helped, and where. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { askable, get, useData } from "../data/client";
import type { Brushed, EventPage, Loss, Run, Training } from "../data/shapes";
import { count, number, percent, plain } from "../format";
import { change, go, link, useRoute } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { EventList } from "../ui/EventList";
import { Layers } from "../ui/Layers";
import { acquired, aligned } from "../ui/lines";
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
  const brushed = interval(bounds, query);
  const loss = useMemo(() => losses(training), [training]);
  const curves = useMemo<Line[]>(
    () => quanta.map(({ name, layer, values }) => ({ label: name, values: acquired(values), hue: layers.indexOf(layer), width: 1.5 })),
    [training],
  );
  const axis = useMemo<[number, number]>(() => [Math.min(loss.x[0] ?? 0, bounds[0] ?? 0), Math.max(loss.x.at(-1) ?? 1, bounds.at(-1) ?? 1)], [training]);
  const brush = bounds.length > 1 ? (a: number, b: number) => change(snapped(bounds, a, b)) : undefined;
  // The server sums over all events once; asked for now, the first brush need not wait for that.
  useEffect(() => {
    const whole = { from: bounds[0], to: bounds.at(-1) };
    if (bounds.length > 1 && askable(`runs/${run.id}/interval`, whole)) get(`runs/${run.id}/interval`, whole).catch(() => undefined);
  }, [training]);
  const waiting = useRef(false);
  const wanted = useRef<{ from: number; to: number } | null>(null);
  // While one drags, the interval is asked for, one at a time and the last one in the end: it is there on letting go.
  const brushing = (a: number, b: number) => {
    wanted.current = snapped(bounds, a, b);
    if (!waiting.current) fetchWanted();
  };
  const fetchWanted = () => {
    const next = wanted.current;
    wanted.current = null;
    waiting.current = next !== null;
    if (next) get(`runs/${run.id}/interval`, next).then(fetchWanted, fetchWanted);
  };
  return (
    <>
      <Title title="Training">
        {quanta.length
          ? `Loss above, the acquisition of ${count(quanta.length, "quantum", "quanta")} below. Drag over an interval, or choose its steps, to see what it helped.`
          : "Loss by training step."}
      </Title>
      <Panel title="Loss" aside={bounds.length > 1 && <Between bounds={bounds} brushed={brushed} />}>
        {loss.lines.length ? (
          <Chart label="Loss by training step" x={loss.x} xLabel="step" yLabel="nats per event" lines={loss.lines} height={230} xRange={axis} sync={AXIS} brushed={brushed} brush={brush} brushing={brushing} legend />
        ) : (
          <Empty title="No losses were recorded" />
        )}
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
            xRange={axis}
            yRange={[0, 1.02]}
            sync={AXIS}
            brushed={brushed}
            brush={brush}
            brushing={brushing}
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

/** The interval as two menus, for those who do not drag. */
function Between({ bounds, brushed }: { bounds: number[]; brushed: [number, number] | null }) {
  const [from, to] = brushed ?? [bounds[0]!, bounds.at(-1)!];
  const choice = (label: string, value: number, options: number[], set: (step: number) => void) => (
    <select aria-label={label} value={brushed ? value : ""} onChange={(event) => event.currentTarget.value && set(Number(event.currentTarget.value))}>
      {!brushed && <option value="">{label}</option>}
      {options.map((bound) => (
        <option key={bound} value={bound}>
          {number(bound)}
        </option>
      ))}
    </select>
  );
  return (
    <span class="row">
      {choice("From step", from, bounds.slice(0, -1), (step) => change(snapped(bounds, step, Math.max(to, step))))}
      <span aria-hidden="true">–</span>
      {choice("To step", to, bounds.slice(1), (step) => change(snapped(bounds, Math.min(from, step), step)))}
      <button disabled={!brushed} onClick={() => change({ from: null, to: null })}>
        Clear
      </button>
    </span>
  );
}

function Interval({ run, layers, from, to }: { run: Run; layers: string[]; from: number; to: number }) {
  const found = useData<Brushed>(`runs/${run.id}/interval`, { from, to });
  const page = (offset: number) => get<EventPage>(`runs/${run.id}/interval`, { from, to, offset });
  return (
    <Shown of={found} what="Reading the interval" keep>
      {(brushed) => (
        <div class="columns" data-interval={`${from} ${to}`}>
          <Panel title={`Helped most, steps ${number(from)} to ${number(to)}`} aside={`${count(brushed.total, "event")}, nats gained`} span={8}>
            <EventList label="Events of the interval" run={run.id} first={brushed} page={page} unit="nats gained" />
          </Panel>
          <div class="stack span-4">
            <Panel title="Through which layer">
              <div class="predictions">
                {brushed.layers.flatMap(({ layer, share }) => [
                  <bdi key={`${layer} name`}>{plain(layer, 32)}</bdi>,
                  <span key={`${layer} bar`} class="bar" style={hueStyle(layers.includes(layer) ? layers.indexOf(layer) : "muted")}>
                    <span style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }} />
                  </span>,
                  <span key={`${layer} share`} class="share">
                    {percent(share)}
                  </span>,
                ])}
              </div>
            </Panel>
            <Panel title="Quanta that grew" aside="share of each gained">
              {brushed.quanta.length ? (
                <ul class="units">
                  {brushed.quanta.map(({ name, gained }) => (
                    <li key={name}>
                      <a href={link("quanta", name)}>{name}</a>
                      <span>{percent(gained)}</span>
                    </li>
                  ))}
                </ul>
              ) : (
                <span class="muted">None grew here.</span>
              )}
            </Panel>
          </div>
        </div>
      )}
    </Shown>
  );
}

const LOOKS: Record<Loss["kind"], Partial<Line>> = {
  all: { hue: "ink", width: 2.2 },
  "held-out": { hue: "ink", width: 2.2, dashed: true },
  class: { width: 1.2 },
  step: { hue: "muted", width: 0.6 },
};

/** Every token class has a hue of its own; what is about all events has none. */
function losses({ losses }: Training): { x: number[]; lines: Line[] } {
  const classes = losses.filter(({ kind }) => kind === "class");
  return aligned(losses.map((loss) => ({ label: loss.name, hue: classes.indexOf(loss), steps: loss.steps, values: loss.values, ...LOOKS[loss.kind] })));
}

function interval(bounds: readonly number[], { from, to }: Record<string, string>): [number, number] | null {
  if (!from || !to || bounds.length < 2 || !Number.isFinite(Number(from)) || !Number.isFinite(Number(to))) return null;
  const whole = snapped(bounds, Number(from), Number(to));
  return [whole.from, whole.to];
}

/** Whole intervals: the nearest bounds. */
function snapped(bounds: readonly number[], a: number, b: number): { from: number; to: number } {
  const nearest = (value: number) => bounds.reduce((best, bound, index) => (Math.abs(bound - value) < Math.abs(bounds[best]! - value) ? index : best), 0);
  const first = Math.min(nearest(Math.min(a, b)), bounds.length - 2);
  const last = Math.max(nearest(Math.max(a, b)), first + 1);
  return { from: bounds[first]!, to: bounds[last]! };
}
