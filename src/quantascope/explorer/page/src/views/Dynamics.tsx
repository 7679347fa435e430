/** A forest while it is learned: losses, when each task is acquired, and Q-dynamics beside it. */
import { useMemo } from "preact/hooks";
import { useData } from "../data/client";
import type { Dynamics, ForestTask, Run } from "../data/shapes";
import { exact, number, percent } from "../format";
import { change, useRoute } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { Graph } from "../ui/Graph";
import { Layers } from "../ui/Layers";
import { Facts, Panel, Shown, Title } from "../ui/States";
import { sequential } from "../ui/theme";
import { Slider } from "../ui/Slider";

const AXIS = "dynamics";

export function DynamicsView({ run }: { run: Run }) {
  const found = useData<Dynamics>(`runs/${run.id}/dynamics`);
  return <Shown of={found}>{(dynamics) => <Whole dynamics={dynamics} />}</Shown>;
}

function Whole({ dynamics }: { dynamics: Dynamics }) {
  const { steps, tasks, threshold } = dynamics;
  const { query } = useRoute();
  const last = steps.at(-1) ?? 0;
  const at = Math.min(last, Number(query["t"] ?? last) || 0);
  const losses = useMemo<Line[]>(
    () => [
      { label: "measured", values: dynamics.loss, hue: 0, width: 2.2 },
      { label: "from acquisition times alone", values: dynamics.reconstructed, hue: 1, dashed: true },
    ],
    [dynamics],
  );
  const depths = useMemo(() => [...new Set(tasks.map(({ depth }) => depth))].sort((a, b) => a - b), [dynamics]);
  const each = useMemo<Line[]>(() => tasks.map(({ name, loss, depth }) => ({ label: name, values: loss, hue: depths.indexOf(depth), width: 1.1 })), [dynamics]);
  return (
    <>
      <Title title="Dynamics">
        Tasks that are asked with known frequency, acquired one by one. A task is acquired once its functional coefficient stays above {exact(threshold)}.
      </Title>
      <Panel>
        <Facts facts={facts(dynamics)} />
      </Panel>
      <Panel title="Loss" aside="bits, weighted by how often each task is asked">
        <Chart label="Loss by training step" x={steps} xLabel="step" yLabel="bits" lines={losses} height={210} sync={AXIS} marker={at} legend />
      </Panel>
      <div class="columns">
        <Panel title="Loss of each task" aside={<Layers layers={depths.map((depth) => `depth ${depth}`)} />} span={6}>
          <Chart label="Loss of each task by training step" x={steps} xLabel="step" yLabel="bits" lines={each} height={260} sync={AXIS} marker={at} legend={false} />
        </Panel>
        <Panel title="Acquisition against demand" aside="both axes logarithmic" span={6}>
          <Times tasks={tasks} depths={depths} />
        </Panel>
      </div>
      <Forests dynamics={dynamics} at={at} />
    </>
  );
}

function facts({ tasks, clock, forecast }: Dynamics): [string, string, string?][] {
  const acquired = tasks.filter((task) => task.acquired !== null);
  const beside = (value: number | null) => (value === null ? "" : `by demand alone ${number(value)}`);
  return [
    ["tasks acquired", number(acquired.length), `of ${number(tasks.length)}`],
    ["last acquired by step", number(acquired.length ? Math.max(...acquired.map((task) => task.acquired!)) : null)],
    ["clock exponent", number(clock.gamma), clock.r2 === null ? "" : `R² ${number(clock.r2)}`],
    ["cost of a level", number(clock.cost_per_level)],
    ["order foretold by Q-dynamics, rank correlation", number(forecast.rank), beside(forecast.rank_demand_only)],
    ["error of the foretold times, log", number(forecast.log_error), beside(forecast.log_error_demand_only)],
  ];
}

/** Steps of acquisition over demand: measured by depth, and as Q-dynamics foretells them. */
function Times({ tasks, depths }: { tasks: readonly ForestTask[]; depths: readonly number[] }) {
  const { x, lines } = useMemo(() => {
    const sorted = tasks.filter(({ demand }) => demand > 0).sort((a, b) => a.demand - b.demand);
    const positive = (value: number | null) => (value === null || value <= 0 ? null : value);
    const points = (label: string, hue: Line["hue"], value: (task: ForestTask) => number | null, hollow = false): Line => ({
      label,
      hue,
      values: sorted.map((task) => positive(value(task))),
      points: true,
      hollow,
    });
    const measured = depths.map((depth, hue) => points(`depth ${depth}`, hue, (task) => (task.depth === depth ? task.acquired : null)));
    return { x: sorted.map(({ demand }) => demand), lines: [points("Q-dynamics", "muted", (task) => task.simulated, true), ...measured] };
  }, [tasks]);
  return <Chart label="Step of acquisition by demand" x={x} xLabel="demand" yLabel="acquired by step" lines={lines} height={260} logX logY legend />;
}

function Forests({ dynamics, at }: { dynamics: Dynamics; at: number }) {
  const { steps, tasks, hidden } = dynamics;
  const place = Math.max(0, steps.filter((step) => step <= at).length - 1);
  const count = (value: (task: ForestTask) => number | null) => tasks.filter((task) => (value(task) ?? Infinity) <= at).length;
  return (
    <>
      <Panel title={`At step ${number(steps[place])}`} aside={<Scale />}>
        <Slider label="Training step" value={place} most={steps.length - 1} told={number(steps[place])} set={(index) => change({ t: steps[index] }, true)} />
      </Panel>
      <div class="columns">
        <Panel title="Network" aside={`${count((task) => task.acquired)} of ${tasks.length} acquired`} span={6}>
          <Forest label="Forest as the network acquires it" tasks={tasks} hidden={hidden} at={at} last={steps.at(-1) ?? 1} when={(task) => task.acquired} />
        </Panel>
        <Panel title="Q-dynamics" aside={`${count((task) => task.simulated)} of ${tasks.length} acquired`} span={6}>
          <Forest label="Forest as Q-dynamics foretells it" tasks={tasks} hidden={hidden} at={at} last={steps.at(-1) ?? 1} when={(task) => task.simulated} />
        </Panel>
      </div>
    </>
  );
}

interface ForestProps {
  label: string;
  tasks: readonly ForestTask[];
  hidden: Dynamics["hidden"];
  at: number;
  last: number;
  when: (task: ForestTask) => number | null;
}

function Forest({ label, tasks, hidden, at, last, when }: ForestProps) {
  const nodes = [
    ...hidden.map(({ name }) => ({ id: name, title: `${name}, never asked`, class: "unasked" })),
    ...tasks.map((task) => {
      const step = when(task);
      const title = `${task.name}, demand ${percent(task.demand)}, ${step === null ? "not acquired" : `by step ${number(step)}`}`;
      return { id: task.name, title, ...(step !== null && step <= at && { fill: sequential(step / (last || 1)) }) };
    }),
  ];
  const edges = [...hidden, ...tasks].flatMap(({ name, parent }) => (parent === null ? [] : [{ from: parent, to: name }]));
  return <Graph label={label} nodes={nodes} edges={edges} discs />;
}

function Scale() {
  return (
    <span class="row nowrap">
      acquired early <i class="scale" /> late
    </span>
  );
}
