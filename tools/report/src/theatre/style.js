// The theatre's own rules; all names begin with `th-`, so that they meet no others.
export const STYLE = `
.th{--th-ink:#1c1c1c;--th-soft:#5a5a5a;--th-line:#c8c8c8;--th-paper:#fff;--th-ground:#f3f3f1;--th-a:#0072b2;--th-b:#b34700;--th-bad:#b3124f;--th-good:#00694a;
color:var(--th-ink);background:var(--th-paper);font:14px/1.45 system-ui,sans-serif;padding:.25rem}
.th.th-dark{--th-ink:#ececec;--th-soft:#b0b0b0;--th-line:#4a4a4a;--th-paper:#161616;--th-ground:#202022;--th-a:#56b4e9;--th-b:#f0a03c;--th-bad:#ff7fae;--th-good:#2fc79b}
.th *{box-sizing:border-box}.th [hidden]{display:none!important}
.th :focus-visible,.th:focus-visible{outline:3px solid var(--th-a);outline-offset:1px}
.th-badge{display:inline-block;border:1px solid currentColor;border-radius:.6em;padding:0 .5em;font-size:.85em;font-weight:600}
.th-bar{display:flex;flex-wrap:wrap;gap:.35rem;align-items:center;margin:.4rem 0}
.th-bar input[type=range].th-clock{flex:1 1 12rem}
.th button,.th select{font:inherit;color:inherit;background:var(--th-ground);border:1px solid var(--th-soft);border-radius:.35em;padding:.1rem .55rem;min-height:1.9rem}
.th button:hover{border-color:var(--th-ink)}
.th button[disabled]{color:var(--th-soft);border-style:dashed}
.th-play{min-width:5.2rem;font-weight:600}
.th label{display:inline-flex;gap:.35rem;align-items:center;color:var(--th-soft)}
.th label output{color:var(--th-ink);min-width:3.4em;font-variant-numeric:tabular-nums}
.th fieldset{border:1px solid var(--th-line);border-radius:.4em;margin:0;padding:.1rem .6rem .3rem;display:flex;flex-wrap:wrap;gap:.2rem .9rem;align-items:center}
.th legend{color:var(--th-soft);font-size:.9em;padding:0 .3em}
.th fieldset input[type=range]{width:5.5rem}
.th-caches{display:flex;flex-wrap:wrap;gap:.5rem}
.th-lanes{display:grid;grid-auto-rows:auto;row-gap:.2rem;grid-template-columns:repeat(auto-fit,minmax(21rem,1fr));column-gap:1.4rem}
.th-lane{min-width:0;display:grid;grid-template-rows:subgrid;grid-row:span 6;align-content:start;gap:0}.th-lane>*{min-width:0}
.th-pair{display:grid;grid-template-columns:minmax(0,11fr) minmax(0,14fr);gap:.8rem}
@media(max-width:30rem){.th-pair{grid-template-columns:minmax(0,1fr)}}
.th-lane .th-h{margin:.5rem 0 .2rem;font-size:1rem}.th-lane.th-is-a .th-h{color:var(--th-a)}.th-lane.th-is-b .th-h{color:var(--th-b)}
.th-name{display:flex;gap:.6rem;align-items:baseline}.th-lane select{flex:1;min-width:0}
.th-lane .th-hh{margin:.55rem 0 .1rem;font-size:.85rem;font-weight:600;color:var(--th-soft)}
.th canvas{display:block;width:100%}
.th-loops{font:12.5px/1.45 ui-monospace,monospace;margin:.3rem 0;padding:.3rem 0;border-top:1px solid var(--th-line);border-bottom:1px solid var(--th-line);list-style:none;overflow-x:auto}
.th-loops li{display:flex;justify-content:space-between;gap:1rem;padding:0 .4rem;white-space:pre;color:var(--th-soft)}
.th-loops li.th-now{background:var(--th-ground);color:var(--th-ink);font-weight:600}
.th-loops .th-value{color:var(--th-ink);font-weight:600;font-variant-numeric:tabular-nums}
.th-loops .th-mark{color:var(--th-good);font-weight:600}
.th-good{color:var(--th-good)}.th-bad{color:var(--th-bad)}
.th-refusal{border-left:4px solid var(--th-bad);padding:.1rem .8rem;margin:.4rem 0;background:var(--th-ground)}
.th-refusal p{white-space:pre-wrap;margin:.35rem 0}
.th table{border-collapse:collapse;width:100%;font-size:.93em}
.th th,.th td{text-align:right;padding:.1rem .5rem .1rem 0;font-variant-numeric:tabular-nums}
.th th:first-child{text-align:left;font-weight:normal}.th thead th{color:var(--th-soft);font-weight:normal;border-bottom:1px solid var(--th-line)}
.th caption{text-align:left;color:var(--th-soft);font-size:.9em}
.th-note{color:var(--th-soft);margin:.2rem 0}
.th-stills{display:grid;grid-template-columns:repeat(5,1fr);gap:.5rem}
.th-stills button{padding:.2rem;text-align:center;font-size:.85em}
.th-stills button[aria-pressed=true]{border-color:var(--th-a);box-shadow:0 0 0 1px var(--th-a)}
.th-keys{columns:14rem 3;margin:.2rem 0;padding-left:1.1rem}
.th kbd{border:1px solid var(--th-soft);border-radius:.25em;padding:0 .3em;font:12px ui-monospace,monospace}
@media print{.th-bar,.th-caches{display:none}}
`;
