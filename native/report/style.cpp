// SPDX-License-Identifier: MIT
#include "report/style.h"

namespace probust::report {

const std::string_view kStyle = R"(:root {
  --page: #ffffff; --panel: #f5f7f9; --text: #1b1f24; --quiet: #56606b; --hairline: #dfe3e8; --accent: #1f5fbf;
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #14171a; --panel: #1d2125; --text: #e9ecef; --quiet: #a2abb5; --hairline: #33393f; --accent: #7db2ff; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 0.5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 0.5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.5rem; }
p { margin: 0 0 0.75rem; max-width: 45rem; }
a { color: var(--accent); }
section { margin-top: 2.5rem; padding-top: 1.5rem; border-top: 1px solid var(--hairline); }
.quiet, figcaption, caption { color: var(--quiet); font-size: 0.875rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; list-style: none; margin: 1rem 0 0; padding: 0; font-size: 0.875rem; }
.warnings { border: 2px solid #b3261e; border-radius: 0.5rem; padding: 0.75rem 0.75rem 0; margin: 0 0 1.25rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.75rem; margin: 1.25rem 0; padding: 0; }
.cards div { background: var(--panel); border: 1px solid var(--hairline); border-radius: 0.5rem; padding: 0.75rem; }
.cards dt { color: var(--quiet); font-size: 0.875rem; }
.cards dd { margin: 0; font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.cards dd small { display: block; color: var(--quiet); font-size: 0.8125rem; line-height: 1.4; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 0.25rem; }
caption span { display: inline-block; position: sticky; left: 0; max-width: min(calc(100vw - 2rem), 58rem); white-space: normal; }
th, td { padding: 0.3rem 0.75rem 0.3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--hairline);
  white-space: nowrap; overflow-wrap: normal; }
th { font-weight: 600; }
thead th { white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 400; }
.number { text-align: right; }
.wraps td:not(.number) { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
@media screen and (max-width: 36rem) { h1 { font-size: 1.375rem; } }
figure { margin: 0 0 1.25rem; }
figure svg { display: block; }
.wide { max-width: 48rem; }
.narrow { display: none; }
@media screen and (max-width: 36rem) {
  .wide { display: none; }
  .narrow { display: block; }
}
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1.5rem; }
.charts figure { max-width: 28rem; }
figcaption { max-width: 45rem; margin-top: 0.25rem; }
pre { background: var(--panel); border: 1px solid var(--hairline); border-radius: 0.5rem; padding: 0.75rem; margin: 0 0 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.8125rem; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: 1rem; list-style: none;
  margin: 0 0 1rem; padding: 0; }
.gallery img { display: block; width: 100%; max-width: 8rem; height: auto; background: var(--panel); border: 1px solid var(--hairline); }
.gallery .pixels { image-rendering: pixelated; }
.gallery span { display: block; font-size: 0.8125rem; line-height: 1.4; margin-top: 0.25rem; }
.gallery .wrong { font-weight: 600; }
.lead { font-size: 1.25rem; line-height: 1.4; }
.survey { width: 100%; max-width: 45rem; }
.survey td, .survey th { padding: 0.4rem 0.75rem; }
.survey th:first-child { padding-left: 0; white-space: normal; }
.survey td { width: 22%; background: rgb(214 64 44 / var(--fail)); border: 2px solid var(--page); print-color-adjust: exact; }
.survey th small { color: var(--quiet); font-weight: 400; }
.survey.many td { width: auto; min-width: 4.5rem; }
.survey .none { background: none; }
.survey b { display: block; font-size: 1.125rem; line-height: 1.3; }
.survey small { display: block; font-size: 0.75rem; line-height: 1.35; }
.strip { grid-template-columns: repeat(4, minmax(0, 8rem)); }
.pairs { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem; list-style: none; margin: 0 0 1rem;
  padding: 0; }
.pairs div { display: flex; gap: 0.25rem; }
.pairs img { display: block; width: calc(50% - 0.125rem); max-width: 6rem; height: auto; background: var(--panel); border: 1px solid var(--hairline); }
.pairs .pixels { image-rendering: pixelated; }
.pairs .wrong { font-weight: 600; }
.pairs span { display: block; font-size: 0.8125rem; line-height: 1.4; margin-top: 0.25rem; }
@media screen and (max-width: 36rem) {
  .survey td, .survey th { padding: 0.25rem; }
  .survey th { font-size: 0.75rem; }
  .survey tbody th { font-size: 0.8125rem; }
  .survey th small, .survey td small { font-size: 0.6875rem; }
  .strip { gap: 0.4rem; }
  .pairs { gap: 1rem 0.75rem; }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  section { break-inside: auto; }
  h2, h3 { break-after: avoid; }
  figure, tr, .cards div, .gallery li { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { width: 100%; font-size: 8pt; }
  th, td, .wraps td:not(.number) { white-space: normal; overflow-wrap: anywhere; min-width: 0; padding-right: 0.3rem; }
  caption span { position: static; max-width: none; }
}
@page { margin: 12mm; }
)";

}  // namespace probust::report
