/** Runs side by side: matched quanta and their curves, what recurs, losses, and in which settings they differ. */
import { useMemo } from "preact/hooks";
import { useData } from "../data/client";
import type { Compared, ComparedRun, Partner, Run } from "../data/shapes";
import { count, number, percent, plain, visible } from "../format";
import { change, link, useRoute } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { Layers } from "../ui/Layers";
import { acquired, aligned } from "../ui/lines";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";
import { type Column, Table } from "../ui/Table";

const MOST = 6;

export function CompareView({ run, runs }: { run: Run; runs: Run[] }) {
  const { query } = useRoute();
  const alike = runs.filter(({ kind }) => kind === run.kind);
  const asked = (query["runs"] ?? "").split(",");
  const chosen = alike.filter(({ id }) => asked.includes(id));
  const compared = (chosen.length > 1 ? chosen : alike).slice(0, MOST);
  const found = useData<Compared>(compared.length > 1 ? "compare" : null, { runs: compared.map(({ id }) => id).join(",") });
  const toggle = (id: string) => {
    const ids = compared.map((one) => one.id);
    const next = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id];
    if (next.length > 1) change({ runs: alike.map((one) => one.id).filter((one) => next.includes(one)).join(","), base: null });
  };
  return (
    <>
      <Title title="Compare">What runs have in common: quanta matched by the events that they help, and which of them recur more often than by chance.</Title>
      {alike.length > 2 && (
        <Panel>
          <div class="row" role="group" aria-label="Runs to compare">
            {alike.map(({ id, title }) => (
              <button key={id} class="chip" aria-pressed={compared.some((one) => one.id === id)} onClick={() => toggle(id)}>
                <bdi>{plain(title, 40)}</bdi>
              </button>
            ))}
          </div>
        </Panel>
      )}
      {compared.length < 2 ? (
        <Empty title="Only one run of this kind is open" command="quantascope explore RUN RUN" />
      ) : (
        <Shown of={found} what="Matching quanta" keep>
          {(value) => <Side compared={value} />}
        </Shown>
      )}
    </>
  );
}

function Side({ compared }: { compared: Compared }) {
  const { runs, note } = compared;
  const { query } = useRoute();
  const base = Math.max(0, runs.findIndex(({ id }) => id === query["base"]));
  return (
    <>
      {note && (
        <Panel>
          <p class="muted">{plain(note, 600)}</p>
        </Panel>
      )}
      {compared.kind === "source" && <Recurring compared={compared} base={base} />}
      {runs.some(({ losses }) => losses.length) && <Losses runs={runs} />}
      {compared.kind === "forest" && <Tasks runs={runs} />}
      {runs.some(({ accuracy }) => Object.keys(accuracy).length) && <Accuracies runs={runs} />}
      <Settings runs={runs} />
    </>
  );
}

type Row = ComparedRun["quanta"][number];

function Recurring({ compared, base }: { compared: Compared; base: number }) {
  const { runs, permutations } = compared;
  const { query } = useRoute();
  const here = runs[base]!;
  const columns = useMemo(() => columnsOf(runs, base), [runs, base]);
  const chosen = here.quanta.find(({ name }) => name === query["quantum"]) ?? here.quanta[0];
  const recur = (wanted: (partners: (Partner | null)[]) => boolean) => here.quanta.filter(({ partners }) => wanted(partners.filter((_, at) => at !== base))).length;
  if (!here.quanta.length) return <Empty title="These runs have no quanta yet" command="quantascope discover RUN" />;
  return (
    <>
      <Panel
        title="Recurrence"
        aside={
          <label class="row">
            <span>quanta of</span>
            <select value={here.id} onChange={(event) => change({ base: event.currentTarget.value, quantum: null })}>
              {runs.map(({ id, title }) => (
                <option key={id} value={id}>
                  {plain(title, 40)}
                </option>
              ))}
            </select>
          </label>
        }
      >
        <Facts
          facts={[
            ["quanta", number(here.quanta.length), `of ${plain(here.title, 40)}`],
            ...(runs.length > 2 ? [["recur in every other run", number(recur((others) => others.every((one) => one?.recurs)))] as [string, string]] : []),
            [runs.length > 2 ? "recur in some other run" : "recur in the other run", number(recur((others) => others.some((one) => one?.recurs)))],
            ["level of chance", "95 %", `of the largest matches in ${count(permutations, "shuffle")}`],
          ]}
        />
      </Panel>
      {chosen && <Curves runs={runs} base={base} chosen={chosen} />}
      <Panel flush>
        <Table label="Matched quanta" noun={["quantum", "quanta"]} rows={here.quanta} columns={columns} sorted="acquired" open={({ name }) => change({ quantum: name }, true)} height={520} />
      </Panel>
    </>
  );
}

