import { lookup as systemLookup } from 'node:dns';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AddressPolicy, isOfHost } from './address-policy';

export interface OutboundRequest {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** The whole exchange, from the name's lookup to the last byte; 10 s unless said. */
  timeoutMs?: number;
  /** Where whoever named the address calls from: one that is not public must then be of that same host. */
  namedFrom?: string | null;
  /** What the answer may weigh; 1 MiB unless said. */
  maxAnswerBytes?: number;
  /** Never sent a second time, also where a kept connection broke that had most likely brought nothing. */
  sentOnce?: boolean;
}

export interface OutboundAnswer {
  status: number;
  headers?: IncomingHttpHeaders;
  body: Buffer;
}

/** The address is not one that we call. Nothing was sent. */
export class OutboundRefused extends Error {
  override name = 'OutboundRefused';
}

/** There was no whole answer; what was asked may have happened all the same. */
export class OutboundFailed extends Error {
  override name = 'OutboundFailed';
}

/** Finds every address of a name. */
type Resolve = (
  hostname: string,
  options: { all: true },
  answer: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void;

const defaultAnswerBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;

/**
 * The one way to addresses that a caller or a worker named: http and https only, public addresses only unless
 * OUTBOUND_ALLOW opens more, the checked address is the one that is connected to, and redirects are not followed.
 * Connections are kept, because a push to a worker should not wait for a handshake.
 */
@Injectable()
export class Outbound implements OnApplicationShutdown {
  private readonly policy: AddressPolicy;
  private readonly agents = {
    'http:': new HttpAgent({ keepAlive: true, maxFreeSockets: 1024 }),
    'https:': new HttpsAgent({ keepAlive: true, maxFreeSockets: 1024 }),
  };

  constructor(
    allow: readonly string[],
    private readonly resolve: Resolve = systemLookup,
  ) {
    this.policy = new AddressPolicy(allow);
  }

  async fetch(request: OutboundRequest): Promise<OutboundAnswer> {
    const url = this.checkUrl(request.url);
    const hostname = bareHost(url);
    if (this.policy.isAddress(hostname)) this.requireNear(hostname, request.namedFrom);
    try {
      return await this.exchange(url, request);
    } catch (error) {
      // The other side closed a kept connection at the moment that we used it: it has read nothing of this request.
      if (!(error instanceof StaleConnection)) throw error;
      if (request.sentOnce) throw new OutboundFailed('the connection broke');
      return this.exchange(url, request);
    }
  }

  /** Throws OutboundRefused where a call would; also when the name leads nowhere. For addresses that are used later. */
  async check(text: string): Promise<void> {
    const url = this.checkUrl(text);
    const hostname = bareHost(url);
    if (this.policy.isAddress(hostname)) return;
    await new Promise<void>((resolve, reject) => {
      this.lookupFor()(hostname, { all: true }, (error) => (error ? reject(asRefusal(error, hostname)) : resolve()));
    });
  }

  onApplicationShutdown(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  /** What can be said of a URL without asking anyone. Its parser has made one form of all ways to write an address. */
  private checkUrl(text: string): URL {
    if (!URL.canParse(text)) throw new OutboundRefused('this is no URL');
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new OutboundRefused('only http and https addresses are called');
    }
    if (url.username || url.password) throw new OutboundRefused('an address with credentials in it is not called');
    const hostname = bareHost(url);
    if (this.policy.isAddress(hostname) && !this.policy.allows(hostname)) {
      throw new OutboundRefused(`${hostname} is not a public address`);
    }
    return url;
  }

  /** A loopback or private address means another machine to whoever is elsewhere, and to us perhaps ourselves. */
  private isNear(address: string, namedFrom: string | null | undefined): boolean {
    return namedFrom === undefined || this.policy.isPublic(address) || isOfHost(address, namedFrom);
  }

  private requireNear(address: string, namedFrom: string | null | undefined): void {
    if (this.isNear(address, namedFrom)) return;
    throw new OutboundRefused(`${address} is not of the host that named it (${namedFrom ?? 'not known'})`);
  }

  /** In place of the system's lookup, so that the address which was checked is the one that is connected to. */
  private lookupFor(namedFrom?: string | null): LookupFunction {
    return (hostname, options, answer) => {
      this.resolve(hostname, { all: true }, (error, found) => {
        if (error) return answer(error, '', 0);
        const open = found.filter(({ address }) => this.policy.allows(address, hostname));
        const allowed = open.filter(({ address }) => this.isNear(address, namedFrom));
        const [first] = allowed;
        if (!first) {
          const why = open.length ? 'no address of the host that named it' : 'no public address';
          return answer(new OutboundRefused(`${hostname} has ${why}`), '', 0);
        }
        if (options.all) return answer(null, allowed);
        answer(null, first.address, first.family);
      });
    };
  }

  private exchange(url: URL, request: OutboundRequest): Promise<OutboundAnswer> {
    const { method = 'GET', headers = {}, body, timeoutMs = defaultTimeoutMs, namedFrom } = request;
    const { maxAnswerBytes = defaultAnswerBytes } = request;
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      let answered = false;
      const outgoing = send(url, {
        method,
        agent: this.agents[url.protocol as 'http:' | 'https:'],
        lookup: this.lookupFor(namedFrom),
        headers: { ...headers, ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
      });
      const timer = setTimeout(() => {
        outgoing.destroy(new OutboundFailed(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      const fail = (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        const stale = outgoing.reusedSocket && !answered && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '');
        reject(stale ? new StaleConnection() : asOutboundError(error));
      };
      outgoing.on('error', fail);
      // A connection that is kept was perhaps made for somebody else of the same name.
      outgoing.on('socket', (socket) => {
        if (socket.connecting || !socket.remoteAddress) return;
        try {
          this.requireNear(socket.remoteAddress, namedFrom);
        } catch (error) {
          outgoing.destroy(error as Error);
        }
      });
      outgoing.on('response', (response) => {
        answered = true;
        readBody(response, maxAnswerBytes).then((bytes) => {
          clearTimeout(timer);
          resolve({ status: response.statusCode!, headers: response.headers, body: bytes });
        }, fail);
      });
      outgoing.end(body);
    });
  }
}

class StaleConnection extends Error {}

async function readBody(response: IncomingMessage, maxAnswerBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the response, and with it the connection.
    if (length > maxAnswerBytes) throw new OutboundFailed(`the answer is longer than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A name as it is looked up: without an IPv6 address's brackets. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function asOutboundError(error: NodeJS.ErrnoException): Error {
  if (error instanceof OutboundRefused || error instanceof OutboundFailed) return error;
  return new OutboundFailed(error.code ?? error.message, { cause: error });
}

function asRefusal(error: Error, hostname: string): Error {
  if (error instanceof OutboundRefused) return error;
  return new OutboundRefused(`${hostname} cannot be found`, { cause: error });
}
