#include "app/report/page.h"

namespace reprise::app {

// Light or dark as the reader's system asks, light on paper. Wide tables and figures scroll by
// themselves, so that the page never does.
const char* const kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --ink: #1b1d21; --soft: #5a6069; --paper: #ffffff; --line: #d5d9df; --stripe: #f5f6f8;
  --link: #0b57a4; --good: #0a6b3d; --bad: #b00028; --warn: #7a4a00;
  --good-back: #dcf3e6; --bad-back: #fde3e8; --warn-back: #fdf0d5; --badge: #e8ebef;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e6ea; --soft: #a3a9b3; --paper: #14161a; --line: #353a42; --stripe: #1c1f25;
    --link: #7ab8ff; --good: #7fdcab; --bad: #ff8fa3; --warn: #f3c56b;
    --good-back: #123524; --bad-back: #431722; --warn-back: #3a2c0d; --badge: #2a2e36;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem 1.25rem 3rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.3rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; } h4 { font-size: .95rem; margin: 0 0 .4rem; }
h1, h2, h4, p, li, dd, figcaption, code { overflow-wrap: anywhere; }
p, ul, figcaption, summary + dl { max-width: 75rem; }
a { color: var(--link); } code { font-size: .92em; }
section { border-top: 1px solid var(--line); }
.note, figcaption, footer, small, caption { color: var(--soft); font-size: .86rem; }
small { font-size: .8em; white-space: nowrap; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; background: var(--badge);
  font-size: .85rem; }
.badge.good { color: var(--good); background: var(--good-back); }
.badge.bad { color: var(--bad); background: var(--bad-back); }
.badge.warn { color: var(--warn); background: var(--warn-back); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 38rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; min-width: 0; } figure.wide { grid-column: 1 / -1; }
.plot { overflow-x: auto; } .plot svg { display: block; width: 100%; height: auto; }
.plot.paper { background: #ffffff; } .plot img { display: block; max-width: none; }
figcaption { margin-top: .4rem; }
.scroll { overflow: auto; max-height: 80vh; width: fit-content; max-width: 100%; border: 1px solid var(--line); margin: .4rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
caption { text-align: left; padding: .3rem .6rem; caption-side: top; }
th, td { padding: .25rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td { max-width: 40rem; overflow-wrap: break-word; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--paper); vertical-align: bottom; }
tbody tr:nth-child(even) { background: var(--stripe); }
td.good { color: var(--good); } td.warn { color: var(--warn); } td.bad { color: var(--bad); font-weight: 600; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort="ascending"] button::after { content: " \25B2"; }
th[aria-sort="descending"] button::after { content: " \25BC"; }
.switch:not(:checked) ~ .scroll .extra { display: none; }
label { font-size: .88rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .25rem 1rem; margin: .6rem 0; }
dt { font-weight: 600; } dd { margin: 0; }
summary { cursor: pointer; margin: .6rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); } footer p { margin: .2rem 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .5rem; } }
@media print {
  :root { color-scheme: light; --ink: #000000; --soft: #444444; --paper: #ffffff; --line: #bbbbbb;
    --stripe: #f5f5f5; --link: #000000; --good: #0a6b3d; --bad: #b00028; --warn: #7a4a00; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .switch, label { display: none; }
  .scroll { overflow: visible; max-height: none; border: 0; width: auto; }
  table { font-size: 7.5pt; } th, td { padding: .1rem .25rem; } thead th { position: static; }
  td.n, small { white-space: normal; } td small { display: block; } th { overflow-wrap: anywhere; }
  tr, figure { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  .figures { display: block; } figure { margin-bottom: 1rem; }
  .plot { overflow: visible; } .plot svg { min-width: 0 !important; } .plot img { max-width: 100%; }
}
)css";

}  // namespace reprise::app
