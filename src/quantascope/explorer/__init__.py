"""The explorer: a web page that shows runs, traces inputs and intervenes on units.

request     the requests that a browser may make: few, short, known parameters
shown_run   a class for each kind of opened run, whose artefacts are read once
training    one file for each view, which turns a run into the page's data
explorer    address and parameters -> answer
opening     the same while the runs are still being opened
server      answers over HTTP, on this machine
offline     the same answers inside one file

The page is built from `page/` into `static/`; the shapes of answers are those of `page/src/data/shapes.ts`.
"""
