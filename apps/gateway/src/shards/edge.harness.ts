import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@muster/testing';
import { Client } from 'pg';

/**
 * The edge of a deployment with several databases: it finds the organization of a request's API key and forwards the
 * request to a gateway on the organization's database. While an organization moves, its writes are refused with 503.
 */
export class Edge {
  private readonly server: Server;
  private readonly writes = new Map<string, number>();
  url = '';

  private constructor(
    private readonly directory: Client,
    private readonly gateways: Record<string, string>,
  ) {
    this.server = createServer((incoming, outgoing) => {
      this.forward(incoming, outgoing).catch(() => outgoing.writeHead(502).end());
    });
  }

  /** `gateways` are the URLs of the gateways by the name of their database. The directory is a database of its own. */
  static async open(directoryUrl: string, gateways: Record<string, string>): Promise<Edge> {
    const directory = new Client({ connectionString: directoryUrl });
    await directory.connect();
    await directory.query(`
      CREATE TABLE organization_shard (organization_id uuid PRIMARY KEY, shard text NOT NULL, moves boolean NOT NULL DEFAULT false);
      CREATE TABLE credential_shard (
        hash text PRIMARY KEY,
        organization_id uuid NOT NULL REFERENCES organization_shard)`);
    const edge = new Edge(directory, gateways);
    edge.server.listen(0, '127.0.0.1');
    await once(edge.server, 'listening');
    edge.url = `http://127.0.0.1:${(edge.server.address() as AddressInfo).port}`;
    return edge;
  }

  async register(organizationId: string, shard: string, keys: string[]): Promise<void> {
    await this.directory.query('INSERT INTO organization_shard VALUES ($1, $2)', [organizationId, shard]);
    for (const key of keys)
      await this.directory.query('INSERT INTO credential_shard VALUES ($1, $2)', [hash(key), organizationId]);
  }

  /** Refuses writes of the organization while `copy` runs, and then forwards its requests to the other database. */
  async move(organizationId: string, shard: string, copy: () => Promise<void>): Promise<void> {
    await this.directory.query('UPDATE organization_shard SET moves = true WHERE organization_id = $1', [
      organizationId,
    ]);
    await waitFor('the writes in progress', () => !this.writes.get(organizationId));
    await copy();
    await this.directory.query('UPDATE organization_shard SET shard = $2, moves = false WHERE organization_id = $1', [
      organizationId,
      shard,
    ]);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.directory.end();
  }

  private async forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const key = String(incoming.headers['x-api-key'] ?? '');
    const isWrite = !['GET', 'HEAD'].includes(incoming.method!);
    const findRoute = async () =>
      (
        await this.directory.query<{ id: string; shard: string; moves: boolean }>(
          `SELECT organization_id AS id, shard, moves FROM credential_shard JOIN organization_shard USING (organization_id)
           WHERE hash = $1`,
          [hash(key)],
        )
      ).rows[0];
    const first = await findRoute();
    if (!first) return void outgoing.writeHead(401).end();
    if (isWrite) this.writes.set(first.id, (this.writes.get(first.id) ?? 0) + 1);
    try {
      // Read again after the write was counted: the move waits for writes that were counted before it began.
      const route = isWrite ? (await findRoute())! : first;
      if (isWrite && route.moves) {
        incoming.resume();
        return void outgoing.writeHead(503, { 'retry-after': '1' }).end();
      }
      await pass(incoming, outgoing, `${this.gateways[route.shard]}${incoming.url}`);
    } finally {
      if (isWrite) this.writes.set(first.id, this.writes.get(first.id)! - 1);
    }
  }
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, url: string): Promise<void> {
  const onward = request(url, { method: incoming.method, headers: incoming.headers });
  incoming.pipe(onward);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  outgoing.writeHead(answer.statusCode!, answer.headers);
  answer.pipe(outgoing);
  await once(outgoing, 'close');
}

function hash(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