function columnsOf(runs: readonly ComparedRun[], base: number): Column<Row>[] {
  const others = runs.flatMap((run, at) => (at === base ? [] : [{ run, at }]));
  const share = (row: Row) => row.partners.filter((one, at) => at !== base && one?.recurs).length / others.length;
  return [
    { key: "name", title: "Quantum", width: "minmax(96px, 1fr)", value: (row) => row.name, show: (row) => <bdi class="mono">{visible(row.name)}</bdi> },
    { key: "acquired", title: "Acquired", width: "96px", end: true, value: (row) => row.acquired, show: (row) => number(row.acquired) },
    { key: "demand", title: "Demand", width: "90px", end: true, value: (row) => row.demand, show: (row) => percent(row.demand) },
    { key: "recurs", title: "Recurs", hint: "Share of the other runs", width: "86px", end: true, value: share, show: (row) => percent(share(row)) },
    ...others.map(({ run, at }): Column<Row> => ({
      key: run.id,
      title: run.title,
      hint: `Partner in ${run.title}, with the correlation of their events; ✓ if above chance`,
      width: "minmax(170px, 1fr)",
      value: (row) => row.partners[at]?.mcc,
      show: (row) => <Matched partner={row.partners[at] ?? null} />,
    })),
    { key: "words", title: "Description", width: "minmax(180px, 2fr)", value: (row) => row.description?.text ?? row.words, show: (row) => <bdi class={row.description ? "" : "muted"}>{plain(row.description?.text ?? row.words, 200)}</bdi> },
  ];
}

function Matched({ partner }: { partner: Partner | null }) {
  if (!partner) return <span class="muted">none</span>;
  return (
    <span title={`chance ${number(partner.chance)}`}>
      <span class={partner.recurs ? "good" : "muted"}>{partner.recurs ? "✓" : "·"}</span> <bdi class="mono">{visible(partner.name)}</bdi> <span class="muted">{number(partner.mcc)}</span>
    </span>
  );
}

/** The curve of one quantum and of its partners. */
function Curves({ runs, base, chosen }: { runs: readonly ComparedRun[]; base: number; chosen: Row }) {
  const { x, lines } = useMemo(() => {
    const curves = runs.flatMap((run, at) => {
      const partner = at === base ? chosen.name : chosen.partners[at]?.name;
      const found = run.quanta.find(({ name }) => name === partner);
      return found ? [{ label: `${run.title} ${found.name}`, hue: at, steps: run.bounds, values: acquired(found.curve), width: at === base ? 2.4 : 1.6 }] : [];
    });
    return aligned(curves);
  }, [runs, base, chosen]);
  return (
    <Panel title={<>Acquisition of {<bdi>{chosen.name}</bdi>} and its partners</>} aside={<a href={link("quanta", chosen.name, { run: runs[base]!.id })}>open it</a>}>
      <Chart label={`Acquisition of ${chosen.name} and its partners by step`} x={x} xLabel="step" yLabel="share acquired" lines={lines} height={220} yRange={[0, 1.02]} legend />
    </Panel>
  );
}

