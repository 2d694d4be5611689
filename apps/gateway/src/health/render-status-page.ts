import { createHash } from 'node:crypto';
import { type Level, objectives } from '@muster/platform';
import { escapeHtml } from '../answer-links/render-answer-page';
import type { Status, StatusPart } from './service-status';

/** The styles of the page. Its policy allows only these, by their hash, and no script. */
const styles = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 16px; background: light-dark(#f5f6f8, #0f1318); color: light-dark(#16202c, #e6eaf0); }
main { max-width: 48rem; margin: 0 auto; padding: 24px; border: 1px solid light-dark(#dce0e6, #2b333d);
  border-radius: 10px; background: light-dark(#ffffff, #161b22); overflow-x: auto; }
h1 { margin: 0 0 8px; font-size: 1.5rem; }
h2 { margin: 24px 0 8px; font-size: 1rem; }
p { margin: 0; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 8px 8px 8px 0; border-top: 1px solid light-dark(#dce0e6, #2b333d); text-align: left;
  vertical-align: top; font-weight: 400; }
thead th { border: 0; color: light-dark(#515e6c, #9ba8b6); font-size: .875rem; }
td { font-variant-numeric: tabular-nums; }
.dim { color: light-dark(#515e6c, #9ba8b6); font-size: .875rem; }
.good { color: light-dark(#176b3a, #6fd39a); }
.bad { color: light-dark(#b3261e, #ff8f86); }
`;
export const statusStylesHash = `'sha256-${createHash('sha256').update(styles).digest('base64')}'`;

const states: Record<StatusPart['status'], string> = { works: 'Works', delayed: 'Delayed', fails: 'Does not work' };

export function renderStatusPage(status: Status, now: Date): string {
  const at = now.toISOString();
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex, nofollow">',
    '<title>Status · Muster</title>',
    `<style>${styles}</style>`,
    '<main>',
    `<h1>${describeStatus(status)}</h1>`,
    `<p class="dim">As of <time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time></p>`,
    status.recoveryHold
      ? '<p>The service was restored from a backup and starts nothing until an operator releases it.</p>'
      : '',
    '<h2>Parts</h2>',
    `<table><tbody>${status.parts.map(renderPart).join('')}</tbody></table>`,
    '<h2>Service level objectives</h2>',
    '<table><thead><tr><th scope="col">Objective<th scope="col">Target<th scope="col">Last 24 hours' +
      '<th scope="col">Last 30 days</tr></thead>',
    `<tbody>${renderObjectives(status)}</tbody></table>`,
    '</main>',
    '</html>',
    '',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function describeStatus({ parts, recoveryHold }: Status): string {
  if (parts.some(({ status }) => status === 'fails')) return 'Parts of the service do not work';
  if (parts.some(({ status }) => status === 'delayed')) return 'The service is delayed';
  return recoveryHold ? 'The service was restored and is not released yet' : 'The service works';
}

function renderPart({ name, status, reason }: StatusPart): string {
  const detail = reason === undefined ? '' : ` <span class="dim">(${escapeHtml(reason)})</span>`;
  return `<tr><th scope="row">${name}<td><span class="${status === 'works' ? 'good' : 'bad'}">${states[status]}</span>${detail}</tr>`;
}

function renderObjectives({ levels, machinesWithoutWork }: Status): string {
  const rows = objectives.map(({ name, sentence, target }) => {
    const cells = levels
      ? [levels[name].day, levels[name].month].map((level) => renderLevel(level, target))
      : unknownCells;
    return `<tr><th scope="row">${sentence}<td>${formatPercent(target)} %${cells.join('')}</tr>`;
  });
  const machines =
    machinesWithoutWork === null
      ? '<td colspan="2">unknown'
      : `<td colspan="2" class="${machinesWithoutWork === 0 ? 'good' : 'bad'}">${machinesWithoutWork} now`;
  return [...rows, `<tr><th scope="row">No machine is on without a reason<td>0${machines}</tr>`].join('');
}

const unknownCells = ['<td>unknown', '<td>unknown'];

function renderLevel({ all, late }: Level, target: number): string {
  if (all === 0) return '<td class="dim">no events';
  const share = (all - late) / all;
  return `<td class="${share >= target ? 'good' : 'bad'}">${formatPercent(share)} %`;
}

/** Formats a share with up to two decimals. It is rounded down, so that a missed objective never looks like a met one. */
function formatPercent(share: number): string {
  return String(Math.floor(share * 10_000 + 1e-6) / 100);
}
