import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Milliseconds for which the portal keeps a run busy after its sign-in. */
const workMs = 300;

/**
 * A portal that locks an account for good when somebody signs in while the account is already signed in. A sign-in lasts
 * until its connection is closed, so it includes everything up to the end of the script's process.
 */
export class LockingPortal {
  /** Runs that signed in, in order. A run that is repeated signs in again. */
  readonly signIns: string[] = [];
  /** The sign-ins that locked an account: the run that was signed in, and the run that came second. */
  readonly locks: { user: string; first: string; second: string }[] = [];
  /** Called at each sign-in. The run stays signed in at least until this has ended. */
  onSignIn: (jobId: string) => Promise<void> | void = () => undefined;
  private readonly signedIn = new Map<string, { jobId: string; socket: Socket }>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<LockingPortal> {
    const portal = new LockingPortal(
      createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
        void portal.answer(request, response);
      }),
    );
    await new Promise<void>((resolve) => portal.server.listen(0, '127.0.0.1', resolve));
    return portal;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parameters = new URL(request.url!, 'http://portal').searchParams;
    const [user, jobId] = [parameters.get('user')!, parameters.get('run')!];
    const { socket } = request;
    const first = this.signedIn.get(user);
    this.signIns.push(jobId);
    if (first) this.locks.push({ user, first: first.jobId, second: jobId });
    if (this.locks.some((lock) => lock.user === user)) {
      response.writeHead(423).end('locked');
      return;
    }
    this.signedIn.set(user, { jobId, socket });
    socket.once('close', () => {
      if (this.signedIn.get(user)?.socket === socket) this.signedIn.delete(user);
    });
    response.writeHead(200, { 'content-type': 'text/plain' }).write('signed in\n');
    await this.onSignIn(jobId);
    await new Promise((resolve) => setTimeout(resolve, workMs));
    response.end('done\n');
  }
}
