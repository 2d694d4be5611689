import { agentActions, openApiDocument } from '@muster/contracts';
import { gatewayConfigs, GatewayModule } from '@muster/gateway';
import { ingestConfigs, IngestModule } from '@muster/ingest';
import { newId } from '@muster/platform';
import {
  type Harness,
  type HttpClient,
  makeAgent,
  makeJob,
  makeUser,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { Client } from 'pg';
import { listCallers } from './callers.harness';
import { foreignResources } from './foreign-resources.harness';
import { expectedEffects } from './effects.harness';
import { type Access, addQuery, buildExampleBody, fillPath, listOperations } from './walk-openapi';

/** These apps only write messages. The apps that handle them, and write more, do not run. */
const writers: Parameters<typeof startHarness>[0] = {
  name: 'gateway',
  configs: [...gatewayConfigs, ...ingestConfigs],
  modules: [GatewayModule, IngestModule],
};

/** Tables in which the effects of a request can be seen besides its own row, and what identifies each effect. */
const effects = {
  outbox: `NEW.queue || ' ' || NEW.name`,
  audit_entry: 'NEW.action',
  webhook_event: 'NEW.type',
  organization_event: 'NEW.type',
  timeline_entry: 'NEW.kind',
};

/** A message, an audit row or an event that a request no longer writes makes no other test of the request fail. */
describe('the effects of a request', () => {
  let harness: Harness;
  let tenant: Tenant;
  let owner: Client;

  beforeAll(async () => {
    harness = await startHarness({ ...writers, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await owner.query('CREATE TABLE effect (n serial, name text NOT NULL)');
    for (const [table, name] of Object.entries(effects)) {
      await owner.query(`
        CREATE FUNCTION record_${table}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          INSERT INTO public.effect (name) VALUES ('${table} ' || ${name});
          RETURN NULL;
        END $$;
        CREATE TRIGGER record_effect AFTER INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION record_${table}()`);
    }
    await owner.query(`
      CREATE FUNCTION record_old_time() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF NEW.updated_at = OLD.updated_at THEN
          INSERT INTO public.effect (name) VALUES (TG_TABLE_NAME || ' keeps updated_at');
        END IF;
        RETURN NULL;
      END $$`);
    const { rows: tables } = await owner.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE column_name = 'updated_at' AND table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    for (const { name } of tables)
      await owner.query(
        `CREATE TRIGGER record_old_time AFTER UPDATE ON ${name} FOR EACH ROW EXECUTE FUNCTION record_old_time()`,
      );
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  /** Sends the request, and returns what it has written. */
  async function readEffects(send: () => Promise<{ status: number }>): Promise<string[]> {
    await owner.query('DELETE FROM effect');
    const { status } = await send();
    const { rows } = await owner.query<{ name: string }>('DELETE FROM effect RETURNING name');
    const names = [...new Set(rows.map(({ name }) => name))].sort();
    return status < 300 ? names : names.map((name) => `${status} ${name}`);
  }

  const createResource = async (path: string): Promise<string> => {
    if (path !== '/api/users/{id}') return foreignResources[path]!(tenant, harness.db);
    return (await makeUser(harness.db, { organizationId: tenant.organizationId })).id;
  };

  const operations = listOperations(openApiDocument).filter(
    ({ method, access, form }) => method !== 'GET' && typeof access === 'object' && !form,
  );

  it('each request writes its messages, its audit row and its events', async () => {
    const found: Record<string, string[]> = {};
    for (const operation of operations) {
      // The sessions of the test would end.
      if (operation.path === '/api/agent/{id}/action' || operation.path.startsWith('/api/auth/')) continue;
      const body = buildExampleBody(openApiDocument, operation) as object | undefined;
      const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
      const resource = Object.keys(foreignResources).find((path) => operation.path.startsWith(path));
      const id = resource && (await createResource(resource));
      const path = addQuery(fillPath(operation.path, id).replace('{workerKey}', 'claims'), operation);
      const send = () => client.send(operation.method, path, body);
      // A second PUT of the same resource changes it.
      const names = [...(await readEffects(send)), ...(operation.method === 'PUT' ? await readEffects(send) : [])];
      if (names.length > 0) found[`${operation.method} ${operation.path}`] = [...new Set(names)].sort();
    }
    expect(found).toEqual(expectedEffects.requests);
  });

  it('each action of an agent writes its messages, its audit row and its events', async () => {
    const { organizationId } = tenant;
    const found: Record<string, string[]> = {};
    const act = async (status: 'online' | 'stopped', action: string, client: HttpClient, more: object = {}) => {
      const agent = { organizationId, name: newId(), status, provider: 'docker' as const };
      const { id } = await makeAgent(harness.db, agent);
      const names = await readEffects(() => client.post(`/api/agent/${id}/action`, { action, ...more }));
      if (names.length > 0) found[`${action} of an agent that is ${status}`] = names;
    };
    const { workflowId } = await makeJob(harness.db, { organizationId, status: 'completed' });
    for (const status of ['online', 'stopped'] as const) {
      for (const action of agentActions) {
        // The answer waits until the machine is on.
        if (action === 'start_job' && status === 'stopped') continue;
        const more = action === 'start_job' ? { workflowId } : action === 'terminate' ? { force: true } : {};
        await act(status, action, tenant.as.admin, more);
      }
    }
    expect(found).toEqual(expectedEffects.actions);
  });
});
