import { render } from "preact";
import { App } from "./App";
import "./theme.css";
import { listenToKeys } from "./ui/keyboard";
import { apply } from "./ui/theme";

apply();
listenToKeys();
render(<App />, document.getElementById("page")!);
