/** All quanta in a table; one of them has a view of its own. */
import { useData } from "../data/client";
import type { Quanta, Quantum, Run } from "../data/shapes";
import { number, percent, plain } from "../format";
import { go, link, useRoute } from "../router";
import { Facts, Panel, Shown, Title } from "../ui/States";
import { type Column, Table } from "../ui/Table";
import { hueStyle } from "../ui/theme";
import { QuantumView } from "./Quantum";

export function QuantaView({ run }: { run: Run }) {
  const { argument } = useRoute();
  const quanta = useData<Quanta>(`runs/${run.id}/quanta`);
  if (argument) return <QuantumView key={argument} run={run} name={argument} />;
  return (
    <Shown of={quanta}>
      {(found) => {
        const last = found.quanta.reduce<Quantum | undefined>((late, one) => (late && late.acquired >= one.acquired ? late : one), undefined);
        return (
          <>
            <Title title="Quanta">
              Computations that training acquired one by one, earliest first. Open one to see what it is for.
            </Title>
            <Panel>
              <Facts
                facts={[
                  ["quanta", number(found.quanta.length), `in ${found.layers.length} layers`],
                  ["last acquired", last ? <a href={link("quanta", last.name)}>{last.name}</a> : "–", last && `by step ${number(last.acquired)}`],
                  ["field", found.reliable ? <span class="good">reliable</span> : <span class="bad">not reliable</span>, `${found.rule} rule`],
                  ["loss change accounted for", percent(found.completeness)],
                  ["correlation by event", number(found.event_correlation)],
                  ["threshold", percent(found.threshold)],
                ]}
              />
            </Panel>
            <Panel flush>
              <Table
                label="Quanta"
                noun={["quantum", "quanta"]}
                rows={found.quanta}
                columns={columns(found)}
                sorted="acquired"
                open={({ name }) => go("quanta", name)}
              />
            </Panel>
          </>
        );
      }}
    </Shown>
  );
}

const held = new WeakMap<Quanta, Column<Quantum>[]>();

/** Columns are made once for each table: a new list would sort it anew. */
function columns(found: Quanta): Column<Quantum>[] {
  const known = held.get(found) ?? made(found);
  held.set(found, known);
  return known;
}

function made({ layers, quanta }: Quanta): Column<Quantum>[] {
  const place = (layer: string) => layers.findIndex((one) => one.layer === layer);
  const most = Math.max(...quanta.map(({ explained }) => explained), 1e-12);
  return [
    { key: "name", title: "Quantum", width: "92px", value: (row) => row.name, show: (row) => <bdi class="mono">{row.name}</bdi> },
    {
      key: "layer",
      title: "Layer",
      width: "104px",
      value: (row) => row.layer,
      show: (row) => (
        <span class="row" style={{ ...hueStyle(place(row.layer)), gap: "7px", flexWrap: "nowrap" }}>
          <i class="dot" />
          {plain(row.layer, 32)}
        </span>
      ),
    },
    { key: "acquired", title: "Acquired", hint: "Step by which half of it was acquired", width: "106px", end: true, value: (row) => row.acquired, show: (row) => number(row.acquired) },
    { key: "demand", title: "Demand", hint: "Share of events that it helps", width: "86px", end: true, value: (row) => row.demand, show: (row) => percent(row.demand) },
    { key: "complexity", title: "Complexity", width: "100px", end: true, value: (row) => row.complexity, show: (row) => number(row.complexity) },
    {
      key: "explained",
      title: "Explained",
      hint: "Share of the priority of its layer that it explains",
      width: "138px",
      end: true,
      value: (row) => row.explained,
      show: (row) => (
        <span class="row" style={{ ...hueStyle(place(row.layer)), flexWrap: "nowrap" }}>
          <span class="bar" style={{ flex: 1 }}>
            <span style={{ width: `${(100 * row.explained) / most}%` }} />
          </span>
          <span style={{ width: "52px" }}>{percent(row.explained)}</span>
        </span>
      ),
    },
    {
      key: "description",
      title: "Description",
      width: "minmax(230px, 1fr)",
      value: (row) => row.description?.text ?? row.words,
      show: (row) => <bdi title={plain(row.description?.text ?? row.words, 600)} class={row.description ? "" : "muted"}>{plain(row.description?.text ?? row.words, 200)}</bdi>,
    },
    { key: "f1", title: "F1", hint: "Of the description, on other inputs", width: "70px", end: true, value: (row) => row.description?.f1, show: (row) => number(row.description?.f1) },
    { key: "always", title: "Always true", hint: "F1 of a description that always holds", width: "104px", end: true, value: (row) => row.description?.always_true, show: (row) => <span class="muted">{number(row.description?.always_true)}</span> },
    { key: "recurrence", title: "Recurs", hint: "Share of other seeds that have it", width: "80px", end: true, value: (row) => row.recurrence, show: (row) => percent(row.recurrence) },
  ];
}
