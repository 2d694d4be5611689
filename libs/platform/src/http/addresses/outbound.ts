import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AddressPolicy, isAddressOfHost } from './address-policy';
import { type FoundAddress, Names } from './find-addresses';

export interface OutboundRequest {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Time limit in milliseconds from the name lookup to the last byte; 10 s by default. */
  timeoutMs?: number;
  /**
   * Address of the client that specified the URL. An address that is not public must belong to the same host. Null if
   * the client's address is unknown; absent for no such check.
   */
  namedFrom?: string | null;
  /** Maximum size of the response in bytes; 1 MiB by default. */
  maxAnswerBytes?: number;
  /**
   * Whether the request is never sent again. Otherwise it is repeated if a reused connection is lost and has most
   * likely delivered nothing.
   */
  sentOnce?: boolean;
}

export interface OutboundAnswer {
  status: number;
  headers?: IncomingHttpHeaders;
  body: Buffer;
}

/** A response whose body is still being received. */
export interface OutboundStream {
  status: number;
  headers: IncomingHttpHeaders;
  body: IncomingMessage;
}

/** Thrown if the service may not call an address. Nothing was sent. */
export class OutboundRefused extends Error {
  override name = 'OutboundRefused';
}

/** Thrown if no complete response was received. The request may have taken effect all the same. */
export class OutboundFailed extends Error {
  override name = 'OutboundFailed';
}

/** Returns all addresses of a name. */
type Resolve = (hostname: string) => Promise<FoundAddress[]>;

const defaultAnswerBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;

/**
 * The only way to call addresses that a caller or a worker specified. Only http and https are allowed, and only public
 * addresses unless OUTBOUND_ALLOW allows more. Connections are only made to addresses that were checked, and redirects
 * are not followed. Connections are reused, because a push to a worker should not wait for a handshake.
 */
@Injectable()
export class Outbound implements OnApplicationShutdown {
  private readonly policy: AddressPolicy;
  private readonly socketsWithListener = new WeakSet<Socket>();
  private readonly resolve: Resolve;
  private readonly agents = {
    'http:': new HttpAgent({ keepAlive: true, maxFreeSockets: 1024 }),
    'https:': new HttpsAgent({ keepAlive: true, maxFreeSockets: 1024 }),
  };

  constructor(allow: readonly string[], resolve?: Resolve) {
    this.policy = new AddressPolicy(allow);
    const names = new Names({ inside: allow.length > 0 });
    this.resolve = resolve ?? ((hostname) => names.findAddresses(hostname));
  }

  fetchBounded(request: OutboundRequest): Promise<OutboundAnswer> {
    return this.callChecked(request, (url) => this.exchangeOnce(url, request));
  }

  /**
   * Like `fetchBounded`, but returns the body as a stream, without a limit of time or size. The signal aborts the whole
   * exchange.
   */
  openStream(
    request: Omit<OutboundRequest, 'timeoutMs' | 'maxAnswerBytes'>,
    signal?: AbortSignal | null,
  ): Promise<OutboundStream> {
    return this.callChecked(request, (url) => this.startResponseStream(url, request, signal));
  }

  /**
   * Checks an address that will be called later. Throws OutboundRefused if a call to it would be refused, or if its
   * name cannot be resolved.
   */
  async checkAddress(text: string): Promise<void> {
    const url = this.checkUrl(text);
    const hostname = getBareHost(url);
    if (this.policy.isAddress(hostname)) return;
    await new Promise<void>((resolve, reject) => {
      this.createCheckedLookup()(hostname, { all: true }, (error) =>
        error ? reject(toRefusalError(error, hostname)) : resolve(),
      );
    });
  }

  onApplicationShutdown(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private async callChecked<T>(request: OutboundRequest, exchange: (url: URL) => Promise<T>): Promise<T> {
    const url = this.checkUrl(request.url);
    const hostname = getBareHost(url);
    if (this.policy.isAddress(hostname)) this.requireAllowedAddress(hostname, request.namedFrom);
    try {
      return await exchange(url);
    } catch (error) {
      // The server closed the reused connection just as the request was sent, so it has read nothing of the request,
      // and the request can be repeated.
      if (!(error instanceof StaleConnection)) throw error;
      if (request.sentOnce) throw new OutboundFailed('the connection was lost');
      return exchange(url);
    }
  }

  /**
   * Checks everything that needs no lookup. The URL parser has already converted all notations of an address to one.
   */
  private checkUrl(text: string): URL {
    if (!URL.canParse(text)) throw new OutboundRefused('this is not a valid URL');
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new OutboundRefused('only http and https URLs are allowed');
    }
    if (url.username || url.password) throw new OutboundRefused('a URL with credentials is not allowed');
    const hostname = getBareHost(url);
    if (this.policy.isAddress(hostname) && !this.policy.allowsAddress(hostname)) {
      throw new OutboundRefused(`${hostname} is not a public address`);
    }
    return url;
  }

  /**
   * Whether the address may be called for a URL that a client at `namedFrom` specified. A loopback or private address
   * means another machine to a client on another host, and may mean this service to the service.
   */
  private isAllowedAddress(address: string, namedFrom: string | null | undefined): boolean {
    return namedFrom === undefined || this.policy.isPublic(address) || isAddressOfHost(address, namedFrom);
  }

