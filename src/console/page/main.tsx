import "uplot/dist/uPlot.min.css";
import "@xterm/xterm/css/xterm.css";
import "./style.css";
import { render } from "preact";
import { start, watchVisibility } from "./browser/connection.ts";
import { App } from "./views/app.tsx";

watchVisibility();
render(<App />, document.getElementById("app")!);
start();
