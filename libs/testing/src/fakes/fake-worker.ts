import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureHeader, deriveSigningSecrets, checkSignature } from '@muster/access';
import type { AgentCommand } from '@muster/contracts';
import { KeyRing } from '@muster/vault';
import { testMasterKey } from '../stack';

/** A worker's tunnel as the service sees it: a real server that accepts signed commands and records them. */
export class FakeWorker {
  readonly received: AgentCommand[] = [];
  /** The headers of each push. */
  readonly headers: IncomingHttpHeaders[] = [];
  /** Returns the response status of a push. A healthy worker answers 202 to a new command and 200 to a repeated one. */
  answer: (command: AgentCommand) => number | Promise<number> = ({ commandId }) =>
    this.received.some((known) => known.commandId === commandId) ? 200 : 202;
  refused = 0;
  /** Clock by which the age of a signature is checked. */
  now: () => Date = () => new Date();

  private constructor(
    private readonly server: Server,
    public signingSecret: string,
  ) {}

  /** Starts a worker for an organization that a test created. */
  static startForOrganization(organizationId: string): Promise<FakeWorker> {
    return FakeWorker.start(deriveSigningSecrets(KeyRing.parseKeyRing(testMasterKey), organizationId)[0]!);
  }

  static async start(signingSecret: string): Promise<FakeWorker> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void worker.receiveCommand(request.url ?? '', request.headers, Buffer.concat(chunks)).then((status) => {
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

  private async receiveCommand(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<number> {
    if (
      path !== '/commands' ||
      checkSignature([this.signingSecret], headers[signatureHeader] as string | undefined, body, this.now()) !== 'valid'
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
