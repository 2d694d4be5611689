import type { Answer, HttpClient } from '@muster/testing';

/** Sends a multipart form as a browser does. */
export async function sendForm(
  client: HttpClient,
  path: string,
  fields: Record<string, string | Blob>,
): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const { url, headers } = client;
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: form });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
}

export const sendReport = (client: HttpClient, payload: object | string, screenshot?: Buffer) =>
  sendForm(client, '/api/feedback-submissions', {
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    ...(screenshot ? { screenshot: new File([new Uint8Array(screenshot)], 'screen.png', { type: 'image/png' }) } : {}),
  });

export const wish = { type: 'feature_request', title: 'A darker console', description: 'For the night.' };
export const bug = { type: 'bug_report', title: 'Empty list', description: 'Nothing is shown.' };
