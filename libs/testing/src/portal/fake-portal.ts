import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { renderPage, type Portal, type PortalDesign } from './portal-pages';

export interface PortalRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  form: Record<string, string>;
}

/**
 * An insurer's portal for a real browser: sign-in, a list over several pages, a form and its confirmation, a slow page,
 * a one-time code, a captcha, and pages that show secrets or ask for secrets. It has several designs. A second site
 * stands for any other website, which a session must not open. Both sites record their requests.
 */
export class FakePortal implements Portal {
  readonly user = 'dana';
  readonly requests: PortalRequest[] = [];
  /** Forms of all submitted claims. A claim that was submitted twice is listed twice. */
  readonly submitted: Record<string, string>[] = [];
  /** Requests that arrived at the second site, which a session must not open. */
  readonly visits: string[] = [];
  design: PortalDesign = 'first';
  /** Whether a code is required after the password. */
  asksForCode = false;
  slowMs = 1500;
  /** Called before a submission is answered. A promise delays the response; the submission is already counted. */
  onSubmit: () => Promise<void> | void = () => undefined;
  private readonly sessions = new Map<string, 'code' | 'in'>();

  private constructor(
    private readonly server: Server,
    private readonly other: Server,
    readonly password: string,
  ) {
    server.on(
      'request',
      (request, response) => void this.answerRequest(request, response).catch(() => response.destroy()),
    );
    other.on('request', (request, response) => {
      if (request.url !== '/favicon.ico') this.visits.push(`${request.method} ${request.url}`);
      response.setHeader('content-type', 'text/html').end('<title>Elsewhere</title><h1>Elsewhere</h1>');
    });
  }

  static async start(password = 'correct horse-7!'): Promise<FakePortal> {
    const portal = new FakePortal(createServer(), createServer(), password);
    await Promise.all(
      [portal.server, portal.other].map((each) => new Promise<void>((done) => each.listen(0, '127.0.0.1', done))),
    );
    return portal;
  }

  get url(): string {
    return `http://127.0.0.1:${getServerPort(this.server)}`;
  }

  get elsewhere(): string {
    return `http://127.0.0.1:${getServerPort(this.other)}`;
  }

  /** Returns how often a claim was submitted. */
  countSubmissions(claim: string): number {
    return this.submitted.filter((each) => each['claim'] === claim).length;
  }

  async close(): Promise<void> {
    for (const each of [this.server, this.other]) {
      each.closeAllConnections();
      await new Promise((done) => each.close(done));
    }
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url!, this.url);
    const form = request.method === 'POST' ? await readSubmittedForm(request) : {};
    const query = Object.fromEntries(searchParams);
    if (path === '/favicon.ico') return void response.writeHead(404).end();
    this.requests.push({ method: request.method!, path, query, form });
    const cookie = /portal=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    const state = this.sessions.get(cookie);
    const redirectTo = (where: string, headers: Record<string, string> = {}): void =>
      void response.writeHead(303, { location: where, ...headers }).end();

    if (path === '/leave') return redirectTo(`${this.elsewhere}/left`);
    if (path === '/slow') {
      // The wait ends with its connection, so that a closed portal leaves no timer behind.
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      await sleep(this.slowMs, undefined, { signal: gone.signal });
    }
    if (request.method === 'POST' && path === '/login') {
      if (form['user'] !== this.user || form['password'] !== this.password) return redirectTo('/login?wrong=1');
      const id = randomBytes(8).toString('hex');
      this.sessions.set(id, this.asksForCode ? 'code' : 'in');
      return redirectTo(this.asksForCode ? '/code' : '/claims', { 'set-cookie': `portal=${id}; Path=/; HttpOnly` });
    }
    if (request.method === 'POST' && path === '/code') {
      if (form['code'] !== '246810' || !state) return redirectTo('/code?wrong=1');
      this.sessions.set(cookie, 'in');
      return redirectTo('/claims');
    }
    const isOpen = ['/', '/login', '/code', '/captcha', '/slow'].includes(path) || path.startsWith('/open/');
    if (!isOpen && state !== 'in') return redirectTo('/login');
    if (request.method === 'POST' && path === '/submit') {
      this.submitted.push(form);
      const number = this.submitted.length;
      await this.onSubmit();
      return redirectTo(`/confirmation?claim=${encodeURIComponent(form['claim'] ?? '')}&number=${number}`);
    }
    const page = renderPage(this, path, query);
    response.writeHead(page === null ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page ?? '<title>Not found</title><h1>Not found</h1>');
  }
}

function getServerPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function readSubmittedForm(request: IncomingMessage): Promise<Record<string, string>> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(pieces).toString()));
}
