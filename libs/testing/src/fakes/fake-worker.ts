import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureHeader, signingSecretsOf, verify } from '@muster/access';
import type { AgentCommand } from '@muster/contracts';
import { KeyRing } from '@muster/vault';
import { testMasterKey } from '../stack';

/** A worker's tunnel as the service sees it: a real server that takes signed commands, and remembers them. */
export class FakeWorker {
  readonly received: AgentCommand[] = [];
  /** The headers of each push. */
  readonly headers: IncomingHttpHeaders[] = [];
  /** What it answers a push with; a worker that is well says 202 first and 200 to the same id again. */
  answer: (command: AgentCommand) => number | Promise<number> = ({ commandId }) =>
    this.received.some((known) => known.commandId === commandId) ? 200 : 202;
  refused = 0;
  /** By which it judges how old a signature is. */
  now: () => Date = () => new Date();

  private constructor(
    private readonly server: Server,
    public signingSecret: string,
  ) {}

  /** One of an organization of a test's. */
  static startFor(organizationId: string): Promise<FakeWorker> {
    return FakeWorker.start(signingSecretsOf(KeyRing.parse(testMasterKey), organizationId)[0]!);
  }

  static async start(signingSecret: string): Promise<FakeWorker> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void worker.take(request.url ?? '', request.headers, Buffer.concat(chunks)).then((status) => {
          response.writeHead(status).end();
        });
      });
    });
    const worker = new FakeWorker(server, signingSecret);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return worker;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<number> {
    if (
      path !== '/commands' ||
      verify([this.signingSecret], headers[signatureHeader] as string | undefined, body, this.now()) !== 'valid'
    ) {
      this.refused += 1;
      return 401;
    }
    const command = JSON.parse(body.toString()) as AgentCommand;
    const status = await this.answer(command);
    this.received.push(command);
    this.headers.push(headers);
    return status;
  }
}
