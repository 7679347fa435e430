/** The frame: runs, views, theme, and whether the server is still there. */
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { offline, useAway, useData } from "./data/client";
import type { Index, Run } from "./data/shapes";
import { change, link, useRoute } from "./router";
import { Mark } from "./ui/Mark";
import { Empty, Shown } from "./ui/States";
import { apply, useTheme } from "./ui/theme";
import { ClaimsView } from "./views/Claims";
import { InterveneView } from "./views/Intervene";
import { QuantaView } from "./views/Quanta";
import { TraceView } from "./views/Trace";
import { TrainingView } from "./views/Training";
import { type View, VIEWS } from "./views/views";

const SHOWN: Record<View, ComponentType<{ run: Run; runs: Run[] }>> = {
  training: TrainingView,
  quanta: QuantaView,
  trace: TraceView,
  intervene: InterveneView,
  claims: ClaimsView,
};

export function App() {
  const index = useData<Index>("index");
  const { view: asked, argument, query } = useRoute();
  const view = VIEWS.find(([name]) => name === asked)?.[0] ?? "training";
  const runs = index.state === "ready" ? index.value.runs : [];
  const run = runs.find(({ id }) => id === query["run"]) ?? runs[0];
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
                  {file}
                </div>
              ))}
              {run ? <Page key={`${view} ${run.id}`} view={view} run={run} runs={runs} /> : <Empty title="No run is open" command="quantascope explore RUN" />}
            </>
          )}
        </Shown>
      </main>
    </>
  );
}

function Page({ view, run, runs }: { view: View; run: Run; runs: Run[] }) {
  const Shows = SHOWN[view];
  const available = run.views[view];
  if (available && !available.there)
    return (
      <Empty title={available.missing ?? "This run has nothing for this view"} command={available.command}>
        {available.command && "Run this, then reload:"}
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
        <a class="mark" href={link("training")}>
          <Mark />
        </a>
        <nav class="tabs" aria-label="Views">
          {VIEWS.map(([name, title], index) => (
            <a key={name} href={link(name)} aria-current={name === view ? "page" : undefined} title={`${title} (key ${index + 1})`}>
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
                  {title}
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

function Away({ command }: { command: string }) {
  const away = useAway();
  return away ? (
    <div class="banner" role="alert">
      The server has stopped. What was loaded can still be read; start it again with <code>{command}</code>
    </div>
  ) : null;
}
