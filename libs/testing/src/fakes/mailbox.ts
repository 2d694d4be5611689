import type { AddressInfo } from 'node:net';
import type { SMTPServer } from 'smtp-server';
import { waitFor } from '../wait-for';

export interface Mail {
  to: string;
  /** The message as received, with quoted-printable decoded. */
  raw: string;
}

/** A mail relay that speaks real SMTP, records the messages and refuses those that the test specifies. */
export class Mailbox {
  readonly mails: Mail[] = [];
  /** Returns the SMTP status for a recipient; null accepts it. */
  refuseRecipient: (address: string) => number | null = () => null;
  /** Returns the SMTP status for a received message; null accepts it, and `break` closes the connection. */
  onMessage: (to: string) => number | 'break' | null = () => null;

  private constructor(private readonly server: SMTPServer) {}

  static async start(): Promise<Mailbox> {
    // Loaded only here, because most tests receive no mail.
    const smtp = await import('smtp-server');
    const server = new smtp.SMTPServer({
      authMethods: ['PLAIN'],
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      onAuth: ({ username, password }, _session, answer) =>
        password === 'relay-secret' ? answer(null, { user: username }) : answer(new Error('wrong password')),
      onRcptTo: ({ address }, _session, answer) => {
        const code = mailbox.refuseRecipient(address);
        answer(code === null ? null : Object.assign(new Error('no such mailbox'), { responseCode: code }));
      },
      onData: (stream, { envelope }, answer) => {
        const chunks: Buffer[] = [];
        const to = envelope.rcptTo[0]!.address;
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const verdict = mailbox.onMessage(to);
          const raw = Buffer.concat(chunks).toString();
          if (verdict === null || verdict === 'break') mailbox.mails.push({ to, raw: decodeQuotedPrintable(raw) });
          if (verdict === 'break') return mailbox.closeConnections();
          answer(verdict === null ? null : Object.assign(new Error('not now'), { responseCode: verdict }));
        });
      },
    });
    const mailbox = new Mailbox(server);
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return mailbox;
  }

  get url(): string {
    return `smtp://muster:relay-secret@127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  /** Waits for this number of mails to an address, and returns them. */
  waitForMails(to: string, count = 1): Promise<Mail[]> {
    return waitFor(`${count} mails to ${to}`, () => {
      const found = this.mails.filter((mail) => mail.to === to);
      return found.length >= count ? found : null;
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** Closes all connections, after a message was received and before its answer is sent. */
  private closeConnections(): void {
    for (const connection of this.server.connections)
      (connection as { _socket: { destroy(): void } })._socket.destroy();
  }
}

function decodeQuotedPrintable(raw: string): string {
  return raw
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/(?:=[0-9A-F]{2})+/g, (run) => Buffer.from(run.replaceAll('=', ''), 'hex').toString());
}
