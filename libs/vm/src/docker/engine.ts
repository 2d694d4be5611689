import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { request as requestOverTls } from 'node:https';
import { join } from 'node:path';
import { type Outbound, type OutboundAnswer, OutboundRefused } from '@muster/platform';
import { MachineError } from '../machine';

export interface EngineCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path of the called URL without the API version. */
  path: string;
  timeoutMs: number;
}

/** Folder with ca.pem, cert.pem and key.pem. If null, no certificate is sent and Node's authorities are trusted. */
export interface EngineTls {
  folder: string | null;
}

/** Newest API version that is used. An older engine is called with its own version; a newer one supports this one. */
const newestVersion = '1.44';
const maxAnswerBytes = 8 * 1024 * 1024;

/** One Docker Engine: the deployment's own, or one that an agent named, which is called through the outbound guard. */
export class Engine {
  private version?: string;

  constructor(
    private readonly host: string,
    private readonly transport: { outbound: Pick<Outbound, 'fetchBounded'> } | { tls?: EngineTls },
  ) {}

  async callEngine({ method, path, timeoutMs }: EngineCall): Promise<{ status: number; body: unknown }> {
    const startedAt = Date.now();
    const version = await this.negotiateVersion(timeoutMs);
    const leftMs = Math.max(1, timeoutMs - (Date.now() - startedAt));
    const answer = await this.exchangeOnce(method, `/v${version}${path}`, leftMs);
    const body = parseJsonOrNull(answer.body);
    // The engine was replaced by another that does not support the API version. The stored version is deleted, so that
    // the next call requests it again.
    if (answer.status === 400 && /version/i.test(extractEngineMessage(body))) this.version = undefined;
    return { status: answer.status, body };
  }

  /**
   * Returns the API version to use. Concurrent calls do not share one request for the version, because that request may
   * hang.
   */
  private async negotiateVersion(timeoutMs: number): Promise<string> {
    if (this.version) return this.version;
    const { status, body } = await this.exchangeOnce('GET', '/version', timeoutMs);
    const { ApiVersion } = (parseJsonOrNull(body) ?? {}) as { ApiVersion?: unknown };
    if (status !== 200 || typeof ApiVersion !== 'string' || !/^\d+\.\d+$/.test(ApiVersion)) {
      throw new MachineError('bad_answer', `The server at ${this.host} is not a Docker Engine (status ${status}).`);
    }
    return (this.version = pickOlderVersion(ApiVersion, newestVersion));
  }

  private async exchangeOnce(method: EngineCall['method'], path: string, timeoutMs: number): Promise<OutboundAnswer> {
    try {
      if (!('outbound' in this.transport))
        return await callEngineDirectly(this.host, { method, path, timeoutMs }, this.transport.tls);
      return await this.transport.outbound.fetchBounded({
        url: `http://${parseAuthority(this.host)}${path}`,
        method,
        timeoutMs,
      });
    } catch (error) {
      if (error instanceof MachineError) throw error;
      if (error instanceof OutboundRefused) {
        throw new MachineError('misconfigured', `The service does not call this Docker host: ${error.message}.`);
      }
      const { code, message } = error as NodeJS.ErrnoException;
      throw new MachineError('unreachable', `The call to the Docker Engine failed: ${code ?? message}.`, {
        cause: error,
      });
    }
  }
}

export function extractEngineMessage(body: unknown): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message.split('\n')[0]!.slice(0, 300) : '';
}

async function callEngineDirectly(
  host: string,
  { method, path, timeoutMs }: EngineCall,
  tls: EngineTls | undefined,
): Promise<OutboundAnswer> {
  const isSocket = host.startsWith('unix://');
  const isTls = tls !== undefined && !isSocket;
  const address = isSocket
    ? { socketPath: host.slice('unix://'.length), host: 'docker' }
    : splitAuthority(parseAuthority(host, isTls ? 2376 : 2375));
  const certificates = isTls ? await readCertificates(tls) : {};
  const send = isTls ? requestOverTls : request;
  return new Promise((resolve, reject) => {
    const outgoing = send({ ...address, ...certificates, method, path, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxAnswerBytes) response.destroy(new Error('the answer is too long'));
        chunks.push(chunk);
      });
      response.on('end', () => {
        clearTimeout(timer);
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks) });
      });
      response.on('error', failCall);
    });
    const failCall = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    outgoing.on('error', failCall);
    outgoing.end();
  });
}

/** Reads the certificates again for each call, because they may be replaced while the service runs. */
async function readCertificates({ folder }: EngineTls): Promise<{ ca?: Buffer; cert?: Buffer; key?: Buffer }> {
  if (folder === null) return {};
  const readCertificate = (name: string) =>
    readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      throw new MachineError('misconfigured', `DOCKER_CERT_PATH has no readable ${name}: ${error.code}.`);
    });
  const [ca, cert, key] = await Promise.all([
    readCertificate('ca.pem'),
    readCertificate('cert.pem'),
    readCertificate('key.pem'),
  ]);
  return { ca, cert, key };
}

function parseAuthority(host: string, port = 2375): string {
  const authority = host.replace(/^tcp:\/\//, '');
  if (host === authority || !URL.canParse(`http://${authority}`)) {
    throw new MachineError('misconfigured', `The Docker host ${host} is neither unix:///path nor tcp://host:port.`);
  }
  return new URL(`http://${authority}`).port ? authority : `${authority}:${port}`;
}

function splitAuthority(authority: string): { host: string; port: string } {
  const { hostname, port } = new URL(`http://${authority}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || '80' };
}

/** Returns null if the body is not JSON. The caller checks which fields are present. */
function parseJsonOrNull(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function pickOlderVersion(left: string, right: string): string {
  const splitVersion = (version: string) => version.split('.').map(Number);
  const [[a, b], [c, d]] = [splitVersion(left), splitVersion(right)];
  return a! < c! || (a === c && b! < d!) ? left : right;
}
