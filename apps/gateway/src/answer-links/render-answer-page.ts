import { createHash } from 'node:crypto';
import type { LinkedQuestion } from '@muster/contracts';
import type { FormField } from '@muster/jobs';

/** A question as the page shows it. */
export interface PageQuestion extends LinkedQuestion {
  takeover: boolean;
}

interface Notice {
  title: string;
  text: string;
}

/** The styles of the page. Its policy allows only these, by their hash, and no script. */
const styles = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 16px; background: light-dark(#f5f6f8, #0f1318); color: light-dark(#16202c, #e6eaf0); }
main { max-width: 36rem; margin: 0 auto; padding: 24px; border: 1px solid light-dark(#dce0e6, #2b333d);
  border-radius: 10px; background: light-dark(#ffffff, #161b22); overflow-wrap: anywhere; }
h1 { margin: 0 0 8px; font-size: 1.25rem; white-space: pre-wrap; }
p { margin: 0 0 16px; white-space: pre-wrap; }
.dim { color: light-dark(#515e6c, #9ba8b6); font-size: .875rem; }
.wrong { color: light-dark(#b3261e, #ff8f86); }
img { display: block; max-width: 100%; max-height: 24rem; margin: 0 0 16px; }
form { display: flex; flex-direction: column; gap: 12px; }
label { display: flex; flex-direction: column; gap: 4px; }
label.check { flex-direction: row; align-items: center; }
input, textarea, select { box-sizing: border-box; width: 100%; min-height: 44px; padding: 8px; font: inherit;
  border: 1px solid light-dark(#7f8a99, #66727f); border-radius: 6px; background: light-dark(#ffffff, #0f1318);
  color: inherit; }
input[type=checkbox] { width: 24px; min-height: 24px; }
button { min-height: 44px; padding: 8px 16px; font: inherit; font-weight: 600; border: 0; border-radius: 6px;
  background: light-dark(#1f5fd0, #7cabff); color: light-dark(#ffffff, #0b1524); cursor: pointer;
  overflow-wrap: anywhere; white-space: pre-wrap; }
`;
export const stylesHash = `'sha256-${createHash('sha256').update(styles).digest('base64')}'`;

/** Renders the question with the form that answers it. `wrong` is the error of an answer that was refused. */
export function renderQuestionPage(question: PageQuestion, now: Date, wrong?: string): string {
  const { screenshotUrl, expiresAt } = question;
  const minutes = Math.ceil((Date.parse(expiresAt) - now.getTime()) / 60_000);
  const until = `${expiresAt.slice(0, 10)} ${expiresAt.slice(11, 16)} UTC`;
  const left = minutes < 120 ? `${minutes} min left` : `until ${until}`;
  return renderPage(question.question, [
    `<p class="dim">A run is waiting for your answer (<time datetime="${escapeHtml(expiresAt)}">${left}</time>).</p>`,
    wrong === undefined ? '' : `<p class="wrong" role="alert">${escapeHtml(wrong)}</p>`,
    screenshotUrl === null
      ? ''
      : `<img src="${escapeHtml(screenshotUrl)}" alt="Screenshot of the browser when the question was asked"` +
        ` referrerpolicy="no-referrer">`,
    // Without an action, a form is sent to the address of its page, so the token is not repeated in the page.
    `<form method="post" autocomplete="off">${renderInputs(question)}</form>`,
  ]);
}

/** Renders a page without a form; `question` is the text of the question, if it may be shown. */
export function renderNoticePage({ title, text }: Notice, question?: string): string {
  return renderPage(title, [
    question === undefined ? '' : `<p class="dim" dir="auto">${escapeHtml(question)}</p>`,
    `<p role="status">${escapeHtml(text)}</p>`,
  ]);
}

function renderPage(heading: string, parts: string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex, nofollow">',
    '<title>Answer · Muster</title>',
    `<style>${styles}</style>`,
    '<main>',
    `<h1 dir="auto">${escapeHtml(heading)}</h1>`,
    ...parts.filter((part) => part !== ''),
    '</main>',
    '</html>',
    '',
  ].join('\n');
}

function renderInputs({ kind, choices, fields, takeover }: PageQuestion): string {
  switch (kind) {
    case 'confirm':
      return renderButton('true', takeover ? 'Done' : 'Yes') + renderButton('false', 'No');
    case 'choice':
      return (choices ?? []).map((choice) => renderButton(choice, choice)).join('');
    case 'code':
      return (
        '<label>Code<input name="answer" required autocomplete="one-time-code" autocapitalize="none"' +
        ' spellcheck="false" maxlength="10" pattern="[A-Za-z0-9]{4,10}" title="4 to 10 letters and digits"></label>' +
        submit
      );
    case 'text':
      return '<label>Answer<textarea name="answer" required rows="3" maxlength="10000"></textarea></label>' + submit;
    case 'form':
      return (fields as unknown as FormField[]).map(renderField).join('') + submit;
  }
}

const submit = '<button type="submit">Answer</button>';

function renderButton(value: string, text: string): string {
  return `<button type="submit" name="answer" value="${escapeHtml(value)}"><bdi>${escapeHtml(text)}</bdi></button>`;
}

function renderField({ name, label, type, choices = [], required }: FormField): string {
  const title = `<bdi>${escapeHtml(label)}</bdi>`;
  const own = `name="${escapeHtml(name)}"`;
  if (type === 'boolean') return `<label class="check"><input type="checkbox" ${own} value="true">${title}</label>`;
  const must = required ? ' required' : '';
  if (type === 'choice') {
    const options = choices.map((choice) => `<option value="${escapeHtml(choice)}">${escapeHtml(choice)}</option>`);
    const none = `<option value="">${required ? 'Choose …' : 'None'}</option>`;
    return `<label>${title}<select ${own}${must}>${none}${options.join('')}</select></label>`;
  }
  const kind = type === 'number' ? 'type="number" step="any"' : 'type="text" maxlength="10000"';
  return `<label>${title}<input ${own} ${kind}${must}></label>`;
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for an element or for an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character]!);
}
