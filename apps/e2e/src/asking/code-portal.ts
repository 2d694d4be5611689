import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { computeAuthenticatorCode } from '@muster/testing';

/** The authenticator app of the portal's account: a short period, so that a test does not wait for long. */
const periodSeconds = 4;
const digits = 8;
/** Number of earlier periods whose codes are accepted, because a busy machine enters a code late. */
const acceptedPeriods = 8;

/** A portal that asks for a password and then for a one-time code. It records every code that it receives. */
export class CodePortal {
  readonly password = `pw-${randomBytes(9).toString('base64url')}`;
  readonly totpSecret = 'JBSWY3DPEHPK3PXPGEZDGNBVGY3TQOJQ';
  /** The received codes of each sign-in. */
  readonly received = new Map<string, string[]>();
  /** The code that the portal sends to the phone of a sign-in. */
  readonly sent = new Map<string, string>();
  /** Called when the portal has checked the password, before it answers. */
  onPassword: (signIn: string) => Promise<void> | void = () => undefined;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<CodePortal> {
    const portal = new CodePortal(createServer((request, response) => void portal.answerRequest(request, response)));
    await new Promise<void>((resolve) => portal.server.listen(0, '127.0.0.1', resolve));
    return portal;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get otpauthUrl(): string {
    return `otpauth://totp/Payer:us?secret=${this.totpSecret}&period=${periodSeconds}&digits=${digits}`;
  }

  /** All received codes of all sign-ins. */
  listCodes(): string[] {
    return [...this.received.values()].flat();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://portal');
    const signIn = url.searchParams.get('run') ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const fields = new URLSearchParams(Buffer.concat(chunks).toString());
    const page = await this.renderPage(url.pathname, signIn, fields);
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<title>Payer</title>${page}`);
  }

  private async renderPage(path: string, signIn: string, fields: URLSearchParams): Promise<string> {
    if (path === '/password' && fields.get('password') === this.password) {
      // Letters and digits, so that no time or id contains the code by chance.
      this.sent.set(signIn, randomBytes(5).toString('hex').toUpperCase());
      this.received.set(signIn, []);
      await this.onPassword(signIn);
      return renderForm(`/code?run=${signIn}`, 'Code', 'text', 'Continue');
    }
    if (path === '/code') {
      const code = fields.get('code') ?? '';
      const isRepeated = this.listCodes().includes(code);
      this.received.get(signIn)!.push(code);
      const isRight = code === this.sent.get(signIn) || this.listTotpCodes().includes(code);
      return `<p id="outcome">${isRepeated ? 'repeated code' : isRight ? 'welcome' : 'wrong code'}</p>`;
    }
    return renderForm(`/password?run=${signIn}`, 'Password', 'password', 'Sign in');
  }

  /** Returns the codes of this period and of the last periods (RFC 6238 with SHA-1). */
  private listTotpCodes(): string[] {
    return Array.from({ length: acceptedPeriods }, (_, ago) =>
      computeAuthenticatorCode(this.totpSecret, new Date(), -ago, { periodSeconds, digits }),
    );
  }
}

function renderForm(action: string, label: string, type: string, button: string): string {
  const name = label.toLowerCase();
  const hint = name === 'code' ? ' autocomplete="one-time-code"' : '';
  return (
    `<form method="post" action="${action}"><label>${label} <input name="${name}" type="${type}"${hint}></label>` +
    `<button>${button}</button></form>`
  );
}