function Losses({ runs }: { runs: readonly ComparedRun[] }) {
  const kinds = useMemo(() => [...new Set(runs.flatMap(({ losses }) => losses.map(({ name }) => name)))], [runs]);
  const { query } = useRoute();
  const usual = runs.flatMap(({ losses }) => losses).find(({ kind }) => kind === "all")?.name ?? kinds[0]!;
  const kind = kinds.includes(query["loss"] ?? "") ? query["loss"]! : usual;
  const { x, lines } = useMemo(
    () => aligned(runs.flatMap((run, hue) => run.losses.filter(({ name }) => name === kind).map(({ steps, values }) => ({ label: run.title, hue, steps, values })))),
    [runs, kind],
  );
  const choice = kinds.length > 1 && (
    <select aria-label="Which loss" value={kind} onChange={(event) => change({ loss: event.currentTarget.value }, true)}>
      {kinds.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
  return (
    <Panel title="Loss" aside={choice || kind}>
      <Chart label={`Loss by step: ${kind}`} x={x} xLabel="step" yLabel="loss" lines={lines} height={220} legend />
    </Panel>
  );
}

/** When each run acquired the tasks of its forest. */
function Tasks({ runs }: { runs: readonly ComparedRun[] }) {
  const { x, lines } = useMemo(() => {
    const demands = [...new Set(runs.flatMap(({ tasks }) => tasks.map(({ demand }) => demand)))].filter((demand) => demand > 0).sort((a, b) => a - b);
    const points = runs.map((run, hue): Line => {
      const mean = new Map<number, number>();
      for (const demand of demands) {
        const times = run.tasks.filter((task) => task.demand === demand && task.acquired !== null).map((task) => task.acquired!);
        if (times.length) mean.set(demand, times.reduce((sum, time) => sum + time, 0) / times.length);
      }
      return { label: run.title, hue, points: true, values: demands.map((demand) => mean.get(demand) ?? null) };
    });
    return { x: demands, lines: points };
  }, [runs]);
  return (
    <Panel title="Acquisition against demand" aside="mean over tasks of the same demand; both axes logarithmic">
      <Facts facts={runs.map(({ title, tasks }) => [plain(title, 40), number(tasks.filter(({ acquired }) => acquired !== null).length), `of ${tasks.length} acquired`])} />
      <Chart label="Step of acquisition by demand" x={x} xLabel="demand" yLabel="acquired by step" lines={lines} height={260} logX logY legend />
    </Panel>
  );
}

function Accuracies({ runs }: { runs: readonly ComparedRun[] }) {
  const names = [...new Set(runs.flatMap(({ accuracy }) => Object.keys(accuracy)))];
  return (
    <Plain title="Accuracy" head={["measure", ...runs.map(({ title }) => title)]} rows={names.map((name) => [name.replaceAll("_", " "), ...runs.map(({ accuracy }) => percent(accuracy[name]))])} end />
  );
}

function Settings({ runs }: { runs: readonly ComparedRun[] }) {
  const names = [...new Set(runs.flatMap(({ settings }) => settings.map(([name]) => name)))];
  if (!names.length) return null;
  const value = (run: ComparedRun, name: string) => plain(run.settings.find(([one]) => one === name)?.[1] ?? "–", 200);
  return (
    <Plain title="Settings that differ" aside={<Layers layers={runs.map(({ title }) => title)} />} head={["setting", ...runs.map(({ title }) => title)]} rows={names.map((name) => [name, ...runs.map((run) => value(run, name))])} />
  );
}

function Plain(props: { title: string; aside?: preact.ComponentChildren; head: string[]; rows: string[][]; end?: boolean }) {
  const { title, aside, head, rows, end } = props;
  return (
    <Panel title={title} aside={aside}>
      <div class="scroll" tabIndex={0} role="group" aria-label={title}>
        <table class={`plain-table${end ? " numbers" : ""}`}>
          <thead>
            <tr>
              {head.map((name, index) => (
                <th key={index} scope="col">
                  {plain(name, 40)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...values]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {values.map((value, index) => (
                  <td key={index}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
