/** The frame: runs, views, theme, and whether the server is still there. */
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { offline, useAway, useData } from "./data/client";
import type { Index, Run } from "./data/shapes";
import { plain } from "./format";
import { change, link, useRoute } from "./router";
import { Mark } from "./ui/Mark";
import { Empty, Shown } from "./ui/States";
import { apply, useTheme } from "./ui/theme";
import { ClaimsView } from "./views/Claims";
import { CompareView } from "./views/Compare";
import { DynamicsView } from "./views/Dynamics";
import { InterveneView } from "./views/Intervene";
import { ProgramView } from "./views/Program";
import { QuantaView } from "./views/Quanta";
import { TraceView } from "./views/Trace";
import { TrainingView } from "./views/Training";
import { type View, VIEWS } from "./views/views";

const SHOWN: Record<View, ComponentType<{ run: Run; runs: Run[] }>> = {
  training: TrainingView,
  quanta: QuantaView,
  trace: TraceView,
  intervene: InterveneView,
  program: ProgramView,
  dynamics: DynamicsView,
  compare: CompareView,
  claims: ClaimsView,
};

export function App() {
  const index = useData<Index>("index");
  const { view: asked, argument, query } = useRoute();
  const runs = index.state === "ready" ? index.value.runs : [];
  const run = runs.find(({ id }) => id === query["run"]) ?? runs[0];
  const view = VIEWS.find(([name]) => name === asked)?.[0] ?? first(run);
  const title = VIEWS.find(([name]) => name === view)![1];
  useEffect(() => {
    document.title = `${argument || title}${run ? ` · ${run.title}` : ""} · quantascope`;
  }, [view, argument, run]);
  return (
    <>
      <Top view={view} runs={runs} run={run} />
      <Away command={index.state === "ready" ? index.value.command : "quantascope explore RUN"} />
      <main>
        <Shown of={index} what="Opening the run">
          {({ damaged }) => (
            <>
              {damaged.map((file) => (
                <div key={file} class="panel bad" role="alert">
                  {plain(file, 600)}
                </div>
              ))}
              {run ? <Page key={`${view} ${run.id}`} view={view} run={run} runs={runs} /> : <Empty title="No run is open" command="quantascope explore RUN" />}
            </>
          )}
        </Shown>
      </main>
      <footer class="keys small muted">
        <span>
          <kbd>1</kbd> to <kbd>8</kbd> views
        </span>
        <span>
          <kbd>/</kbd> filter or input
        </span>
        <span>
          <kbd>←</kbd> <kbd>→</kbd> tokens
        </span>
      </footer>
    </>
  );
}

/** The first view that a run has something for. */
function first(run: Run | undefined): View {
  return VIEWS.find(([name]) => run?.views[name]?.there)?.[0] ?? "training";
}

function Page({ view, run, runs }: { view: View; run: Run; runs: Run[] }) {
  const Shows = SHOWN[view];
  const available = run.views[view];
  if (available && !available.there)
    return (
      <Empty title={available.missing ?? "This run has nothing for this view"} command={offline ? null : available.command}>
        {available.command && (offline ? "What this file does not hold, quantascope explore shows." : "Run this, then reload:")}
      </Empty>
    );
  return <Shows run={run} runs={runs} />;
}

function Top({ view, runs, run }: { view: View; runs: Run[]; run: Run | undefined }) {
  const theme = useTheme();
  const next = theme === "dark" ? "light" : "dark";
  return (
    <div class="top">
      <header class="top-row">
        <a class="mark" href={link(first(run))}>
          <Mark />
        </a>
        <nav class="tabs" aria-label="Views">
          {VIEWS.map(([name, title], index) => (
            <a
              key={name}
              ref={name === view ? intoView : undefined}
              href={link(name)}
              class={run?.views[name]?.there === false ? "absent" : ""}
              aria-current={name === view ? "page" : undefined}
              title={`${title} (key ${index + 1})`}
            >
              {title}
            </a>
          ))}
        </nav>
        <div class="top-end">
          {offline && <span class="chip">offline</span>}
          {runs.length > 1 && (
            <select aria-label="Run" value={run?.id} onChange={(event) => change({ run: event.currentTarget.value })}>
              {runs.map(({ id, title }) => (
                <option key={id} value={id}>
                  {plain(title, 60)}
                </option>
              ))}
            </select>
          )}
          <button class="plain icon" aria-label={`Switch to the ${next} theme`} title={`Switch to the ${next} theme`} onClick={() => apply(next)}>
            {theme === "dark" ? "☀" : "☾"}
          </button>
        </div>
      </header>
    </div>
  );
}

function intoView(tab: HTMLElement | null): void {
  const tabs = tab?.parentElement;
  if (tab && tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
}

function Away({ command }: { command: string }) {
  const away = useAway();
  return away ? (
    <div class="banner" role="alert">
      The server has stopped. What was loaded can still be read; start it again with <code>{plain(command, 300)}</code>
    </div>
  ) : null;
}
