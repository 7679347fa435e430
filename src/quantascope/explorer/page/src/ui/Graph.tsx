/** A graph by levels, laid out by dagre and drawn as SVG; nodes are buttons. */
import { Graph as Layout, layout } from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import { shortened, visible } from "../format";
import { hueStyle } from "./theme";

export interface GraphNode {
  id: string;
  title: string;
  /** Nodes of a layer stand in one row. */
  layer?: number;
  /** A second line. */
  value?: string | null;
  /** How full a bar below is, from 0 to 1. */
  gate?: number | null;
  hue?: number;
  fill?: string;
  class?: string;
}

export interface GraphEdge {
  from: string;
  to: string;
  class?: string;
}

interface Props {
  label: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  choose?: (id: string) => void;
  chooseEdge?: (from: string, to: string) => void;
  /** Nodes as discs, their titles only on pointing at them. */
  discs?: boolean;
}

const [LONGEST, DISC, MARGIN] = [26, 17, 8];
/** The width of an edge that passes a row, and the gap between what stands in one. */
const [PASSAGE, GAP] = [2, 14];

export function Graph({ label, nodes, edges, choose, chooseEdge, discs = false }: Props) {
  const shape = JSON.stringify([discs, nodes.map(({ id, title, layer, value }) => [id, title, layer, value === undefined]), edges.map(({ from, to }) => [from, to])]);
  const placed = useMemo(() => place(nodes, edges, discs), [shape]);
  return (
    <div class={`graph${discs ? " discs" : ""}`} tabIndex={0} role="group" aria-label={label}>
      <svg width={placed.width} height={placed.height} viewBox={`${placed.left} ${placed.top} ${placed.width} ${placed.height}`} style={{ minWidth: `${placed.width * (discs ? 0.4 : 0.75)}px` }}>
        {edges.map((edge) => {
          const path = placed.paths.get(`${edge.from}>${edge.to}`) ?? "";
          return (
            <g key={`${edge.from}>${edge.to}`} class={`edge ${edge.class ?? ""}`} onClick={chooseEdge && (() => chooseEdge(edge.from, edge.to))}>
              <path d={path} />
              {chooseEdge && (
                <path class="reach" d={path}>
                  <title>{`${visible(edge.from)} → ${visible(edge.to)}`}</title>
                </path>
              )}
            </g>
          );
        })}
        {nodes.map((node) => (
          <Node key={node.id} node={node} box={placed.boxes.get(node.id)!} choose={choose} disc={discs} />
        ))}
      </svg>
    </div>
  );
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function Node({ node, box, choose, disc }: { node: GraphNode; box: Box; choose?: (id: string) => void; disc: boolean }) {
  const title = visible(node.title);
  const named = node.value ? `${title}: ${visible(node.value)}` : title;
  const act = choose && {
    role: "button" as const,
    tabIndex: 0,
    "aria-label": shortened(named, 200),
    onClick: () => choose(node.id),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(node.id);
    },
  };
  return (
    <g class={`node ${node.class ?? ""}`} transform={`translate(${box.x - box.width / 2} ${box.y - box.height / 2})`} {...act}>
      <title>{shortened(named, 400)}</title>
      <rect width={box.width} height={box.height} rx={disc ? DISC / 2 : 7} style={node.fill ? { fill: node.fill } : undefined} />
      {!disc && <Words node={node} title={title} box={box} />}
    </g>
  );
}

function Words({ node, title, box }: { node: GraphNode; title: string; box: Box }) {
  return (
    <>
      {node.hue !== undefined && <circle cx={13} cy={15} r={4} style={{ ...hueStyle(node.hue), fill: "var(--hue)" }} />}
      <text x={node.hue === undefined ? 11 : 23} y={19}>
        {shortened(title, LONGEST)}
      </text>
      {node.value !== undefined && (
        <text class="value" x={11} y={35}>
          {shortened(visible(node.value ?? ""), Math.floor((box.width - 20) / 6.4))}
        </text>
      )}
      {node.gate !== undefined && node.gate !== null && <rect class="gate" x={8} y={box.height - 6} width={Math.max(0, (box.width - 16) * node.gate)} height={3} rx={1.5} />}
    </>
  );
}

