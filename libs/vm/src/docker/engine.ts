import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { request as requestOverTls } from 'node:https';
import { join } from 'node:path';
import { type Outbound, type OutboundAnswer, OutboundRefused } from '@muster/platform';
import { MachineError } from '../machine';

export interface EngineCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** Without the API's version. */
  path: string;
  timeoutMs: number;
}

/** Where ca.pem, cert.pem and key.pem are; null: without a certificate of ours, and with the authorities Node knows. */
export interface EngineTls {
  folder: string | null;
}

/** What this speaks; an older engine is spoken to in its own version, and a newer one takes this. */
const newestVersion = '1.44';
const maxAnswerBytes = 8 * 1024 * 1024;

/** One Docker Engine: the deployment's own, or one that an agent named and that the outbound guard lets through. */
export class Engine {
  private version?: string;

  constructor(
    private readonly host: string,
    private readonly way: { outbound: Pick<Outbound, 'fetch'> } | { tls?: EngineTls },
  ) {}

  async call({ method, path, timeoutMs }: EngineCall): Promise<{ status: number; body: unknown }> {
    const began = Date.now();
    const version = await this.agreedVersion(timeoutMs);
    const leftMs = Math.max(1, timeoutMs - (Date.now() - began));
    const answer = await this.exchange(method, `/v${version}${path}`, leftMs);
    const body = parse(answer.body);
    // It was replaced by one that does not speak this version.
    if (answer.status === 400 && /version/i.test(messageOf(body))) this.version = undefined;
    return { status: answer.status, body };
  }

  /** Nobody waits for the question of somebody else, which may hang. */
  private async agreedVersion(timeoutMs: number): Promise<string> {
    if (this.version) return this.version;
    const { status, body } = await this.exchange('GET', '/version', timeoutMs);
    const { ApiVersion } = (parse(body) ?? {}) as { ApiVersion?: unknown };
    if (status !== 200 || typeof ApiVersion !== 'string' || !/^\d+\.\d+$/.test(ApiVersion)) {
      throw new MachineError('bad_answer', `What answers at ${this.host} is no Docker Engine (status ${status}).`);
    }
    return (this.version = older(ApiVersion, newestVersion));
  }

  private async exchange(method: EngineCall['method'], path: string, timeoutMs: number): Promise<OutboundAnswer> {
    try {
      if (!('outbound' in this.way)) return await callDirectly(this.host, { method, path, timeoutMs }, this.way.tls);
      return await this.way.outbound.fetch({ url: `http://${authorityOf(this.host)}${path}`, method, timeoutMs });
    } catch (error) {
      if (error instanceof MachineError) throw error;
      if (error instanceof OutboundRefused) {
        throw new MachineError('misconfigured', `The Docker host is not called: ${error.message}.`);
      }
      const { code, message } = error as NodeJS.ErrnoException;
      throw new MachineError('unreachable', `The Docker Engine did not answer: ${code ?? message}.`, { cause: error });
    }
  }
}

export function messageOf(body: unknown): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message.split('\n')[0]!.slice(0, 300) : '';
}

async function callDirectly(
  host: string,
  { method, path, timeoutMs }: EngineCall,
  tls: EngineTls | undefined,
): Promise<OutboundAnswer> {
  const isSocket = host.startsWith('unix://');
  const isTls = tls !== undefined && !isSocket;
  const where = isSocket
    ? { socketPath: host.slice('unix://'.length), host: 'docker' }
    : addressOf(authorityOf(host, isTls ? 2376 : 2375));
  const certificates = isTls ? await readCertificates(tls) : {};
  const send = isTls ? requestOverTls : request;
  return new Promise((resolve, reject) => {
    const outgoing = send({ ...where, ...certificates, method, path, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxAnswerBytes) response.destroy(new Error('its answer is too long'));
        chunks.push(chunk);
      });
      response.on('end', () => {
        clearTimeout(timer);
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks) });
      });
      response.on('error', fail);
    });
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    outgoing.on('error', fail);
    outgoing.end();
  });
}

/** Anew each time: they are changed under a service that runs. */
async function readCertificates({ folder }: EngineTls): Promise<{ ca?: Buffer; cert?: Buffer; key?: Buffer }> {
  if (folder === null) return {};
  const read = (name: string) =>
    readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      throw new MachineError('misconfigured', `DOCKER_CERT_PATH has no ${name} that can be read: ${error.code}.`);
    });
  const [ca, cert, key] = await Promise.all([read('ca.pem'), read('cert.pem'), read('key.pem')]);
  return { ca, cert, key };
}

function authorityOf(host: string, port = 2375): string {
  const authority = host.replace(/^tcp:\/\//, '');
  if (host === authority || !URL.canParse(`http://${authority}`)) {
    throw new MachineError('misconfigured', `The Docker host ${host} is neither unix:///path nor tcp://host:port.`);
  }
  return new URL(`http://${authority}`).port ? authority : `${authority}:${port}`;
}

function addressOf(authority: string): { host: string; port: string } {
  const { hostname, port } = new URL(`http://${authority}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || '80' };
}

/** Null where there is no JSON; what may be missing of it is the caller's to see. */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function older(left: string, right: string): string {
  const minor = (version: string) => version.split('.').map(Number);
  const [[a, b], [c, d]] = [minor(left), minor(right)];
  return a! < c! || (a === c && b! < d!) ? left : right;
}
