/** A graph by levels, laid out by dagre and drawn as SVG; nodes are buttons. */
import { Graph as Layout, layout } from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import { shortened, visible } from "../format";
import { hueStyle } from "./theme";

export interface GraphNode {
  id: string;
  title: string;
  value?: string | null;
  hue?: number;
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
  down?: boolean;
}

const LONGEST = 26;

export function Graph({ label, nodes, edges, choose, down = true }: Props) {
  const shape = nodes.map(({ id }) => id).join("\n") + edges.map(({ from, to }) => `${from}>${to}`).join("\n");
  const placed = useMemo(() => place(nodes, edges, down), [shape, down]);
  return (
    <div class="graph" tabIndex={0} role="group" aria-label={label}>
      <svg width={placed.width} height={placed.height} viewBox={`${placed.left} 0 ${placed.width} ${placed.height}`}>
        {edges.map((edge) => (
          <path key={`${edge.from}>${edge.to}`} class={`edge ${edge.class ?? ""}`} d={placed.paths.get(`${edge.from}>${edge.to}`) ?? ""} />
        ))}
        {nodes.map((node) => (
          <Node key={node.id} node={node} box={placed.boxes.get(node.id)!} choose={choose} />
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

function Node({ node, box, choose }: { node: GraphNode; box: Box; choose?: (id: string) => void }) {
  const title = visible(node.title);
  const act = choose && {
    role: "button" as const,
    tabIndex: 0,
    "aria-label": node.value ? `${title}: ${visible(node.value)}` : title,
    onClick: () => choose(node.id),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(node.id);
    },
  };
  return (
    <g class={`node ${node.class ?? ""}`} transform={`translate(${box.x - box.width / 2} ${box.y - box.height / 2})`} {...act}>
      <title>{title}</title>
      <rect width={box.width} height={box.height} rx={7} />
      {node.hue !== undefined && <circle cx={13} cy={15} r={4} style={{ ...hueStyle(node.hue), fill: "var(--hue)" }} />}
      <text x={node.hue === undefined ? 11 : 23} y={19}>
        {shortened(title, LONGEST)}
      </text>
      {node.value !== undefined && (
        <text class="value" x={11} y={36}>
          {shortened(visible(node.value ?? ""), LONGEST + 2)}
        </text>
      )}
    </g>
  );
}

function place(nodes: readonly GraphNode[], edges: readonly GraphEdge[], down: boolean) {
  const graph = new Layout();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 14, ranksep: 42, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    const letters = Math.min(LONGEST, Math.max(node.title.length, Math.min((node.value ?? "").length, 12)));
    graph.setNode(node.id, { width: 34 + letters * 7, height: node.value === undefined ? 30 : 46 });
  }
  for (const { from, to } of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  const sides = graph.edges().flatMap((edge) => (graph.edge(edge).points ?? []).map(({ x }: { x: number }) => x));
  const left = Math.min(0, ...sides) - (sides.length ? 4 : 0);
  return {
    left,
    width: Math.ceil(Math.max(size.width ?? 0, ...sides) + 4 - left),
    height: Math.ceil(size.height ?? 0),
    boxes: new Map(nodes.map(({ id }) => [id, graph.node(id) as Box])),
    paths: new Map(graph.edges().map((edge) => [`${edge.v}>${edge.w}`, smooth(graph.edge(edge).points ?? [])])),
  };
}

function smooth(points: readonly { x: number; y: number }[]): string {
  const [start, ...rest] = points;
  if (!start) return "";
  const middle = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1]!;
    return `Q ${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  const end = rest.at(-1) ?? start;
  return `M ${start.x} ${start.y} ${middle.join(" ")} L ${end.x} ${end.y}`;
}