function place(nodes: readonly GraphNode[], edges: readonly GraphEdge[], discs: boolean) {
  const graph = new Layout();
  const layered = nodes.some(({ layer }) => layer !== undefined);
  graph.setGraph({ rankdir: "TB", nodesep: discs ? 5 : 14, ranksep: discs ? 30 : layered ? 27 : 34, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, discs ? { width: DISC, height: DISC } : size(node));
  for (const { from, to } of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  const drawn = new Set(graph.edges().map(({ v, w }) => `${v}>${w}`));
  if (layered) inLayers(graph, nodes);
  else if (!drawn.size) inRows(graph, nodes);
  layout(graph);
  const shown = graph.edges().filter(({ v, w }) => drawn.has(`${v}>${w}`));
  const boxes = new Map(nodes.map(({ id }) => [id, graph.node(id) as Box]));
  const held = [...boxes.values()];
  const heights = [...new Set(held.map(({ y }) => y))].sort((one, other) => one - other);
  const passed = new Map(shown.map((edge) => [`${edge.v}>${edge.w}`, passages(graph, edge, heights, layered)]));
  const all = [...held, ...[...passed.values()].flat()];
  if (layered) {
    // Mirrored, for dagre puts first what was given last; then each edge beside what stands between its ends.
    for (const box of held) box.x = -box.x;
    centre(held);
    for (const { v, w } of shown) for (const passage of passed.get(`${v}>${w}`)!) passage.x = (boxes.get(v)!.x + boxes.get(w)!.x) / 2;
    centre(all);
  }
  const left = Math.min(...all.map(({ x, width }) => x - width / 2)) - MARGIN;
  const right = Math.max(...all.map(({ x, width }) => x + width / 2)) + MARGIN;
  const top = Math.min(...held.map(({ y, height }) => y - height / 2)) - MARGIN;
  return {
    left,
    top,
    width: Math.ceil(right - left),
    height: Math.ceil(Math.max(...held.map(({ y, height }) => y + height / 2)) + MARGIN - top),
    boxes,
    paths: new Map(
      shown.map(({ v, w }) => {
        const [from, to, between] = [boxes.get(v)!, boxes.get(w)!, passed.get(`${v}>${w}`)!];
        const ends = [{ x: from.x, y: from.y + from.height / 2 }, { x: to.x, y: to.y - to.height / 2 }] as const;
        const straight = between.flatMap(({ x, y, height }) => [{ x, y: y - height / 2 }, { x, y: y + height / 2 }]);
        return [`${v}>${w}`, layered ? threaded([ends[0], ...straight, ends[1]]) : smooth([ends[0], ...between, ends[1]])];
      }),
    ),
  };
}

/** Where an edge passes what lies between its ends; in layers, only where it passes a row. */
function passages(graph: Layout, edge: { v: string; w: string }, heights: readonly number[], layered: boolean): Box[] {
  const [from, to] = [graph.node(edge.v) as Box, graph.node(edge.w) as Box];
  if (heights.indexOf(to.y) - heights.indexOf(from.y) < 2) return [];
  const points = ((graph.edge(edge.v, edge.w).points ?? []) as { x: number; y: number }[]).slice(1, -1);
  const boxed = points.map(({ x, y }) => ({ x, y, width: PASSAGE, height: from.height }));
  return layered ? boxed.filter(({ y }) => heights.some((row) => Math.abs(row - y) < 1)) : boxed;
}

/** Packs what stands in each row around one middle, in the order that it has. */
function centre(boxes: readonly Box[]): void {
  for (const y of new Set(boxes.map((box) => Math.round(box.y)))) {
    const row = boxes.filter((box) => Math.round(box.y) === y).sort((one, other) => one.x - other.x);
    let x = -row.reduce((sum, { width }) => sum + width + GAP, -GAP) / 2;
    for (const box of row) {
      box.x = x + box.width / 2;
      x += box.width + GAP;
    }
  }
}

const measure = document.createElement("canvas").getContext("2d");

function size(node: GraphNode): { width: number; height: number } {
  if (measure) measure.font = "12px system-ui, sans-serif";
  const title = shortened(visible(node.title), LONGEST);
  const width = Math.ceil(measure?.measureText(title).width ?? 7.4 * title.length);
  return { width: Math.max(width + (node.hue === undefined ? 22 : 34), node.value === undefined ? 0 : 92), height: node.value === undefined ? 30 : 50 };
}

/** Each layer between two anchors that are not drawn. */
function inLayers(graph: Layout, nodes: readonly GraphNode[]): void {
  const layers = [...new Set(nodes.map(({ layer }) => layer ?? 0))].sort((a, b) => a - b);
  const anchor = (place: number) => `\u0000 ${place}`;
  for (let place = 0; place <= layers.length; place++) {
    graph.setNode(anchor(place), { width: 0, height: 0 });
    if (place) graph.setEdge(anchor(place - 1), anchor(place), { minlen: 2, weight: 100 });
  }
  for (const { id, layer } of nodes) {
    const place = layers.indexOf(layer ?? 0);
    graph.setEdge(anchor(place), id, { weight: 0 });
    graph.setEdge(id, anchor(place + 1), { weight: 0 });
  }
}

/** Nodes without any edge stand in rows, below each other by edges that are not drawn. */
function inRows(graph: Layout, nodes: readonly GraphNode[]): void {
  const columns = Math.ceil(Math.sqrt(2 * nodes.length));
  nodes.slice(columns).forEach(({ id }, index) => graph.setEdge(nodes[index]!.id, id));
}

/** Down to every second point by a bend, and straight on to the next: past a row. */
function threaded(points: readonly { x: number; y: number }[]): string {
  const parts = points.slice(1).map((to, index) => {
    const from = points[index]!;
    const middle = (from.y + to.y) / 2;
    return index % 2 ? `L ${to.x} ${to.y}` : `C ${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
  });
  return `M ${points[0]!.x} ${points[0]!.y} ${parts.join(" ")}`;
}

/** One bend between neighbouring rows; over several rows, along the way that is free. */
function smooth(points: readonly { x: number; y: number }[]): string {
  const [start, end] = [points[0]!, points.at(-1)!];
  const from = `M ${start.x} ${start.y}`;
  const middle = (start.y + end.y) / 2;
  if (points.length === 2) return `${from} C ${start.x} ${middle} ${end.x} ${middle} ${end.x} ${end.y}`;
  const bends = points.slice(1, -1).map((point, index, inner) => {
    const next = inner[index + 1] ?? end;
    const to = next === end ? end : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q ${point.x} ${point.y} ${to.x} ${to.y}`;
  });
  return `${from} ${bends.join(" ")}`;
}
