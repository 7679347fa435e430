"""The explorer: a page on which one looks at runs, types inputs and breaks units.

request     what a browser may ask: few, short, known parameters
shown_run   what is opened: a class for each kind of run, whose artefacts are read once
training    one file for each view: what a run has, as the data of the page
explorer    address and parameters -> answer
opening     the same while the runs are still being opened
server      answers over HTTP, on this machine
offline     the same answers inside one file

The page is built from `page/` into `static/`; the shapes of answers are those of `page/src/data/shapes.ts`.
"""
