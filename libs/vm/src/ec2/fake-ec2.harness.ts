import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeInstance {
  state: 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';
  boots: string[];
  tags: Map<string, string>;
}

export const credentials = { accessKeyId: 'AKIAFAKE', secretAccessKey: 'a-secret/of+the=fake' };
const region = 'eu-central-1';
const namespace = 'http://ec2.amazonaws.com/doc/2016-11-15/';
const stateCodes = { pending: 0, running: 16, 'shutting-down': 32, terminated: 48, stopping: 64, stopped: 80 };

class Ec2Error extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

/**
 * Simulates EC2's Query API over HTTP, as AWS documents it: form-encoded actions, SigV4 in the headers, XML answers,
 * transitional states, and refusals of orders that a state does not allow.
 */
export class FakeEc2 {
  readonly instances = new Map<string, FakeInstance>();
  readonly calls: string[] = [];
  /** Duration of each transitional state in milliseconds. */
  transitMs = 40;
  pageSize = 2;
  /** Called before each answer. If it returns true, it has answered the request. */
  interfere?: (response: ServerResponse, action: string) => boolean;
  private boots = 0;
  private readonly server: Server = createServer((request, response) => {
    this.answerRequest(request, response).catch((error: Error) => {
      const ec2Error = error instanceof Ec2Error ? error : new Ec2Error('InternalError', error.message, 500);
      sendError(response, ec2Error.code, ec2Error.message, ec2Error.status);
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  addInstance(id: string, state: FakeInstance['state'] = 'stopped', tags: Record<string, string> = {}): FakeInstance {
    const instance = { state, boots: [], tags: new Map(Object.entries(tags)) };
    this.instances.set(id, instance);
    return instance;
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    if (request.method !== 'POST' || request.url !== '/') throw new Ec2Error('InvalidRequest', 'Not the Query API.');
    if (!/^application\/x-www-form-urlencoded/.test(request.headers['content-type'] ?? '')) {
      throw new Ec2Error('MalformedQueryString', 'The body is not a form.');
    }
    requireValidSignature(request, body);
    const form = new URLSearchParams(body);
    if (form.get('Version') !== '2016-11-15') throw new Ec2Error('NoSuchVersion', 'The version is not supported.');
    const action = form.get('Action') ?? '';
    this.calls.push(action);
    if (this.interfere?.(response, action)) return;
    const result = this.performAction(action, form);
    response
      .writeHead(200, { 'content-type': 'text/xml;charset=UTF-8' })
      .end(
        `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="${namespace}"><requestId>r-1</requestId>` +
          `${result}</${action}Response>`,
      );
  }

  private performAction(action: string, form: URLSearchParams): string {
    switch (action) {
      case 'DescribeInstances':
        return this.describeInstances(form);
      case 'StartInstances':
        return this.changeInstances(form, (instance) => this.startInstance(instance));
      case 'StopInstances':
        return this.changeInstances(form, (instance) => this.stopInstance(instance));
      case 'TerminateInstances':
        return this.changeInstances(form, (instance) => this.passThroughState(instance, 'shutting-down', 'terminated'));
      case 'RebootInstances':
        this.changeInstances(form, (instance) => this.rebootInstance(instance));
        return '<return>true</return>';
      case 'CreateTags':
        return this.addTags(form);
      default:
        throw new Ec2Error('InvalidAction', `The action ${action} is not valid for this web service.`);
    }
  }

  private describeInstances(form: URLSearchParams): string {
    const ids = listFormParameters(form, 'InstanceId');
    if (ids.length) return formatReservations(ids.map((id) => [id, this.getInstance(id)]));
    if (form.get('Filter.1.Name') !== 'tag-key')
      throw new Ec2Error('InvalidParameterValue', 'Only the filter tag-key is supported.');
    const keys = listFormParameters(form, 'Filter.1.Value');
    const all = [...this.instances].filter(([, { tags }]) => keys.some((key) => tags.has(key)));
    const from = Number(form.get('NextToken') ?? 0);
    const next = from + Math.min(this.pageSize, Number(form.get('MaxResults') ?? 1000));
    return `${formatReservations(all.slice(from, next))}${next < all.length ? `<nextToken>${next}</nextToken>` : ''}`;
  }

  private changeInstances(form: URLSearchParams, apply: (instance: FakeInstance) => void): string {
    const ids = listFormParameters(form, 'InstanceId');
    if (!ids.length) throw new Ec2Error('MissingParameter', 'The request must contain the parameter InstanceId.');
    const items = ids.map((id) => {
      const instance = this.getInstance(id);
      const previous = instance.state;
      apply(instance);
      const formatNamedState = (tag: string, state: FakeInstance['state']) =>
        `<${tag}>${formatInstanceState(state)}</${tag}>`;
      return `<item><instanceId>${id}</instanceId>${formatNamedState('currentState', instance.state)}${formatNamedState('previousState', previous)}</item>`;
    });
    return `<instancesSet>${items.join('')}</instancesSet>`;
  }

  private startInstance(instance: FakeInstance): void {
    if (instance.state === 'pending' || instance.state === 'running') return;
    if (instance.state !== 'stopped') throw createWrongStateError(instance, 'started');
    this.passThroughState(instance, 'pending', 'running');
    this.bootInstance(instance);
  }

  private stopInstance(instance: FakeInstance): void {
    if (instance.state === 'stopping' || instance.state === 'stopped') return;
    if (instance.state !== 'running') throw createWrongStateError(instance, 'stopped');
    this.passThroughState(instance, 'stopping', 'stopped');
  }

  private rebootInstance(instance: FakeInstance): void {
    if (instance.state !== 'running') throw createWrongStateError(instance, 'rebooted');
    this.bootInstance(instance);
  }

  private passThroughState(instance: FakeInstance, through: FakeInstance['state'], to: FakeInstance['state']): void {
    if (instance.state === through || instance.state === to) return;
    instance.state = through;
    setTimeout(() => instance.state === through && (instance.state = to), this.transitMs);
  }

  private bootInstance(instance: FakeInstance): void {
    instance.boots.push(`boot ${(this.boots += 1)}`);
  }

  private addTags(form: URLSearchParams): string {
    for (const id of listFormParameters(form, 'ResourceId')) {
      const { tags } = this.getInstance(id);
      for (let i = 1; form.has(`Tag.${i}.Key`); i += 1)
        tags.set(form.get(`Tag.${i}.Key`)!, form.get(`Tag.${i}.Value`)!);
    }
    return '<return>true</return>';
  }

  private getInstance(id: string): FakeInstance {
    if (!/^i-([0-9a-f]{8}|[0-9a-f]{17})$/.test(id)) {
      throw new Ec2Error('InvalidInstanceID.Malformed', `Invalid id: "${id}"`);
    }
    const instance = this.instances.get(id);
    if (!instance) throw new Ec2Error('InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`);
    return instance;
  }
}

export function sendError(response: ServerResponse, code: string, message: string, status = 400): void {
  response
    .writeHead(status, { 'content-type': 'text/xml;charset=UTF-8' })
    .end(
      `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>${code}</Code>` +
        `<Message>${escapeXml(message)}</Message></Error></Errors><RequestID>r-1</RequestID></Response>`,
    );
}

function createWrongStateError({ state }: FakeInstance, action: string): Ec2Error {
  return new Ec2Error(
    'IncorrectInstanceState',
    `The instance is not in a state from which it can be ${action}: ${state}.`,
  );
}

function listFormParameters(form: URLSearchParams, name: string): string[] {
  const values: string[] = [];
  for (let i = 1; form.has(`${name}.${i}`); i += 1) values.push(form.get(`${name}.${i}`)!);
  return values;
}

function formatReservations(instances: [string, FakeInstance][]): string {
  const items = instances.map(([id, { state, tags }]) => {
    const tagItems = [...tags].map(
      ([key, value]) => `<item><key>${escapeXml(key)}</key><value>${escapeXml(value)}</value></item>`,
    );
    const ip = state === 'running' ? '<privateIpAddress>10.0.0.7</privateIpAddress>' : '';
    return (
      `<item><reservationId>r-${id}</reservationId><ownerId>1</ownerId><instancesSet><item>` +
      `<instanceId>${id}</instanceId><instanceState>${formatInstanceState(state)}</instanceState>${ip}` +
      `<tagSet>${tagItems.join('')}</tagSet></item></instancesSet></item>`
    );
  });
  return `<reservationSet>${items.join('')}</reservationSet>`;
}

function formatInstanceState(state: FakeInstance['state']): string {
  return `<code>${stateCodes[state] ?? 255}</code><name>${state}</name>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Checks Signature Version 4 as strictly as AWS: signed headers, hash of the body, day, region and service. */
function requireValidSignature(request: IncomingMessage, body: string): void {
  const { authorization = '', 'x-amz-date': date = '', host = '' } = request.headers as Record<string, string>;
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[\w-]+\/\w+\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
  const [, keyId, scope = '', names = '', signature = ''] = form.exec(authorization) ?? [];
  if (!keyId || !/^\d{8}T\d{6}Z$/.test(date) || !host) {
    throw new Ec2Error('MissingAuthenticationToken', 'Request is missing Authentication Token', 403);
  }
  if (keyId !== credentials.accessKeyId) {
    throw new Ec2Error('AuthFailure', 'AWS was not able to validate the provided access credentials', 401);
  }
  const signedAt = Date.parse(date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z'));
  if (Math.abs(Date.now() - signedAt) > 300_000) throw new Ec2Error('RequestExpired', 'Request has expired.');
  const signed = names.split(';');
  const mustBeSigned = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  const inOrder = signed.join() === [...signed].sort().join() && mustBeSigned.every((name) => signed.includes(name));
  const expectedScope = `${date.slice(0, 8)}/${region}/ec2/aws4_request`;
  const canonical = [
    'POST',
    '/',
    '',
    ...signed.map(
      (name) =>
        `${name}:${String(request.headers[name] ?? '')
          .trim()
          .replace(/ +/g, ' ')}`,
    ),
    '',
    names,
    createHash('sha256').update(body).digest('hex'),
  ].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>(
      (partialKey, part) => createHmac('sha256', partialKey).update(part).digest(),
      `AWS4${credentials.secretAccessKey}`,
    );
  const text = ['AWS4-HMAC-SHA256', date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const expected = createHmac('sha256', key).update(text).digest();
  if (scope !== expectedScope || !inOrder || !timingSafeEqual(expected, Buffer.from(signature, 'hex'))) {
    throw new Ec2Error('SignatureDoesNotMatch', 'The request signature we calculated does not match.', 403);
  }
}