  private requireAllowedAddress(address: string, namedFrom: string | null | undefined): void {
    if (this.isAllowedAddress(address, namedFrom)) return;
    throw new OutboundRefused(
      `${address} is neither a public address nor an address of the host that registered it (${namedFrom ?? 'unknown'})`,
    );
  }

  /** Replaces the system's lookup, so that the connection is made to the address that was checked. */
  private createCheckedLookup(namedFrom?: string | null): LookupFunction {
    return (hostname, options, answer) => {
      this.resolve(hostname).then(
        (found) => {
          const open = found.filter(({ address }) => this.policy.allowsAddress(address, hostname));
          const allowed = open.filter(({ address }) => this.isAllowedAddress(address, namedFrom));
          const [first] = allowed;
          if (!first) {
            const reason = open.length
              ? 'neither a public address nor an address of the host that registered it'
              : 'no public address';
            return answer(new OutboundRefused(`${hostname} has ${reason}`), '', 0);
          }
          if (options.all) return answer(null, allowed);
          answer(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => answer(error, '', 0),
      );
    };
  }

  private exchangeOnce(url: URL, request: OutboundRequest): Promise<OutboundAnswer> {
    const { timeoutMs = defaultTimeoutMs, maxAnswerBytes = defaultAnswerBytes } = request;
    return new Promise((resolve, reject) => {
      let answered = false;
      const outgoing = this.prepareRequest(url, request);
      const timer = setTimeout(() => {
        outgoing.destroy(new OutboundFailed(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      const failExchange = (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        reject(toExchangeError(error, outgoing, answered));
      };
      outgoing.on('error', failExchange);
      outgoing.on('response', (response) => {
        answered = true;
        readResponseBody(response, maxAnswerBytes).then((bytes) => {
          clearTimeout(timer);
          resolve({ status: response.statusCode!, headers: response.headers, body: bytes });
        }, failExchange);
      });
      outgoing.end(request.body);
    });
  }

  private startResponseStream(
    url: URL,
    request: OutboundRequest,
    signal?: AbortSignal | null,
  ): Promise<OutboundStream> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      let answered = false;
      const outgoing = this.prepareRequest(url, request);
      const abortExchange = () => outgoing.destroy(signal!.reason as Error);
      signal?.addEventListener('abort', abortExchange, { once: true });
      outgoing.on('close', () => signal?.removeEventListener('abort', abortExchange));
      // This listener handles errors before the headers of the response. Later errors are reported by the stream of its
      // body.
      outgoing.on('error', (error) => reject(signal?.aborted ? error : toExchangeError(error, outgoing, answered)));
      outgoing.on('response', (response) => {
        answered = true;
        resolve({ status: response.statusCode!, headers: response.headers, body: response });
      });
      outgoing.end(request.body);
    });
  }

  /**
   * Adds an error listener to a connection. A reused connection has no other listener between two requests, and an
   * error without a listener would end the process.
   */
  private ignoreSocketErrors(socket: Socket): void {
    if (this.socketsWithListener.has(socket)) return;
    this.socketsWithListener.add(socket);
    socket.on('error', () => undefined);
  }

  /** Creates a request that can only connect to checked addresses. The caller sends it. */
  private prepareRequest(url: URL, { method = 'GET', headers = {}, body, namedFrom }: OutboundRequest): ClientRequest {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send(url, {
      method,
      agent: this.agents[url.protocol as 'http:' | 'https:'],
      lookup: this.createCheckedLookup(namedFrom),
      headers: { ...headers, ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
    });
    // The address is checked again, because a reused connection may have been opened for another caller that used the
    // same host name.
    outgoing.on('socket', (socket) => {
      this.ignoreSocketErrors(socket);
      if (socket.connecting || !socket.remoteAddress) return;
      try {
        this.requireAllowedAddress(socket.remoteAddress, namedFrom);
      } catch (error) {
        outgoing.destroy(error as Error);
      }
    });
    return outgoing;
  }
}

class StaleConnection extends Error {}

function toExchangeError(error: NodeJS.ErrnoException, { reusedSocket }: ClientRequest, answered: boolean): Error {
  const stale = reusedSocket && !answered && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '');
  return stale ? new StaleConnection() : toOutboundError(error);
}

async function readResponseBody(response: IncomingMessage, maxAnswerBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The error leaves the loop, which destroys the response and its connection.
    if (length > maxAnswerBytes) throw new OutboundFailed(`the response is longer than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns the host for a lookup: without the brackets of an IPv6 address. */
function getBareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function toOutboundError(error: NodeJS.ErrnoException): Error {
  if (error instanceof OutboundRefused || error instanceof OutboundFailed) return error;
  return new OutboundFailed(error.code ?? error.message, { cause: error });
}

function toRefusalError(error: Error, hostname: string): Error {
  if (error instanceof OutboundRefused) return error;
  return new OutboundRefused(`the host name ${hostname} cannot be resolved`, { cause: error });
}
